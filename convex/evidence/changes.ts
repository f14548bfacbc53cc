import type { Infer } from "convex/values";
import { iso } from "../lib/time";
import { amountOf } from "./kinds";
import { MAJORS } from "./model";
import type { Fact, Kind, vChange } from "./tables";

/** What changed between two moments, by the facts of both. Computed here, so that nobody else has to. Pure. */

export type Change = Infer<typeof vChange>;

/** Amounts in USD, all of them. */
const COMPARED: readonly { kind: Kind; what: string }[] = [
  { kind: "price", what: "price" },
  { kind: "openInterest", what: "open interest in perpetuals" },
  { kind: "volume24h", what: "volume traded in 24 hours" },
  { kind: "stablecoinSupply", what: "supply of dollar stablecoins" },
];

/** @param since What the earlier facts are of: the shift's start, or the last report on the same focus. */
export function changesBetween(
  earlier: readonly Fact[],
  later: readonly Fact[],
  { since, focus }: { since: Change["since"]; focus: string },
): Change[] {
  const subjects = [...new Set([...(focus === "" ? [] : [focus]), ...MAJORS, "market"])];
  return subjects.flatMap((subject) =>
    later.flatMap((fact): Change[] => {
      const what = COMPARED.find(({ kind }) => kind === fact.kind)?.what;
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
export function kindOfChange(change: Pick<Change, "what">): Kind {
  return COMPARED.find(({ what }) => what === change.what)?.kind ?? "price";
}

/** `BTC price since the shift began: +0.87 %, from 97,250 USD (2026-01-05T09:00Z) to …` */
export function changeSaying(change: Change): string {
  const since = change.since === "start" ? "since the shift began" : "since the last report";
  const whose = change.subject === "market" ? "Market" : change.subject;
  const moment = (at: number) => `${iso(at).slice(0, 16)}Z`;
  return (
    `${whose} ${change.what} ${since}: ${amountOf(change.percent, "percent")}, ` +
    `from ${amountOf(change.from, "USD")} (${moment(change.fromAt)}) to ${amountOf(change.to, "USD")} (${moment(change.toAt)})`
  );
}
