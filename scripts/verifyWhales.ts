import { isHash, type Hex } from "viem";
import * as z from "zod";
import { deadlines } from "../convex/lib/outside/deadlines";
import { setting } from "../convex/lib/env";
import { failureOf } from "../convex/lib/errors";
import { readRounds } from "../convex/providers/chain/accounts";
import { readOutcomes, type Outcome } from "../convex/providers/chain/receipts";
import { command, Misuse } from "./command";
import { read, Unreadable } from "./publicRecord";
import { green, nextStep, red } from "./terminal";
import {
  feedOf,
  measuredShape,
  priceProblem,
  problemsOfTransaction,
  repeated,
  type ShownAlert,
} from "./verifyWhalesChecks";

/**
 * `npm run verify-whales -- <url> [--rpc <url>] [--json]`: derives every measured whale alert of a deployment again, from
 * the chain alone. Exit code 0: they are what the chain says; 1: they are not; 2: they could not be checked.
 */

const USAGE = `Usage: npm run verify-whales -- URL [--rpc URL] [--json]

Derives every measured whale alert of a deployment again from an RPC of Base.

  --rpc URL   the RPC to ask (of the local stack: http://127.0.0.1:8545); without it, CHAIN_RPC_URL or else the public RPC
  --json      prints what was found, as JSON on stdout

Exit code 0: every alert is what the chain says; 1: some are not; 2: they could not be checked.`;

const ALERTS_PER_PAGE = 200;
/** Transactions per round trip. */
const AT_ONCE = 15;

const pageShape = z.object({ alerts: z.array(measuredShape), next: z.int().nullable() });

type Found = {
  alerts: number;
  transactions: number;
  /** Alerts whose price the node still has. */
  pricesChecked: number;
  problems: string[];
};

function print({ alerts, transactions, pricesChecked, problems }: Found): void {
  if (problems.length > 0) {
    console.log(`${red("✗")} The alerts are not what the chain says (${problems.length} differences):`);
    for (const problem of problems) console.log(`  - ${problem}`);
    console.log(nextStep("try another node with --rpc URL: one that is behind tells too little"));
    return;
  }
  if (transactions === 0) {
    console.log("The deployment shows no measured alert: nothing was read, and nothing checked.");
    return;
  }
  console.log(
    `${green("✓")} The alerts are what the chain says: ${alerts} alerts, ${transactions} transactions.`,
  );
  console.log(`  Read from ${new URL(setting("CHAIN_RPC_URL")).host}.`);
  if (pricesChecked < alerts) {
    console.log(
      `  Prices: ${pricesChecked} held against the feeds; for the others the node keeps no old state.`,
    );
  }
  console.log(nextStep("npm run verify-signals -- URL checks the signals"));
}

/** Every measured alert, page by page. */
async function shown(base: string): Promise<ShownAlert[]> {
  const alerts: ShownAlert[] = [];
  for (let before: number | null = null; ;) {
    const from: string = before === null ? "" : `&before=${before}`;
    const path = `/whales/measured?limit=${ALERTS_PER_PAGE}${from}`;
    const page: z.output<typeof pageShape> = await read(base, path, pageShape, "list of measured alerts");
    alerts.push(...page.alerts);
    if (page.next === null) return alerts;
    if (before !== null && page.next >= before) throw new Unreadable(`${path} leads back to itself`);
    before = page.next;
  }
}

async function checked(alerts: readonly ShownAlert[]): Promise<Found> {
  const byTransaction = new Map<string, ShownAlert[]>();
  for (const alert of alerts) {
    byTransaction.set(alert.txHash, [...(byTransaction.get(alert.txHash) ?? []), alert]);
  }
  const outcomes = await outcomesOf([...byTransaction.keys()].filter((hash) => isHash(hash)));
  const problems = [
    ...repeated(alerts),
    ...[...byTransaction].flatMap(([hash, some]) => problemsOfTransaction(some, outcomes.get(hash) ?? null)),
  ];
  let pricesChecked = 0;
  for (const alert of alerts) {
    const price = await priceOf(alert);
    if (price.kind !== "unknown") pricesChecked++;
    if (price.kind === "wrong") problems.push(price.problem);
  }
  return { alerts: alerts.length, transactions: byTransaction.size, pricesChecked, problems };
}

async function outcomesOf(hashes: readonly Hex[]): Promise<Map<string, Outcome | null>> {
  const outcomes = new Map<string, Outcome | null>();
  for (let next = 0; next < hashes.length; next += AT_ONCE) {
    const asked = hashes.slice(next, next + AT_ONCE);
    const found = await asChecked(readOutcomes(asked));
    for (const [index, hash] of asked.entries()) {
      const outcome = found[index] ?? null;
      if (outcome === "too large") throw new Unreadable(`The receipt of ${hash} is too large to be read`);
      outcomes.set(hash, outcome);
    }
  }
  return outcomes;
}

async function priceOf(alert: ShownAlert): ReturnType<typeof readPrice> {
  try {
    return await readPrice(alert);
  } catch (error) {
    // A node without old state refuses; the receipts have shown that it answers.
    if (failureOf(error) === null) throw error;
    return { kind: "unknown" };
  }
}

async function readPrice(alert: ShownAlert): Promise<ReturnType<typeof priceProblem>> {
  const feed = feedOf(alert);
  const rounds =
    feed === null ? [] : await readRounds([feed.address], deadlines.chain, alert.movement.blockNumber);
  return priceProblem(alert, rounds[0] ?? null);
}

/** @throws Unreadable if the chain could not be asked. */
async function asChecked<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    const failure = failureOf(error);
    throw failure === null ? error : new Unreadable(failure.message);
  }
}

const about = {
  usage: USAGE,
  flags: { rpc: { type: "string" }, json: { type: "boolean", default: false } },
  most: 1,
  forOperator: [Unreadable],
  failure: 2,
} as const;
await command(about, async ({ values: { rpc, json }, positionals: [base] }) => {
  if (base === undefined || !/^https?:\/\//.test(base)) throw new Misuse("Name one service by its URL");
  if (rpc !== undefined) process.env["CHAIN_RPC_URL"] = rpc;
  const found = await checked(await shown(base));
  const holds = found.problems.length === 0;
  if (json) console.log(JSON.stringify({ holds, ...found }, null, 2));
  else print(found);
  return holds ? 0 : 1;
});
