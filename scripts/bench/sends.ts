import {
  createClient,
  http,
  parseEther,
  TransactionReceiptNotFoundError,
  type Address,
  type Client,
  type Hash,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { getTransactionReceipt, prepareTransactionRequest, sendRawTransaction } from "viem/actions";
import { base } from "viem/chains";
import * as z from "zod";
import { sleep } from "../../convex/lib/time";
import type { Chain } from "../chain/index";
import { hexShape } from "../chain/rpc";
import { startStack, type Stack } from "../stack/stack";

/** The processor's time of a send in the local stack, in real time: a stepped clock would spin while the node answers. */

const SENDERS = 20;
/** Rounds of one send of each, side by side: in the first ones much is still being compiled. */
const WARM = 80;
/** The median of these counts, each of so many rounds: whatever else the machine does is in few of them. */
const [GROUPS, ROUNDS] = [9, 5];
const FUNDS = { ETH: parseEther("1") };
const RECIPIENT: Address = `0x${"b0".repeat(20)}`;
/** In wei. */
const AMOUNT = 1n;
/** Between two looks of the plain client for its receipt, in ms. */
const POLL_MS = 50;

const connected = z.object({ address: hexShape });

/**
 * In ms, what the service does for a send beside the chain's own: the node is a process of its own, and what a plain
 * client of the chain does for the same transfers, to sign, send and await them, is left out, with the miner's work.
 * @throws Error unless every send is answered with 200.
 */
export async function msOfASend(): Promise<number> {
  const stack = await startStack({ ephemeral: true, seed: "bench" });
  try {
    const { chain } = stack;
    if (chain === null) throw new Error("The stack has no chain of its own");
    const own = await msOfARound(await ownSenders(stack, chain));
    return own - (await msOfARound(await plainSenders(chain)));
  } finally {
    await stack.stop();
  }
}

type Send = (round: number) => Promise<void>;

/** Of one send, in ms. */
async function msOfARound(senders: readonly Send[]): Promise<number> {
  const play = async (from: number, to: number) => {
    for (let round = from; round < to; round++) await Promise.all(senders.map((send) => send(round)));
  };
  await play(0, WARM);
  const groups: number[] = [];
  for (let from = WARM; groups.length < GROUPS; from += ROUNDS) {
    const before = process.cpuUsage();
    await play(from, from + ROUNDS);
    const { user, system } = process.cpuUsage(before);
    groups.push((user + system) / 1_000 / (ROUNDS * SENDERS));
  }
  return groups.toSorted((a, b) => a - b)[Math.floor(GROUPS / 2)] ?? NaN;
}

async function ownSenders(stack: Stack, chain: Chain): Promise<Send[]> {
  const senders: Send[] = [];
  for (let i = 0; i < SENDERS; i++) {
    const { body } = await post(stack, i, "/mcp/defi/connect", {});
    await chain.fund(connected.parse(body).address, FUNDS);
    const order = { toAddress: RECIPIENT, token: "ETH", amount: AMOUNT.toString() };
    senders.push(async (round) => {
      const sent = await post(stack, i, "/mcp/defi/send", { ...order, idempotencyKey: `send-${round}-${i}` });
      if (sent.status !== 200) throw new Error(`A send was answered ${JSON.stringify(sent)}`);
    });
  }
  return senders;
}

/** From an address of the sender's own. */
async function post({ application }: Stack, sender: number, path: string, fields: object) {
  const body = JSON.stringify({ userId: `bench-sender-number-${sender}`, ...fields });
  const caller = { ip: `10.0.0.${sender}`, userAgent: "bench" };
  const response = await application.fetch(path, { method: "POST", body }, caller);
  return { status: response.status, body: z.unknown().parse(await response.json()) };
}

/** viem's own client for each sender, as its documentation prepares, signs and sends a transfer. */
async function plainSenders(chain: Chain): Promise<Send[]> {
  const senders: Send[] = [];
  for (let i = 0; i < SENDERS; i++) {
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.fund(account.address, FUNDS);
    const client = createClient({ account, chain: base, transport: http(chain.url, { batch: { wait: 0 } }) });
    senders.push(async () => {
      const transfer = { to: RECIPIENT, value: AMOUNT };
      const prepared = await prepareTransactionRequest(client, { type: "eip1559", ...transfer });
      const { nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = prepared;
      const serializedTransaction = await account.signTransaction({
        ...{ ...transfer, chainId: base.id, nonce, gas },
        ...{ maxFeePerGas, maxPriorityFeePerGas },
      });
      const hash = await sendRawTransaction(client, { serializedTransaction });
      while ((await receiptOf(client, hash)) === null) {
        await sleep(POLL_MS);
        // The node loses some that arrive while it mines; it refuses the others, which it knows.
        await sendRawTransaction(client, { serializedTransaction }).catch(() => null);
      }
    });
  }
  return senders;
}

function receiptOf(client: Client, hash: Hash) {
  return getTransactionReceipt(client, { hash }).catch((error: unknown) => {
    if (error instanceof TransactionReceiptNotFoundError) return null;
    throw error;
  });
}
