import type { Infer } from "convex/values";
import { iso } from "../lib/time";
import { amountOf } from "./kinds";
import { MAJORS } from "./model";
import type { Fact, Kind, vChange } from "./tables";

/** What changed between two moments, by the facts of both. Computed here, so that nobody else has to. Pure. */

export type Change = Infer<typeof vChange>;

const COMPARABLE = ["price", "openInterest", "volume24h", "stablecoinSupply"] as const;

const COMPARED: Partial<Record<Kind, string>> = {
  price: "price",
  openInterest: "open interest in perpetuals",
  volume24h: "volume traded in 24 hours",
  stablecoinSupply: "supply of dollar stablecoins",
};

/** @param since What the earlier facts are of: the shift's start, or the last report on the same focus. */
export function changesBetween(
  earlier: readonly Fact[],
  later: readonly Fact[],
  { since, focus }: { since: Change["since"]; focus: string },
): Change[] {
  const subjects = [...new Set([...(focus === "" ? [] : [focus]), ...MAJORS, "market"])];
  return subjects.flatMap((subject) =>
    later.flatMap((fact): Change[] => {
      const what = COMPARED[fact.kind];
      if (what === undefined || fact.subject !== subject) return [];
      const before = earlier.find((one) => one.subject === subject && one.kind === fact.kind);
      if (before === undefined || before.observedAt >= fact.observedAt) return [];
      const [from, to] = [before.value, fact.value];
      if (typeof from !== "number" || typeof to !== "number" || from === 0) return [];
      const moments = { fromAt: before.observedAt, toAt: fact.observedAt };
      const percent = (to / from - 1) * 100;
      return [{ subject, what, from, to, unit: fact.unit, percent, since, ...moments }];
    }),
  );
}

/** The kind of fact that a change is of. */
export function kindOfChange({ what }: Pick<Change, "what">): Kind {
  return COMPARABLE.find((kind) => COMPARED[kind] === what) ?? "price";
}

/** `BTC price since the shift began: +0.87 %, from 97,250 USD (2026-01-05T09:00Z) to …` */
export function changeSaying(change: Change, unit: Fact["unit"]): string {
  const since = change.since === "start" ? "since the shift began" : "since the last report";
  const whose = change.subject === "market" ? "Market" : change.subject;
  const moment = (at: number) => `${iso(at).slice(0, 16)}Z`;
  return (
    `${whose} ${change.what} ${since}: ${amountOf(change.percent, "percent")}, ` +
    `from ${amountOf(change.from, unit)} (${moment(change.fromAt)}) to ${amountOf(change.to, unit)} (${moment(change.toAt)})`
  );
}

/** The unit in which both ends of a change are told. */
export function changeUnit({ unit }: Change): Fact["unit"] {
  return unit === "USD" ? "USD" : "count";
}
