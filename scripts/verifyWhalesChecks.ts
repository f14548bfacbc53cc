import { isHash } from "viem";
import type * as z from "zod";
import { formatUnits } from "../convex/lib/money/amounts";
import { FEED_DECIMALS, FEEDS, feedPrice } from "../convex/market/feeds";
import type { Rounds } from "../convex/providers/chain/accounts";
import type { Outcome } from "../convex/providers/chain/receipts";
import { COINS, isCoin } from "../convex/whales/coins";
import { measuredIn } from "../convex/whales/movements";
import { publicAlertShape } from "../convex/whales/shapes";
import type { Measured } from "../convex/whales/tables";
import type { Prices } from "../convex/whales/values";

/** What `npm run verify-whales` checks. Pure. */

/** An alert as the deployment shows it; a measured one shows what was read of it. */
export const measuredShape = publicAlertShape.required({ movement: true, txHash: true });
export type ShownAlert = z.output<typeof measuredShape>;

/** The tolerance for a price, which was read minutes, or after an outage hours, from the movement's block. */
const PRICE = 0.1;

/** Alerts that are shown twice: by transaction and place. */
export function repeated(alerts: readonly ShownAlert[]): string[] {
  const seen = new Set<string>();
  return alerts.flatMap((alert) => {
    const key = `${alert.txHash} ${alert.movement.position}`;
    if (seen.has(key)) return [`${nameOf(alert)} is shown twice`];
    seen.add(key);
    return [];
  });
}

/**
 * Compares the alerts of one transaction with what the chain says of it; empty if they match.
 * @param outcome `null` where the chain has no such transaction.
 */
export function problemsOfTransaction(alerts: readonly ShownAlert[], outcome: Outcome | null): string[] {
  const [first] = alerts;
  if (first === undefined) return [];
  if (outcome === null || !isHash(first.txHash)) {
    return [`${nameOf(first)}: the chain has no such transaction`];
  }
  const problems: string[] = [];
  const shown = new Set(alerts.map(({ token, movement }) => `${token} ${movement.position}`));
  for (const alert of alerts) {
    const derived = measuredIn(first.txHash, outcome, pricesOf(alert));
    const same = derived.find(({ movement }) => movement.position === alert.movement.position);
    problems.push(
      ...(same === undefined
        ? [`${nameOf(alert)}: the transaction makes no such alert`]
        : differences(alert, same).map((difference) => `${nameOf(alert)}: ${difference}`)),
    );
    for (const { token, movement } of derived) {
      if (token !== alert.token || shown.has(`${token} ${movement.position}`)) continue;
      problems.push(`Transaction ${first.txHash}, position ${movement.position}: its alert is missing`);
      shown.add(`${token} ${movement.position}`);
    }
  }
  return problems;
}

/** The alert's own price, which `priceProblem` checks. */
function pricesOf({ movement: { price } }: ShownAlert): Prices {
  return new Map(Object.values(COINS).map(({ feed }) => [feed, price]));
}

/** Each field that is shown differently from the derived alert. */
function differences(shown: ShownAlert, derived: Measured): string[] {
  const claims = { source: "measured", verified: true };
  const expected = Object.entries({ ...flat(derived), ...claims });
  const given = flat(shown);
  return expected.flatMap(([name, value]) =>
    given[name] === value
      ? []
      : [`${name} is shown as ${JSON.stringify(given[name])}, the chain says ${JSON.stringify(value)}`],
  );
}

/** `movement.from.address` and the like, with their values. */
function flat(value: object, prefix = ""): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
      typeof inner === "object" && inner !== null
        ? Object.entries(flat(inner, `${prefix}${name}.`))
        : [[`${prefix}${name}`, inner] as const],
    ),
  );
}

/** The feed of a shown alert's price; `null` for an unknown coin. */
export function feedOf({ token }: ShownAlert): { address: `0x${string}` } | null {
  return isCoin(token) ? FEEDS[COINS[token].feed] : null;
}

/**
 * Compares an alert's price with the feed in the movement's block.
 * @returns `unknown` if the node does not have it.
 */
export function priceProblem(
  alert: ShownAlert,
  round: Rounds[number],
): { kind: "right" | "unknown" } | { kind: "wrong"; problem: string } {
  const { token, movement, occurredAt } = alert;
  if (!isCoin(token) || round === null || occurredAt === undefined) return { kind: "unknown" };
  const answer = feedPrice(COINS[token].feed, round, occurredAt);
  if (answer === null) return { kind: "unknown" };
  const usd = Number(formatUnits(answer, FEED_DECIMALS));
  if (Math.abs(usd - movement.price.usd) <= PRICE * usd) return { kind: "right" };
  const difference = `it was valued with ${movement.price.usd} USD, the feed said ${usd} in its block`;
  return { kind: "wrong", problem: `${nameOf(alert)}: ${difference}` };
}

function nameOf({ token, txHash, movement }: ShownAlert): string {
  return `${token} in transaction ${txHash}, position ${movement.position}`;
}
