import type * as z from "zod";
import { iso } from "../../lib/time";
import { amountOf } from "../../lib/facts";
import { MAJORS } from "../../lib/money/tokens";
import type { Fact, Kind } from "../../lib/facts";
import type { change } from "./checks";

/** Changes between two times, computed from the facts of both, so that no writer has to. Pure. */

export type Change = z.output<typeof change>;

/** Amounts in USD, all of them. */
const COMPARED: readonly { kind: Kind; what: string }[] = [
  { kind: "price", what: "price" },
  { kind: "openInterest", what: "open interest in perpetuals" },
  { kind: "volume24h", what: "volume traded in 24 hours" },
];

/** @param since The origin of the earlier facts: the shift's start, or the last report on the same focus. */
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

/** The kind of fact that a change concerns. */
export function kindOfChange(change: Pick<Change, "what">): Kind {
  return COMPARED.find(({ what }) => what === change.what)?.kind ?? "price";
}

/** `BTC price since the shift began: +0.87 %, from 97,250 USD (2026-01-05T09:00Z) to …` */
export function changeSaying(change: Change): string {
  const { percent, from, to, toAt } = change;
  return (
    `${whose(change)} since ${MOMENTS[change.since]}: ${amountOf(percent, "percent")}, ` +
    `from ${amountOf(from, "USD")} (${momentOf(change.fromAt)}) to ${amountOf(to, "USD")} (${momentOf(toAt)})`
  );
}

/** `BTC price when the shift began: 97,250 USD (2026-01-05T09:00Z)` */
export function fromSaying(change: Change): string {
  return `${whose(change)} when ${WHEN[change.since]}: ${amountOf(change.from, "USD")} (${momentOf(change.fromAt)})`;
}

const MOMENTS = { start: "the shift began", report: "the last report" } as const;
const WHEN = { start: "the shift began", report: "the last report was written" } as const;

function whose({ subject, what }: Change): string {
  return `${subject === "market" ? "Market" : subject} ${what}`;
}

function momentOf(at: number): string {
  return `${iso(at).slice(0, 16)}Z`;
}
