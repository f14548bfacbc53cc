import type { CitableFact } from "../../convex/evidence/checking";
import { createMarket } from "../stack/standins/market";
import { random, type Random } from "../stack/standins/random";
import { MAJOR_NAMES } from "../../convex/evidence/model";
import type { Brief } from "../../convex/research/brief";
import { briefAt } from "./alterations";

/** Sentences made of the shapes that writers use: true ones, and ones in which one thing is not so. */

/** What is untrue of a sentence; `null` for a true one. */
export type Flaw = "subject" | "kind" | "direction" | "window" | "unit";
export const FLAWS: readonly Flaw[] = ["subject", "kind", "direction", "window", "unit"];

export type Scene = { brief: Brief; now: number; chance: Random };

export function sceneOf(seed: string): Scene {
  const chance = random(seed, "scene");
  const now = Date.UTC(2026, chance.whole(0, 11), chance.whole(1, 28), chance.whole(0, 23));
  const market = createMarket({ seed, now: () => now });
  return { brief: briefAt(market, seed, now, ""), now, chance };
}

/** How the brief words what a key stands for. */
const SAYINGS: Readonly<Record<string, string>> = {
  price: "price:",
  change: "price change over 24 hours:",
  last: "last trade:",
  day: "change of the last trade over 24 hours:",
  cap: "market capitalisation:",
  vol: "volume traded in 24 hours:",
  high: "24-hour high:",
  low: "24-hour low:",
  high48: "48-hour high:",
  low48: "48-hour low:",
  coins: "coins traded in 24 hours:",
  bid: "buy orders within 1 % of the price:",
  ask: "sell orders within 1 % of the price:",
  spread: "spread between best bid and ask:",
  funding: "perpetual funding rate per hour:",
  oi: "open interest in perpetuals:",
  rank: "rank by market capitalisation:",
  start: "price since the shift began:",
  report: "price since the last report:",
  rising: "coins that rose",
  supply: "supply of dollar stablecoins:",
  week: "change of the supply of dollar stablecoins over 7 days:",
  usdc: "USDC on Base:",
  txs: "transactions in the latest block:",
  fee: "base fee of the latest block:",
  headline: "headline:",
};

/** What could be cited in the place of another, though the words say that one. */
const OTHER_KINDS: Readonly<Record<string, readonly string[]>> = {
  price: ["cap", "vol", "low", "high48", "oi"],
  last: ["vol", "cap"],
  change: ["funding", "start"],
  start: ["change", "funding"],
  report: ["change", "funding"],
  cap: ["vol", "oi", "price"],
  vol: ["cap", "oi", "price"],
  oi: ["vol", "cap"],
  high: ["price", "low", "vol"],
  low: ["price", "high", "oi"],
  high48: ["price", "low48"],
  low48: ["price", "high48"],
  bid: ["ask", "vol"],
  ask: ["bid", "oi"],
  funding: ["change", "start"],
};

const SUBJECTS: Readonly<Record<string, string>> = { market: "Market", base: "Base", news: "Market" };
const COINS = Object.keys(MAJOR_NAMES);
const OTHER_WINDOWS: Readonly<Record<"long" | "short", readonly string[]>> = {
  long: ["over the past week", "over 7 days", "this month", "over the past hour", "over 30 days"],
  short: ["7-day", "weekly", "30-day", "hourly"],
};

