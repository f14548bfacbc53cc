import { parseEther, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { CHAIN_ID } from "../stack/chain/addresses";
import type { Chain } from "../stack/chain/index";
import { createRpc, hexShape, type Rpc } from "../stack/chain/rpc";
import { figure, median, type Table } from "./table";
import { startWalletStack, type WalletStack } from "./walletStack";

/** Confirmed sends per second of the service, against the local chain's own rate. */
export const question = "How many sends per second does the service confirm, of those the bare chain would?";

type Case = { wallets: number; sends: number };

/** Within the service's limits: 200 sends of a user at once, 480 of a network address. */
const cases: readonly Case[] = [
  { wallets: 1, sends: 200 },
  { wallets: 20, sends: 20 },
];
const ROUNDS = 3;
const WARM_UP = 10;
const RECIPIENT: Hex = `0x${"b0".repeat(20)}`;
const FUNDS = { ETH: parseEther("1") };
const RECEIPTS_PAUSE_MS = 10;
/** The service's callers have all been answered by 28 s. */
const MOST_MS = 30_000;

type Rate = { perSecond: number; seconds: number; notConfirmed: string[] };
type ServiceRate = Rate & {
  /** Until the last transaction was handed to the chain. */
  handedOutSeconds: number;
  roundTrips: number;
  roundTripMs: number;
  cpu: number;
};
type Round = { atOnce: Rate; inTurn: Rate; service: ServiceRate };

export async function run(): Promise<Table> {
  const rows: string[][] = [];
  const notes: string[] = [];
  for (const one of cases) {
    const rounds: Round[] = [];
    for (let i = 0; i < ROUNDS; i++) rounds.push(await measured(one));
    rows.push(...rowsOf(one, rounds));
    const lost = rounds.flatMap(({ service }) => service.notConfirmed);
    if (lost.length > 0)
      notes.push(`NOT CONFIRMED, ${one.wallets} wallets: ${lost.length}, as ${lost[0] ?? ""}`);
  }
  return {
    inputs: [
      "Sends of ETH, each wallet's all at once. Of the service: over HTTP with a key each, until the last answer.",
      "Of the bare chain: signed beforehand, an eth_sendRawTransaction each, until the last receipt; all at once, and",
      "one at a time per wallet, as a service must that takes each nonce when the one before is out.",
      `Medians of ${ROUNDS} rounds, each on a stack of its own, after ${WARM_UP} sends of warm-up; the application, its`,
      "callers and the chain's miner in one process, the chain in another. Share: of the bare chain in the same round.",
    ],
    columns: [
      ...["", "sends/s", "of all at once", "of one at a time", "seconds", "handed out after"],
      ...["round trips per send", "ms each", "CPU of the process"],
    ],
    rows,
    notes,
  };
}

function rowsOf({ wallets, sends }: Case, rounds: readonly Round[]): string[][] {
  const title = `${wallets} wallet${wallets === 1 ? "" : "s"} × ${sends}`;
  const over = (pick: (round: Round) => number) => median(rounds.map(pick));
  const row = (name: string, of: keyof Round) => [
    `${title}: ${name}`,
    figure(over((round) => round[of].perSecond)),
    `${figure(over((round) => (100 * round[of].perSecond) / round.atOnce.perSecond))} %`,
    `${figure(over((round) => (100 * round[of].perSecond) / round.inTurn.perSecond))} %`,
    figure(
      over((round) => round[of].seconds),
      2,
    ),
  ];
  return [
    row("bare chain, all at once", "atOnce"),
    row("bare chain, one at a time", "inTurn"),
    [
      ...row("service", "service"),
      `${figure(
        over(({ service }) => service.handedOutSeconds),
        2,
      )} s`,
      figure(
        over(({ service }) => service.roundTrips / (wallets * sends)),
        1,
      ),
      figure(
        over(({ service }) => service.roundTripMs),
        1,
      ),
      `${figure(over(({ service }) => service.cpu))} %`,
    ],
  ];
}

async function measured(one: Case): Promise<Round> {
  const stack = await startWalletStack();
  try {
    await stack.fundedWallet("bench-warm-up", FUNDS);
    await Promise.all(range(WARM_UP).map((i) => send(stack, "bench-warm-up", i)));
    return {
      atOnce: await bareRate(stack.chain, one, (sends) => Promise.all(sends.map((send) => send()))),
      inTurn: await bareRate(stack.chain, one, async (sends) => {
        for (const send of sends) await send();
      }),
      service: await serviceRate(stack, one),
    };
  } finally {
    await stack.stop();
  }
}

async function serviceRate(stack: WalletStack, { wallets, sends }: Case): Promise<ServiceRate> {
  const users = range(wallets).map((i) => `bench-sender-${i}`);
  for (const user of users) await stack.fundedWallet(user, FUNDS);
  stack.taken();
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const outcomes = await Promise.all(users.flatMap((user) => range(sends).map((i) => send(stack, user, i))));
  const seconds = (performance.now() - startedAt) / 1_000;
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
    cpu: (user + system) / 10_000 / seconds,
  };
}

/** @returns The status that the caller is told, or the answer that is none. */
async function send({ call }: WalletStack, userId: string, index: number): Promise<string> {
  const order = { userId, toAddress: RECIPIENT, token: "ETH", amount: "1", idempotencyKey: `key-${index}` };
  const { status, body } = await call("POST", "/mcp/defi/send", order);
  return status === 200 ? String(body.status) : `${status} ${JSON.stringify(body)}`;
}

type HandOut = (sends: readonly (() => Promise<unknown>)[]) => Promise<unknown>;

/** @param handOut How each wallet hands its transactions to the node. */
async function bareRate(chain: Chain, { wallets, sends }: Case, handOut: HandOut): Promise<Rate> {
  const rpc = createRpc(chain.url);
  const signed: Hex[][] = [];
  for (let i = 0; i < wallets; i++) signed.push(await signedByNewWallet(chain, sends));
  const startedAt = performance.now();
  const hashes: string[] = [];
  const handOuts = signed.map((ofOne) =>
    handOut(ofOne.map((raw) => async () => hashes.push(await sendRaw(rpc, raw)))),
  );
  await Promise.all(handOuts);
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
