import { wordingOf } from "./kinds";
import { MAJORS } from "./model";
import type { Fact, Kind } from "./tables";

/** What writers often compare, computed from the facts, so that no writer has to. Pure. */

const BY = { source: "computed by this service", url: "" } as const;

/** @param coins Whose facts are compared. */
export function computedFacts(facts: readonly Fact[], coins: readonly string[]): Fact[] {
  const desk = deskOf(facts);
  return [...coins.flatMap((coin) => ofCoin(coin, desk)), ...ofMarket(desk), ...places(facts, coins)];
}

/** Computes a fact from others; nothing where one of them is missing. */
type Desk = (
  subject: string,
  kind: Kind,
  from: readonly (readonly [string, Kind])[],
  compute: (...values: number[]) => number,
) => Fact[];

function deskOf(facts: readonly Fact[]): Desk {
  return (subject, kind, from, compute) => {
    const told = from.map(([of, wanted]) => facts.find((one) => one.subject === of && one.kind === wanted));
    const values = told.flatMap((one) => (typeof one?.value === "number" ? [one.value] : []));
    if (values.length < from.length) return [];
    const value = compute(...values);
    const observedAt = Math.min(...told.flatMap((one) => one?.observedAt ?? []));
    return Number.isFinite(value)
      ? [{ ...BY, subject, kind, value, unit: wordingOf(kind).unit, observedAt }]
      : [];
  };
}

const against = (price = 0, level = 0): number => (price / level - 1) * 100;

function ofCoin(coin: string, desk: Desk): Fact[] {
  const own = (...kinds: Kind[]) => kinds.map((kind) => [coin, kind] as const);
  return [
    ...desk(coin, "toDayHigh", own("lastTrade", "dayHigh"), against),
    ...desk(coin, "toDayLow", own("lastTrade", "dayLow"), against),
    ...desk(coin, "bidShare", own("bidDepth", "askDepth"), (bid = 0, ask = 0) => (100 * bid) / (bid + ask)),
    ...desk(coin, "fundingYear", own("funding"), (rate = 0) => rate * 24 * 365),
  ];
}

function ofMarket(desk: Desk): Fact[] {
  const market = (...kinds: Kind[]) => kinds.map((kind) => ["market", kind] as const);
  const majors = MAJORS.map((coin) => [coin, "change24h"] as const);
  return [
    ...desk("market", "risingShare", market("rising"), (rising = 0) => (100 * rising) / 50),
    ...desk("market", "majorsRising", majors, (...all) => all.filter((change) => change > 0).length),
    ...desk(
      "market",
      "stablecoinWeekUsd",
      market("stablecoinSupply", "stablecoinWeek"),
      (supply = 0, week = 0) => supply - supply / (1 + week / 100),
    ),
    ...desk(
      "ETH",
      "ethBtc",
      [
        ["ETH", "price"],
        ["BTC", "price"],
      ],
      (eth = 0, btc = 0) => eth / btc,
    ),
  ];
}

/** Where coins stand among the largest by how much they rose. */
function places(facts: readonly Fact[], coins: readonly string[]): Fact[] {
  const order = facts
    .flatMap(({ kind, subject, value, observedAt }) =>
      kind === "change24h" && typeof value === "number" ? [{ subject, value, observedAt }] : [],
    )
    .sort((a, b) => b.value - a.value);
  // Of a few coins a place says nothing.
  if (order.length < 20) return [];
  return order.flatMap(({ subject, observedAt }, index): Fact[] =>
    coins.includes(subject)
      ? [{ ...BY, subject, kind: "moverPlace", value: index + 1, unit: "count", observedAt }]
      : [],
  );
}
