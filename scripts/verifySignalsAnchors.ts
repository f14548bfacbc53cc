import * as z from "zod";
import { readAnchor } from "../convex/signals/record/chain";
import { anchorShape, type Anchor, type SignalEvent } from "../convex/signals/record/events";

/**
 * A record's events against what Base holds of them. The chain's word alone counts: what a deployment says of its anchors
 * only tells where to look.
 */

/** An account of the anchor's and what a deployment says it has signed. */
export const anchorsShape = z.object({ address: z.string(), anchors: z.array(anchorShape) });
export type AnchorAccount = z.output<typeof anchorsShape>;

/** A mined transaction as the chain tells it. */
type Mined = { from: string; nonce: number; data: string; succeeded: boolean; minedAt: Date };

export interface ChainReader {
  /** `null` for a hash that is in no block. */
  mined(txHash: string): Promise<Mined | null>;
  /** How many transactions of an account are mined. */
  count(address: string): Promise<number>;
}

export type AnchorFindings = {
  problems: string[];
  /** What is no alarm, and worth knowing. */
  notes: string[];
  /** Events that cannot have been rewritten since. */
  fixed: { sequence: number; since: Date }[];
};

export async function anchorFindings(
  events: readonly SignalEvent[],
  accounts: readonly AnchorAccount[],
  chain: ChainReader,
): Promise<AnchorFindings> {
  const all: AnchorFindings = { problems: [], notes: [], fixed: [] };
  for (const account of accounts) {
    const one = await accountFindings(events, account, chain);
    all.problems.push(...one.problems);
    all.notes.push(...one.notes);
    all.fixed.push(...one.fixed);
  }
  all.fixed.sort((a, b) => a.since.getTime() - b.since.getTime());
  return all;
}

async function accountFindings(
  events: readonly SignalEvent[],
  { address, anchors }: AnchorAccount,
  chain: ChainReader,
): Promise<AnchorFindings> {
  const found: AnchorFindings = { problems: [], notes: [], fixed: [] };
  const { problems, notes, fixed } = found;
  // Asked first: what is mined between two questions is late, and no alarm.
  const count = await chain.count(address);
  for (const anchor of anchors) {
    const mined = await minedOf(anchor, chain);
    const name = `The anchor with nonce ${anchor.nonce} of ${address}`;
    if (mined === null && anchor.nonce < count) {
      problems.push(`${name} was mined, and its transaction is not shown`);
    } else if (mined === null) {
      // Late, or in a block that was dropped: the next one holds the same and more.
      notes.push(`${name} is in no block yet`);
    } else if (mined.from.toLowerCase() !== address.toLowerCase() || mined.nonce !== anchor.nonce) {
      problems.push(`${name} names a transaction of somebody else's`);
    } else {
      const head = mined.succeeded ? readAnchor(mined.data) : null;
      if (head === null) notes.push(`${name} was mined and holds nothing`);
      else if (events[head.sequence - 1]?.hash !== head.hash) {
        problems.push(
          `${name} holds ${head.hash} for event ${head.sequence} since ${mined.minedAt.toISOString()}, this record has ${events[head.sequence - 1]?.hash ?? "no such event"}: history was rewritten`,
        );
      } else fixed.push({ sequence: head.sequence, since: mined.minedAt });
    }
  }
  const nonces = new Set(anchors.map(({ nonce }) => nonce));
  const first = Math.min(...nonces);
  for (let nonce = first; nonce < count; nonce++) {
    if (!nonces.has(nonce))
      problems.push(`${address} has sent a transaction with nonce ${nonce} that is not shown`);
  }
  if (Number.isFinite(first) && first > 0) {
    notes.push(`${address} had sent ${first} transactions before the first that is shown`);
  }
  return found;
}

async function minedOf({ txHashes }: Anchor, chain: ChainReader): Promise<Mined | null> {
  for (const hash of txHashes) {
    const mined = await chain.mined(hash);
    if (mined !== null) return mined;
  }
  return null;
}

const BASE = 8453;
const quantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(Number);
const answer = z.object({ result: z.unknown(), error: z.object({ message: z.string() }).optional() });

/** Base by an RPC's word. @throws Error when it does not answer, or serves another chain. */
export async function chainReader(url: string): Promise<ChainReader> {
  const ask = async <Shape extends z.ZodType>(method: string, params: unknown[], shape: Shape) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: AbortSignal.timeout(30_000),
    });
    const { result, error } = answer.parse(await response.json());
    if (error !== undefined) throw new Error(`The chain RPC answered: ${error.message}`);
    return shape.parse(result);
  };
  if ((await ask("eth_chainId", [], quantity)) !== BASE) throw new Error("The chain RPC does not serve Base");
  const transaction = z.object({
    from: z.string(),
    nonce: quantity,
    input: z.string(),
    blockHash: z.string().nullable(),
  });
  const receipt = z.object({ status: quantity, blockNumber: z.string() });
  const block = z.object({ timestamp: quantity });
  return {
    mined: async (txHash) => {
      const told = await ask("eth_getTransactionByHash", [txHash], transaction.nullable());
      if (told === null || told.blockHash === null) return null;
      const mined = await ask("eth_getTransactionReceipt", [txHash], receipt.nullable());
      if (mined === null) return null;
      const { timestamp } = await ask("eth_getBlockByNumber", [mined.blockNumber, false], block);
      const { from, nonce, input: data } = told;
      return { from, nonce, data, succeeded: mined.status === 1, minedAt: new Date(timestamp * 1_000) };
    },
    count: (address) => ask("eth_getTransactionCount", [address, "latest"], quantity),
  };
}
