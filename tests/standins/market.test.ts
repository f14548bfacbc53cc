import { expect, test } from "vitest";
import { createMarket } from "../../scripts/standins/sources/market";
import { START } from "./support";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const marketOf = (seed: string) => createMarket({ seed, now: () => START });

test("is the same for the same seed, in any order of moments, and another for another seed", () => {
  const [one, two] = [marketOf("a"), marketOf("a")];
  const later = one.coins(START + HOUR);
  expect(two.coins()).toEqual(one.coins(START));
  expect(two.coins(START + HOUR)).toEqual(later);
  expect(marketOf("b").coins()).not.toEqual(one.coins());
});

test.each(["a", "b", "c", "local"])("trending keeps some tokens for a whole shift (%s)", (seed) => {
  const market = marketOf(seed);
  const lists = Array.from({ length: 17 }, (_, cycle) =>
    market.trending(START + cycle * 30 * MINUTE).map(({ symbol }) => symbol),
  );
  for (const list of lists) expect(new Set(list).size).toBe(10);
  const seen = new Set(lists.flat());
  const persistent = [...seen].filter((symbol) => lists.every((list) => list.includes(symbol)));
  expect(persistent.length).toBeGreaterThanOrEqual(2);
  expect(seen.size).toBeGreaterThan(15);
  expect(lists[0]).not.toEqual(lists[1]);
});

test("an unlisted symbol is a small coin of its own", () => {
  const market = marketOf("a");
  expect(market.coin("zzz9")).toEqual(market.coin("ZZZ9"));
  expect(market.coin("ZZZ9").marketCap).toBeLessThan(200e6);
  expect(market.coin("ZZZ9").price).not.toBe(market.coin("ZZZ8").price);
});
