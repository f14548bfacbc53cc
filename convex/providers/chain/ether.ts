import { numberToHex, type Hex } from "viem";
import { getBalance } from "viem/actions";
import * as z from "zod";
import { account, asHexText, bigQuantity, findRefusal, hash, isThrottled, type ChainClient } from "./rpc";

/** The ether search: transactions with a value from or to watched addresses, without reading every block. */

/** The ether value of a transaction, in wei. Addresses in lower case. */
export type Payment = { txHash: string; from: string; to: string; amount: bigint };

/** The movements to find: transfers of these tokens, and ether, from or to these addresses (in lower case). */
export type RequestedCoins = {
  tokens: readonly string[];
  parties: readonly string[];
  /** Wei: blocks with a smaller change of an address's balance are not read. */
  leastEther: bigint;
};

/** Reads the balances of all parties at a block, in one call. */
type Held = (block: number) => Promise<bigint[]>;

function readHeldBy(client: ChainClient, parties: readonly string[]): Held {
  const balances = new Map<number, Promise<bigint[]>>();
  return (block) => {
    const at = (one: string) => ({ address: asHexText(one), blockNumber: BigInt(block) });
    const held = balances.get(block) ?? Promise.all(parties.map((one) => getBalance(client, at(one))));
    balances.set(block, held);
    return held;
  };
}

/** The payments in blocks `first` to `last`, both included: bisection finds the blocks in which a balance changes enough. */
export async function findPayments(
  client: ChainClient,
  { first, last }: { first: number; last: number },
  requested: RequestedCoins,
  held = readHeldBy(client, requested.parties),
): Promise<Payment[]> {
  try {
    const [before, after] = await Promise.all([held(first - 1), held(last)]);
    const changes = after.map((balance, i) => balance - (before[i] ?? 0n));
    if (changes.every((one) => one < requested.leastEther && -one < requested.leastEther)) return [];
  } catch (error) {
    // The node has pruned the state of these blocks: read the blocks themselves.
    if (findRefusal(error) === null || isThrottled(error)) throw error;
  }
  if (first === last) return readPayments(client, first, requested.parties);
  const middle = Math.floor((first + last) / 2);
  const halves = [
    { first, last: middle },
    { first: middle + 1, last },
  ];
  return (await Promise.all(halves.map((half) => findPayments(client, half, requested, held)))).flat();
}

const blockShape = z.object({
  transactions: z.array(z.object({ hash, from: account, to: account.nullish(), value: bigQuantity })),
});

async function readPayments(
  client: ChainClient,
  number: number,
  parties: readonly string[],
): Promise<Payment[]> {
  const params: [Hex, true] = [numberToHex(number), true];
  const block = blockShape.parse(await client.request({ method: "eth_getBlockByNumber", params }));
  return block.transactions.flatMap(({ hash: txHash, from, to, value }): Payment[] => {
    if (to === null || to === undefined || value === 0n) return [];
    return parties.includes(from) || parties.includes(to) ? [{ txHash, from, to, amount: value }] : [];
  });
}
