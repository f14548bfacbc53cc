import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { parseEther, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import * as z from "zod";
import { forkScript } from "../forked";
import { CHAIN_ID } from "../chain/addresses";
import type { Chain } from "../chain/index";
import { createRpc, hexShape, type Rpc } from "../chain/rpc";
import type { Progress } from "./progress";
import { figure, median, type Table } from "./table";
import { startWalletStack, type WalletStack } from "./walletStack";

/** Confirmed sends per second of the service, against the local chain's own rate. */
export const question = "How many sends per second does the service confirm, of those the bare chain would?";

type Case = { wallets: number; sends: number };

/** Within the service's limit of 200 sends of a user at once. */
const cases: readonly Case[] = [
  { wallets: 1, sends: 100 },
  { wallets: 20, sends: 10 },
];
/** Who wait for their answers at once, as many for each wallet: strangers, of whom 30 may. */
const CALLERS = 20;
const ROUNDS = 3;
/** Until then the engine is still compiling what it runs most: the first hundreds cost twice as much each. */
const WARM_UP: Case = { wallets: 20, sends: 30 };
const RECIPIENT: Hex = `0x${"b0".repeat(20)}`;
const FUNDS = { ETH: parseEther("1") };
/** At once: with more, the node's queue for new connections overflows, and some wait a second for the next try. */
const CONNECTIONS = 64;
const RECEIPTS_PAUSE_MS = 10;
/** The service's callers have all been answered by 28 s. */
const MOST_MS = 30_000;

type Rate = { perSecond: number; seconds: number; notConfirmed: string[] };
type ServiceRate = Rate & {
  /** Until the last transaction was handed to the chain. */
  handedOutSeconds: number;
  roundTrips: number;
  roundTripMs: number;
  /** Of this process, in all. */
  cpuMs: number;
};
type Round = { connected: Rate; inTurn: Rate; service: ServiceRate };

export async function run(progress: Progress): Promise<Table> {
  const rows: string[][] = [];
  const notes: string[] = [];
  const measuredIn = await measured(progress);
  for (const [index, one] of cases.entries()) {
    const rounds = measuredIn.flatMap((round) => round[index] ?? []);
    rows.push(...rowsOf(one, rounds));
    const lost = rounds.flatMap(({ service }) => service.notConfirmed);
    if (lost.length > 0)
      notes.push(`NOT CONFIRMED, ${one.wallets} wallets: ${lost.length}, as ${lost[0] ?? ""}`);
  }
  return {
    inputs: [
      `Sends of ETH. Of the service: over HTTP with a key each, by ${CALLERS} callers at once, until the last answer.`,
      `Of the bare chain: signed beforehand, an eth_sendRawTransaction each, until the last receipt; over ${CONNECTIONS}`,
      "connections, and one at a time per wallet, as a service must that takes a nonce when the one before is out.",
      `Medians of ${ROUNDS} rounds after ${WARM_UP.wallets * WARM_UP.sends} sends of warm-up; the application and the chain's miner in one process, its`,
      "callers and the chain in one each; each caller with an address of its own. Share: of the bare chain in the same round.",
    ],
    columns: [
      ...["", "sends/s", `of ${CONNECTIONS} connections`, "of one at a time", "seconds"],
      ...["handed out after s", "round trips per send", "ms each", "CPU ms per send"],
    ],
    rows,
    notes,
  };
}

function rowsOf({ wallets, sends }: Case, rounds: readonly Round[]): string[][] {
  const title = `${wallets} wallet${wallets === 1 ? "" : "s"} × ${sends}`;
  const middle = (digits: number, pick: (round: Round) => number) => figure(median(rounds.map(pick)), digits);
  const share = (of: keyof Round, whole: "connected" | "inTurn") =>
    `${middle(1, (round) => (100 * round[of].perSecond) / round[whole].perSecond)} %`;
  const row = (name: string, of: keyof Round) => [
    `${title}: ${name}`,
    middle(0, (round) => round[of].perSecond),
    share(of, "connected"),
    share(of, "inTurn"),
    middle(2, (round) => round[of].seconds),
  ];
  return [
    row(`bare chain, ${CONNECTIONS} connections`, "connected"),
    row("bare chain, one at a time", "inTurn"),
    [
      ...row("service", "service"),
      middle(2, ({ service }) => service.handedOutSeconds),
      middle(1, ({ service }) => service.roundTrips / (wallets * sends)),
      middle(1, ({ service }) => service.roundTripMs),
      middle(0, ({ service }) => service.cpuMs / (wallets * sends)),
    ],
  ];
}

/** All rounds on one stack, each of all cases. */
async function measured(progress: Progress): Promise<Round[][]> {
  const stack = await startWalletStack();
  const senders = forkScript(new URL("senders.ts", import.meta.url), []);
  try {
    await told(senders);
    progress("sends, warm-up");
    await serviceRate(senders, stack, WARM_UP, "warm-up");
    const rounds: Round[][] = [];
    for (let i = 0; i < ROUNDS; i++) {
      progress(`sends, round ${i + 1} of ${ROUNDS}`);
      rounds.push(await round(senders, stack, `round-${i}`));
    }
    return rounds;
  } finally {
    senders.kill();
    await stack.stop();
  }
}

async function round(senders: ChildProcess, stack: WalletStack, name: string): Promise<Round[]> {
  const rounds: Round[] = [];
  for (const one of cases) {
    rounds.push({
      connected: await bareRate(stack.chain, one, (signed) => {
        const shared = signed.flat().values();
        return range(CONNECTIONS).map(() => shared);
      }),
      inTurn: await bareRate(stack.chain, one, (signed) => signed.map((ofOne) => ofOne.values())),
      service: await serviceRate(senders, stack, one, name),
    });
  }
  return rounds;
}

async function serviceRate(
  senders: ChildProcess,
  stack: WalletStack,
  { wallets, sends }: Case,
  name: string,
): Promise<ServiceRate> {
  const users = range(wallets).map((i) => `bench-${name}-${i}-of-${wallets}`);
  for (const user of users) await stack.fundedWallet(user, FUNDS);
  stack.taken();
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const callers = CALLERS / wallets;
  const queues = users.flatMap((user) =>
    range(callers).map((caller) =>
      ordersOf(
        user,
        range(sends).filter((i) => i % callers === caller),
      ),
    ),
  );
  const { outcomes, seconds } = await sentBy(senders, stack, queues);
  const { user, system } = process.cpuUsage(cpuBefore);
  const calls = stack.taken();
  const notConfirmed = outcomes.filter((outcome) => outcome !== "confirmed");
  const lastSend = Math.max(...calls.filter((call) => call.sends).map(({ answeredAt }) => answeredAt));
  return {
    perSecond: (outcomes.length - notConfirmed.length) / seconds,
    seconds,
    notConfirmed,
    handedOutSeconds: (lastSend - startedAt) / 1_000,
    roundTrips: calls.length,
    roundTripMs: median(calls.map(({ ms }) => ms)),
    cpuMs: (user + system) / 1_000,
  };
}

/** The seconds until the last answer, and what each order came to: its status, or the answer that is none. */
const sentShape = z.object({ seconds: z.number(), outcomes: z.array(z.string()) });
export type Sent = z.infer<typeof sentShape>;

type Order = { userId: string; toAddress: string; token: string; amount: string; idempotencyKey: string };

function ordersOf(userId: string, indexes: readonly number[]): Order[] {
  const order = { userId, toAddress: RECIPIENT, token: "ETH", amount: "1" };
  return indexes.map((index) => ({ ...order, idempotencyKey: `key-${index}` }));
}

/** Has a caller for each queue send its orders. */
async function sentBy(senders: ChildProcess, { siteUrl }: WalletStack, queues: readonly Order[][]) {
  const sent = told(senders);
  senders.send({ siteUrl, queues });
  return sentShape.parse(await sent);
}

/** What the other process says next. */
async function told(senders: ChildProcess): Promise<unknown> {
  const [message] = z.array(z.unknown()).parse(await once(senders, "message"));
  return message;
}

/** What each connection is to hand out, from each wallet's signed transactions. */
type Connections = (signed: readonly Hex[][]) => Iterable<Hex>[];

async function bareRate(chain: Chain, { wallets, sends }: Case, connections: Connections): Promise<Rate> {
  const rpc = createRpc(chain.url);
  const signed: Hex[][] = [];
  for (let i = 0; i < wallets; i++) signed.push(await signedByNewWallet(chain, sends));
  const hashes: string[] = [];
  const handOut = async (raws: Iterable<Hex>) => {
    for (const raw of raws) hashes.push(await sendRaw(rpc, raw));
  };
  const startedAt = performance.now();
  await Promise.all(connections(signed).map(handOut));
  await allMined(rpc, hashes);
  const seconds = (performance.now() - startedAt) / 1_000;
  return { perSecond: hashes.length / seconds, seconds, notConfirmed: [] };
}

async function sendRaw(rpc: Rpc, raw: Hex): Promise<string> {
  return hexShape.parse(await rpc.call("eth_sendRawTransaction", [raw]));
}

async function signedByNewWallet(chain: Chain, sends: number): Promise<Hex[]> {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, FUNDS);
  return Promise.all(
    range(sends).map((nonce) =>
      account.signTransaction({
        ...{ chainId: CHAIN_ID, type: "eip1559", nonce, to: RECIPIENT, value: 1n, gas: 21_000n },
        ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n },
      }),
    ),
  );
}

/** @throws Error when they are not all mined in time. */
async function allMined(rpc: Rpc, hashes: readonly string[]): Promise<void> {
  const until = performance.now() + MOST_MS;
  for (let left = hashes; left.length > 0;) {
    if (performance.now() > until) throw new Error(`${left.length} transactions are not mined in time`);
    const receipts = await rpc.batch(left.map((hash) => ["eth_getTransactionReceipt", [hash]]));
    left = left.filter((_hash, index) => receipts[index] === null);
    if (left.length > 0) await new Promise<void>((resolve) => setTimeout(resolve, RECEIPTS_PAUSE_MS));
  }
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