/** One sentence of a shape, with one flaw or none; `null` where the shape has nothing that could be so flawed. */
export function sentenceOf(shape: string, flaw: Flaw | null, { brief, chance }: Scene): string | null {
  const [first = "BTC", second = "ETH", third = "SOL"] = chance.shuffled(COINS);
  const coins: Record<string, string> = { a: first, b: second, c: third };
  const symbolOf = (place: string) => SUBJECTS[place] ?? coins[place] ?? place;
  const factOf = (place: string, key: string): CitableFact => {
    const start = `${symbolOf(place)} ${SAYINGS[key] ?? key}`;
    const found = brief.sources.find(({ says }) => says.startsWith(start));
    if (found === undefined) throw new Error(`No fact says ${start}`);
    return found;
  };
  const keys = [...shape.matchAll(/\{(\w+)\.(\w+)#?\}/g)].map(([, place = "", key = ""]) => ({ place, key }));
  const flawed = chance.shuffled(keys);
  const spellings = new Map<string, string>();
  const nameOf = (place: string, shift: number): string => {
    const symbol = coins[place] ?? place;
    const other = COINS[(COINS.indexOf(symbol) + shift) % COINS.length] ?? symbol;
    const known = spellings.get(other);
    if (known !== undefined) return known;
    const names = Object.entries(MAJOR_NAMES).find(([one]) => one === other)?.[1] ?? [other];
    const name = chance.pick([other, ...names]);
    spellings.set(other, name);
    return name;
  };

  let nameShift = 0;
  let swapped: { place: string; key: string; to: string } | null = null;
  let unitAt: string | null = null;
  switch (flaw) {
    case "subject":
      if (!/\{[abc]\}/.test(shape)) return null;
      // One name: another coin's; several: each has its neighbour's figures.
      nameShift = 1;
      break;
    case "kind": {
      const one = flawed.find(
        ({ place, key }) => coins[place] !== undefined && OTHER_KINDS[key] !== undefined,
      );
      if (one === undefined) return null;
      const own = factOf(one.place, one.key);
      const to = chance
        .shuffled(OTHER_KINDS[one.key] ?? [])
        .find((key) => isApart(own, factOf(one.place, key)) && !keys.some((other) => other.key === key));
      if (to === undefined) return null;
      swapped = { ...one, to };
      break;
    }
    case "unit": {
      const one = flawed.find(
        ({ place, key }) => !["headline", "rank"].includes(key) && (factOf(place, key).value ?? 0) !== 0,
      );
      if (one === undefined) return null;
      unitAt = `${one.place}.${one.key}`;
      break;
    }
    case "direction": {
      const turned = flawed.find(
        ({ place, key }) =>
          ["change", "day", "start", "report", "week"].includes(key) &&
          Math.abs(factOf(place, key).value ?? 0) > 0.2,
      );
      if (turned === undefined) return null;
      swapped = { ...turned, to: "turned" };
      break;
    }
    case "window":
      if (!shape.includes("{~")) return null;
      break;
    case null:
      break;
  }

  const keyFor = (place: string, key: string) =>
    swapped !== null && swapped.to !== "turned" && swapped.place === place && swapped.key === key
      ? swapped.to
      : key;
  const isTurned = (place: string, key: string) =>
    swapped?.to === "turned" && swapped.place === place && swapped.key === key;
  return shape
    .replace(
      /\{ratio:(\w+)\.(\w+)\/(\w+)\.(\w+)\}/g,
      (_all, p1: string, k1: string, p2: string, k2: string) =>
        ratioWord((factOf(p1, k1).value ?? 0) / (factOf(p2, k2).value ?? 1)),
    )
    .replace(/\{~([^}]+)\}/g, (_all, words: string) => {
      if (flaw !== "window") return words;
      if (/seven|week/.test(words)) return chance.pick(["over the past 24 hours", "today", "this month"]);
      const style = /^(?:\d+-hour|daily)$/.test(words) ? "short" : "long";
      return chance.pick(OTHER_WINDOWS[style]);
    })
    .replace(
      /\{(\w+)\.(\w+)\?([^/}]*)\/([^}]*)\}/g,
      (_all, place: string, key: string, up: string, down: string) => {
        const isUp = (factOf(place, key).value ?? 0) >= 0;
        return isUp !== isTurned(place, key) ? up : down;
      },
    )
    .replace(/\{(\w+)\.(\w+)(#?)\}/g, (_all, place: string, key: string, bare: string) => {
      const fact = factOf(place, keyFor(place, key));
      if (key === "headline") return /“(.*)”/.exec(fact.says)?.[1] ?? "";
      const isSigned = bare === "" && fact.unit === "percent";
      const value = (fact.value ?? 0) * (isTurned(place, key) && isSigned ? -1 : 1);
      const told = { ...fact, value };
      return unitAt === `${place}.${key}`
        ? inAnotherUnit(told, chance)
        : written(told, key, isSigned, chance);
    })
    .replace(
      /\[(\w+)\.(\w+)\]/g,
      (_all, place: string, key: string) => `[f${factOf(place, keyFor(place, key)).id}]`,
    )
    .replace(/\{([abc])\}/g, (_all, place: string) => nameOf(place, nameShift))
    .replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

/** Whether two facts are so far from each other that no rounding makes them one. */
function isApart(a: CitableFact, b: CitableFact): boolean {
  const [x, y] = [a.value ?? 0, b.value ?? 0];
  return Math.abs(x - y) > 0.02 * Math.max(Math.abs(x), Math.abs(y)) && Math.abs(x - y) > 1e-4;
}

/** A figure of a fact as some writer writes it. */
function written(fact: CitableFact, key: string, isSigned: boolean, chance: Random): string {
  const value = fact.value ?? 0;
  switch (fact.unit) {
    case "usd":
      return chance.pick(amounts(value));
    case "percent": {
      const places = key === "funding" ? 4 : chance.pick([1, 2]);
      const shown = Math.abs(value).toFixed(places);
      const sign = isSigned ? (value < 0 ? chance.pick(["-", "−"]) : "+") : "";
      const bare = key === "funding" ? (value < 0 ? "-" : "") : sign;
      return bare + shown + chance.pick(["%", " %", " percent"]);
    }
    case "bps":
      return `${value.toFixed(2)} ${chance.pick(["bps", "basis points"])}`;
    case "gwei":
      return `${Number(value.toPrecision(3))} gwei`;
    case "coins":
      return `${Math.round(value).toLocaleString("en-US")} coins`;
    default:
      return Math.round(value).toLocaleString("en-US");
  }
}

function amounts(value: number): string[] {
  if (value >= 1e12) return [`$${(value / 1e12).toFixed(2)}T`, `${(value / 1e12).toFixed(2)} trillion USD`];
  if (value >= 1e9) return [`$${(value / 1e9).toFixed(1)}bn`, `$${(value / 1e9).toFixed(2)} billion`];
  if (value >= 1e6) return [`$${(value / 1e6).toFixed(1)}M`, `$${(value / 1e6).toFixed(2)} million`];
  const places = value >= 1_000 ? [0, 2] : [2];
  return places.flatMap((shown) => {
    const text = value.toLocaleString("en-US", {
      minimumFractionDigits: shown,
      maximumFractionDigits: shown,
    });
    return [`$${text}`, `${text} USD`];
  });
}

/** The digits of a figure with what it is not measured in. */
function inAnotherUnit(fact: CitableFact, chance: Random): string {
  const value = Math.abs(fact.value ?? 0);
  const digits = value.toLocaleString("en-US", { maximumFractionDigits: value < 100 ? 6 : 2 });
  switch (fact.unit) {
    case "usd":
      return chance.pick([`${digits} contracts`, `${digits} %`, `${digits} wallets`, `${digits} XRP`]);
    case "percent":
      return chance.pick([`$${digits}`, `${digits} bps`, `${digits} gwei`]);
    case "bps":
      return chance.pick([`$${digits}`, `${digits} %`]);
    case "gwei":
      return chance.pick([`$${digits}`, `${digits} %`]);
    case "coins":
      return chance.pick([`$${digits}`, `${digits} %`]);
    default:
      return chance.pick([`$${digits}`, `${digits} %`, `${digits} wallets`]);
  }
}

function ratioWord(ratio: number): string {
  const words = [
    [2, "about twice"],
    [0.5, "about half"],
  ] as const;
  const near = words.find(([value]) => Math.abs(ratio / value - 1) < 0.05);
  return near?.[1] ?? `${ratio.toFixed(1)} times`;
}
