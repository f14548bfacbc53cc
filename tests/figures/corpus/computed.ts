import { sourceOfFact, type Uncounted } from "../../../convex/lib/figures/ledger";
import { amountOf } from "../../../convex/lib/facts";
import { unitOf } from "../../../convex/lib/facts";
import type { Fact, Kind } from "../../../convex/lib/facts";

/** Facts that the corpus' writers were given besides the measured ones: comparisons, and changes since an earlier moment. */

type Computed = readonly [kind: Kind, from: readonly Kind[], compute: (a: number, b: number) => number];

const COMPUTED: readonly Computed[] = [
  ["toDayHigh", ["lastTrade", "dayHigh"], (price, level) => (price / level - 1) * 100],
  ["toDayLow", ["lastTrade", "dayLow"], (price, level) => (price / level - 1) * 100],
  ["bidShare", ["bidDepth", "askDepth"], (bid, ask) => (100 * bid) / (bid + ask)],
  ["fundingYear", ["funding"], (rate) => rate * 24 * 365],
];

export function computedFrom(facts: readonly Fact[], at: number): Fact[] {
  const valueOf = (subject: string, kind: Kind) => {
    const value = facts.find((one) => one.subject === subject && one.kind === kind)?.value;
    return typeof value === "number" ? value : Number.NaN;
  };
  const by = { source: "computed by this service", url: "", observedAt: at };
  const made = (subject: string, kind: Kind, value: number): Fact[] =>
    Number.isFinite(value) ? [{ ...by, subject, kind, value }] : [];
  const subjects = [...new Set(facts.map(({ subject }) => subject))];
  const risen = ["BTC", "ETH", "SOL"].filter((coin) => valueOf(coin, "change24h") > 0);
  return [
    ...subjects.flatMap((subject) =>
      COMPUTED.flatMap(([kind, [first, second], compute]) => {
        const a = first === undefined ? Number.NaN : valueOf(subject, first);
        const b = second === undefined ? 0 : valueOf(subject, second);
        return made(subject, kind, compute(a, b));
      }),
    ),
    ...made("market", "majorsRising", risen.length),
    ...made("ETH", "ethBtc", valueOf("ETH", "price") / valueOf("BTC", "price")),
  ];
}

/** A change and its starting value, for each fact that is known of both moments. */
export function changesBetween(
  earlier: readonly Fact[],
  later: readonly Fact[],
  since: "start" | "report",
): Uncounted[] {
  return earlier.flatMap((before): Uncounted[] => {
    const { subject, kind } = before;
    const after = later.find((one) => one.subject === subject && one.kind === kind);
    if (unitOf(kind) !== "USD" || typeof before.value !== "number" || typeof after?.value !== "number")
      return [];
    const value = (after.value / before.value - 1) * 100;
    const moved: Fact = { ...after, value, source: "computed by this service" };
    const when = since === "start" ? "the shift began" : "the last report";
    const whose = `${subject === "market" ? "Market" : subject} ${kind}`;
    return [
      {
        ...sourceOfFact(moved, "start"),
        unit: "percent",
        says: `${whose} since ${when}: ${amountOf({ subject, kind, unit: "percent", value }, true)}`,
      },
      {
        ...sourceOfFact(before, "start"),
        says: `${whose} when ${when}: ${amountOf({ subject, kind, unit: "USD", value: before.value })}`,
      },
    ];
  });
}
