import { makeFunctionReference } from "convex/server";
import {
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  type Address,
  type Hex,
  type TransactionSerialized,
} from "viem";
import { afterAll, beforeAll } from "vitest";
import * as z from "zod";
import crons from "../../convex/crons";
import { random, type Random } from "../../scripts/standins/random";
import { hex } from "../support/chain/chain";
import { intercept } from "../support/outside";
import type { Moment } from "../support/crashes";
import type { WalletApp } from "../support/chain/walletApp";

/**
 * Invariants are driven from outside, by HTTP, the crons and the chain, and are counted on the chain and at what was
 * handed to its node: never in a table, and never by an internal function's name.
 */

/** How many random walks of each kind; more for a long run. */
export const RUNS = Number(process.env.RUNS ?? 1);

/**
 * At which outside calls a test dies: the moment, the first call, and the step. A death after one call's effect is as good
 * as a death before the next call: with both, two of three are met. A long run has both at each.
 */
const STEP = RUNS > 2 ? 1 : 3;
export const DEATHS: readonly [moment: Moment, first: number, step: number][] = [
  ["before", 1, STEP],
  ["after", Math.min(2, STEP), STEP],
];

/** One seeded walk after the other: a failure names its seed. */
export async function walks(name: string, play: (chance: Random, seed: number) => Promise<void>) {
  for (let seed = 1; seed <= RUNS; seed++) {
    try {
      await play(random(name, seed), seed);
    } catch (error) {
      throw new Error(`${name}, seed ${seed}`, { cause: error });
    }
  }
}

/** Ms by which this file's time is ahead of the machine's: it never goes back, nor does its chain's. */
let ahead = 0;

/** To be called once by each file that lets time pass, after `useChain`. */
export function useTime(): void {
  const clock = Date.now;
  beforeAll(() => {
    ahead = 0;
    Date.now = () => clock() + ahead;
  });
  afterAll(() => {
    Date.now = clock;
  });
}

/** Lets time go on by minutes, with the crons that come by each minute; or each so many, where hours pass. */
export function timePassing(app: WalletApp): (minutes: number, step?: number) => Promise<void> {
  const minutely = Object.values(crons.crons).flatMap(({ name, schedule }) =>
    schedule.type === "interval" && "minutes" in schedule && schedule.minutes === 1 ? [name] : [],
  );
  return async (minutes, step = 1) => {
    for (let minute = 0; minute < minutes; minute += step) {
      ahead += step * 61_000;
      for (const name of minutely) await app.t.mutation(makeFunctionReference<"mutation">(name), {});
      await app.settle();
      await app.chain.miner.look();
    }
  };
}

const calls = z.array(z.looseObject({ method: z.string(), params: z.array(z.unknown()).default([]) }));

/** The signed transactions that were handed to the node since, each once, in the order in which they came. */
export function handedToTheNode(): () => Hex[] {
  const raws = new Set<Hex>();
  intercept(({ body }, pass) => {
    if (body.startsWith("[") && body.includes("eth_sendRawTransaction")) {
      for (const { method, params } of calls.parse(JSON.parse(body)))
        if (method === "eth_sendRawTransaction") raws.add(hex.parse(params[0]));
    }
    return pass();
  });
  return () => [...raws];
}

/** A signed transaction, read. */
async function read(raw: Hex) {
  // The bytes that a wallet signs for Base are those of a fee market's transaction.
  const typed: TransactionSerialized = `0x02${raw.slice(4)}`;
  const from = await recoverTransactionAddress({ serializedTransaction: typed });
  return { ...parseTransaction(raw), from, hash: keccak256(raw) };
}

/** The nonces of an account's transactions, in the order in which they were handed out. */
export async function noncesOf(raws: readonly Hex[], owner: Address): Promise<number[]> {
  return (await Promise.all(raws.map(read)))
    .filter(({ from }) => from.toLowerCase() === owner.toLowerCase())
    .map(({ nonce }) => nonce ?? 0);
}

/** What different bytes of one account were handed out for the same nonce; there is none. */
export async function twiceSigned(raws: readonly Hex[], owner: Address): Promise<number[]> {
  const nonces = await noncesOf(raws, owner);
  return nonces.filter((nonce, index) => nonces.indexOf(nonce) !== index);
}

/** A receipt of a block that the chain does not have: a fork's, or one that is only promised. */
export const madeUpReceipt = (transactionHash: unknown, block: number, status: string) => ({
  ...{ transactionHash, transactionIndex: "0x0", type: "0x2", status, logs: [] },
  ...{ blockHash: `0x${"ab".repeat(32)}`, blockNumber: `0x${block.toString(16)}` },
  ...{ from: `0x${"a1".repeat(20)}`, to: null, contractAddress: null },
  ...{ cumulativeGasUsed: "0x5208", gasUsed: "0x5208", effectiveGasPrice: "0x1" },
  logsBloom: `0x${"0".repeat(512)}`,
});
