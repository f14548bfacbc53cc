import { wordingOf } from "../../lib/facts";
import { MAJORS } from "../../lib/money/tokens";
import type { Fact, Kind } from "../../lib/facts";

/** Comparisons that writers often make, computed from the facts, so that no writer has to. Pure. */

const BY = { source: "computed by this service", url: "" } as const;

/** A fact that is computed from these kinds of its own subject, or of a named one: `ETH.price`. */
type Row = readonly [kind: Kind, from: string, compute: (...values: number[]) => number];

const against = (price = 0, level = 0): number => (price / level - 1) * 100;

const OF_A_COIN: readonly Row[] = [
  ["toDayHigh", "lastTrade dayHigh", against],
  ["toDayLow", "lastTrade dayLow", against],
  ["bidShare", "bidDepth askDepth", (bid = 0, ask = 0) => (100 * bid) / (bid + ask)],
  ["fundingYear", "funding", (rate = 0) => rate * 24 * 365],
];
const OF_THE_MARKET: readonly Row[] = [
  [
    "majorsRising",
    MAJORS.map((coin) => `${coin}.change24h`).join(" "),
    (...all) => all.filter((change) => change > 0).length,
  ],
];
const OF_ETHER: readonly Row[] = [["ethBtc", "ETH.price BTC.price", (eth = 0, btc = 0) => eth / btc]];

/** @param coins The coins to compare. */
export function computedFacts(facts: readonly Fact[], coins: readonly string[]): Fact[] {
  const rowsOf = [...coins.map((coin) => [coin, OF_A_COIN] as const), ["market", OF_THE_MARKET] as const];
  const all = [...rowsOf, ["ETH", OF_ETHER] as const].flatMap(([subject, rows]) =>
    rows.flatMap((row) => computed(subject, row, facts)),
  );
  return [...all, ...places(facts, coins)];
}

/** Empty if one of the facts is missing. */
function computed(subject: string, [kind, from, compute]: Row, facts: readonly Fact[]): Fact[] {
  const inputs = from.split(" ").flatMap((name) => {
    const [wanted = "", of = subject] = name.split(".").toReversed();
    return facts.find((one) => one.subject === of && one.kind === wanted) ?? [];
  });
  const values = inputs.flatMap((one) => (typeof one.value === "number" ? [one.value] : []));
  const value = values.length < from.split(" ").length ? Number.NaN : compute(...values);
  const observedAt = Math.min(...inputs.map((one) => one.observedAt));
  return Number.isFinite(value)
    ? [{ ...BY, subject, kind, value, unit: wordingOf(kind).unit, observedAt }]
    : [];
}

/** Ranks of coins among the largest, by how much they rose. */
function places(facts: readonly Fact[], coins: readonly string[]): Fact[] {
  const order = facts
    .flatMap(({ kind, subject, value, observedAt }) =>
      kind === "change24h" && typeof value === "number" ? [{ subject, value, observedAt }] : [],
    )
    .sort((a, b) => b.value - a.value);
  // Among a few coins a rank says nothing.
  if (order.length < 20) return [];
  return order.flatMap(({ subject, observedAt }, index): Fact[] =>
    coins.includes(subject)
      ? [{ ...BY, subject, kind: "moverPlace", value: index + 1, unit: "count", observedAt }]
      : [],
  );
}
