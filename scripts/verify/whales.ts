import { isHash } from "viem";
import * as z from "zod";
import { getErrorData } from "../../convex/lib/errors";
import { readTransaction, type Mined } from "../../convex/providers/chain/transactions";
import { COINS } from "../../convex/whales/coins";
import { measureTransaction } from "../../convex/whales/movements";
import { publicAlertShape } from "../../convex/whales/http";
import { command, Misuse, OperatorError } from "../command";

/** `npm run verify-whales`: derives the measured whale alerts of a deployment's last week again, from the chain alone. */

const USAGE = `Usage: npm run verify-whales -- URL [--rpc URL]

Derives the measured whale alerts of a deployment's last week, the newest of them, again from an RPC of Base: --rpc, or
else CHAIN_RPC_URL.
Exit code 0: every alert is what the chain says; 1: some are not; 2: nothing could be checked.`;

/** Transactions per round trip. */
const AT_ONCE = 15;

const shownShape = publicAlertShape.required({ movement: true, txHash: true });
type ShownAlert = z.output<typeof shownShape>;
const answerShape = z.object({ alerts: z.array(publicAlertShape) });

/** The newest measured alerts of a week. @throws OperatorError */
async function readAlerts(base: string): Promise<ShownAlert[]> {
  const url = `${base}/mcp/whale-alerts?hours=168`;
  const response = await fetch(url, { signal: AbortSignal.timeout(30_000) }).catch(() => {
    throw new OperatorError(`${base} cannot be reached`);
  });
  const answer = answerShape.safeParse(response.ok ? await response.json() : null);
  if (!answer.success) throw new OperatorError(`${url} shows no alerts`);
  return answer.data.alerts.filter(({ source }) => source === "measured").map((one) => shownShape.parse(one));
}

/** Transactions on chain, by hash. @throws OperatorError */
async function readOutcomes(hashes: readonly string[]): Promise<Map<string, Mined>> {
  const outcomes = new Map<string, Mined>();
  const validHashes = hashes.filter((one) => isHash(one));
  for (let next = 0; next < validHashes.length; next += AT_ONCE) {
    const some = validHashes.slice(next, next + AT_ONCE);
    const found = await Promise.all(some.map(readTransaction)).catch((error: unknown) => {
      throw new OperatorError(getErrorData(error)?.message ?? String(error));
    });
    for (const [index, outcome] of found.entries()) {
      const hash = some[index] ?? "";
      if (outcome.kind === "too large")
        throw new OperatorError(`The receipt of ${hash} is too large to be read`);
      if (outcome.kind === "mined") outcomes.set(hash, outcome);
    }
  }
  return outcomes;
}

const getAlertName = ({ token, txHash, movement }: Pick<ShownAlert, "token" | "txHash" | "movement">) =>
  `${token} in transaction ${txHash}, position ${movement.position}`;

/** The differences between the alerts of a transaction and its movements, at the price of each alert. */
function listProblems(alerts: readonly ShownAlert[], outcome: Mined | undefined): string[] {
  if (outcome === undefined)
    return alerts.map((one) => `${getAlertName(one)}: the chain has no such transaction`);
  const checkedHashes = new Set<string>();
  const problems: string[] = [];
  for (const alert of alerts) {
    if (checkedHashes.has(getAlertName(alert))) problems.push(`${getAlertName(alert)} is shown twice`);
    checkedHashes.add(getAlertName(alert));
    const prices = new Map(Object.values(COINS).map(({ feed }) => [feed, alert.movement.price]));
    for (const due of measureTransaction(alert.txHash, outcome, prices)) {
      const isShown = alerts.some((one) => getAlertName(one) === getAlertName(due));
      if (due.token === alert.token && !isShown) problems.push(`${getAlertName(due)}: its alert is missing`);
    }
    const due = measureTransaction(alert.txHash, outcome, prices).find(
      (one) => getAlertName(one) === getAlertName(alert),
    );
    if (due === undefined) problems.push(`${getAlertName(alert)}: the transaction makes no such alert`);
    else
      problems.push(
        ...listDifferences(alert, { ...due, source: "measured", verified: true }, getAlertName(alert)),
      );
  }
  return [...new Set(problems)];
}

function listDifferences(given: unknown, due: unknown, path: string): string[] {
  if (typeof due !== "object" || due === null)
    return given === due ? [] : [`${path} is shown as ${String(given)}, the chain says ${String(due)}`];
  const fields = new Map<string, unknown>(Object.entries(typeof given === "object" ? (given ?? {}) : {}));
  const expectedFields = new Map<string, unknown>(Object.entries(due));
  // A party without a label must not be shown with one.
  if (fields.has("label") && !expectedFields.has("label")) expectedFields.set("label", undefined);
  return [...expectedFields].flatMap(([name, value]) =>
    listDifferences(fields.get(name), value, `${path} ${name}`),
  );
}

const about = {
  usage: USAGE,
  flags: { rpc: { type: "string" } },
  most: 1,
  failure: 2,
} as const;
await command(about, async ({ values: { rpc }, positionals: [base] }) => {
  if (base === undefined || !/^https?:\/\//.test(base)) throw new Misuse("Name one service by its URL");
  if (rpc !== undefined) process.env["CHAIN_RPC_URL"] = rpc;
  const alerts = await readAlerts(base.replace(/\/+$/, ""));
  if (alerts.length === 0) {
    console.log("The deployment shows no measured alert: nothing was read, and nothing checked.");
    return 2;
  }
  const hashes = [...new Set(alerts.map(({ txHash }) => txHash))];
  const outcomes = await readOutcomes(hashes);
  const problems = hashes.flatMap((hash) => {
    const ownAlerts = alerts.filter(({ txHash }) => txHash === hash);
    return listProblems(ownAlerts, outcomes.get(hash));
  });
  const size = `${alerts.length} alerts, ${hashes.length} transactions`;
  if (problems.length === 0)
    console.log(`✓ The alerts are what the chain says: ${size}. Prices: not checked.`);
  else console.log(["✗ The alerts are not what the chain says:", ...problems].join("\n  - "));
  return problems.length === 0 ? 0 : 1;
});
