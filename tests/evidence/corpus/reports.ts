import { readFileSync } from "node:fs";
import {
  counted,
  ledgerOf,
  modelNamed,
  sourceOfFact,
  sourceOfWords,
  type Ledger,
  type Source,
  type Uncounted,
} from "../../../convex/evidence/facts";
import { KINDS } from "../../../convex/evidence/kinds";
import { factsOf } from "../../../convex/evidence/wordings";
import { namesOf } from "../../../convex/evidence/names";
import type { Fact, Kind } from "../../../convex/evidence/tables";
import { namesIn } from "../../../convex/lib/records";

/**
 * Texts written by hand, without a look at the code that reads them, and the mornings that they were written from:
 * `[BTC.price]` cites a fact, `{BTC.price/ETH.price}` is a slot.
 */

export type Scene = { at: number; sources: Source[]; ledger: Ledger; keys: Map<string, number> };

/** A file's parts, `== title` before each. */
export function partsOf(file: string): { title: string; text: string }[] {
  const parts = readFileSync(new URL(`${file}.txt`, import.meta.url), "utf8")
    .split(/^== /m)
    .slice(1);
  return parts.map((part) => {
    const end = part.indexOf("\n");
    return { title: part.slice(0, end), text: part.slice(end + 1).trimEnd() };
  });
}

const SOURCES: readonly (readonly [kinds: RegExp, source: string])[] = [
  [/^(?:lastTrade|day|high|low|bid|ask|spread)/, "Coinbase"],
  [/^(?:funding|openInterest)/, "Hyperliquid"],
  [/^stablecoin/, "DefiLlama"],
  [/^(?:usdc|block|baseFee)/, "Base, read over RPC"],
  [/^headline/, "markets.example, found by GDELT"],
];

export function factOf(subject: string, kind: Kind, value: number | string, observedAt: number): Fact[] {
  const source = SOURCES.find(([kinds]) => kinds.test(kind))?.[1] ?? "CoinGecko";
  return factsOf({ subject, observedAt, source, url: "https://example.org/figures" }, { [kind]: value });
}

/** What a line of a scene tells: `BTC: price 97250.5; change24h 3.21`. */
export function factsIn(line: string, at: number): Fact[] {
  const [subject = "", told = ""] = line.split(/: (.*)/);
  return told.split("; ").flatMap((one) => {
    const [, name = "", value = ""] = /^(\w+) (.*)$/.exec(one) ?? [];
    const kind = namesIn(KINDS).find((known) => known === name);
    return kind === undefined
      ? []
      : factOf(subject, kind, /^-?[\d.]+$/.test(value) ? Number(value) : value, at);
  });
}

/** What only some sentences need: changes since a shift began, and a model's words. */
function extras(at: number): [key: string, source: Uncounted][] {
  const started = (value: number, says: string, unit: "percent" | "USD") =>
    factOf("BTC", "price", value, at).map((one) => ({ ...sourceOfFact(one, "start"), unit, says }));
  const says = "SOL sentiment: bullish, buzz 8/10. Traders expect an ETF.";
  const mood = sourceOfWords({ says, observedAt: at, name: modelNamed("social sentiment") });
  const told = {
    since: started(2.344, "BTC price since the shift began: +2.344 %", "percent"),
    sinceFrom: started(103_025, "BTC price when the shift began: 103,025 USD", "USD"),
    mood: [mood],
  };
  return Object.entries(told).flatMap(([key, sources]) =>
    sources.map((one): [string, Uncounted] => [key, one]),
  );
}

function sceneOf({ title, text }: { title: string; text: string }): [string, Scene] {
  const [name = "", stamp = ""] = title.split(" ");
  const at = Date.parse(stamp);
  const facts = text.split("\n").flatMap((line) => factsIn(line, at));
  const told = facts.filter(({ kind }) => kind !== "name");
  const keyed: [string, Uncounted][] = [
    ...told.map((fact): [string, Uncounted] => [`${fact.subject}.${fact.kind}`, sourceOfFact(fact)]),
    ...extras(at),
  ];
  const sources = counted(keyed.map(([, source]) => source));
  const keys = new Map<string, number>();
  // A second headline is `market.headline2`.
  for (const [index, [key]] of keyed.entries()) keys.set(keys.has(key) ? `${key}2` : key, index + 1);
  return [name, { at, sources, keys, ledger: ledgerOf(sources, at, { names: namesOf(facts) }) }];
}

const SCENES = new Map(partsOf("scenes").map(sceneOf));

export function sceneNamed(name: string): Scene {
  const scene = SCENES.get(name);
  if (scene === undefined) throw new Error(`There is no scene ${name}`);
  return scene;
}

/** A text as a writer sends it: `[BTC.price]` is `[f1]`, by the numbers that the prompt gave. */
export function numbered(text: string, { keys }: Scene): string {
  return text.replace(/[[{][a-zA-Z\d][^\]}]*[\]}]/g, (whole) =>
    whole.replace(/[a-zA-Z][a-zA-Z\d]*(?:\.[a-zA-Z\d]+)?/g, (key) => {
      const number = keys.get(key);
      if (number === undefined && key.includes(".")) throw new Error(`The scene has no ${key}`);
      return number === undefined ? key : `f${number}`;
    }),
  );
}

/** `isWhole`: a report; others are paragraphs of one. */
export type Report = { name: string; language: string; scene: Scene; point: "." | ","; text: string };

function reportOf(language: string, scene: string, name: string, text: string): Report {
  const found = sceneNamed(scene);
  const point = /^(?:de|es|fr|pt)$/.test(language) ? "," : ".";
  return {
    name: `${language} ${scene}, ${name}`,
    language,
    scene: found,
    point,
    text: numbered(text, found),
  };
}

const FILES = ["en-up", "en-down", "de-up", "es-up", "fr-down", "pt-up", "zh-down"] as const;

/** Each by one hand, as it was written. */
export function writings(): Report[] {
  const paragraphs = FILES.flatMap((file) => {
    const [language = "", scene = ""] = file.split("-");
    return partsOf(file).map(({ title, text }, index) =>
      reportOf(language, scene, `${title} ${index}`, text),
    );
  });
  const others = [...partsOf("reports"), ...partsOf("heldout")].map(({ title, text }, index) => {
    const [language = "", scene = ""] = title.split(" ");
    return reportOf(language, scene, `report ${index}`, text);
  });
  return [...paragraphs, ...others];
}

/** Whole reports, put together of a paragraph on each subject, no two alike. */
export function mixtures(each = 18): Report[] {
  return FILES.flatMap((file) => {
    const [language = "", scene = ""] = file.split("-");
    const parts = partsOf(file);
    const subjects = [...new Set(parts.map(({ title }) => title))];
    return Array.from({ length: each }, (_, index) => {
      const texts = subjects.map((subject, place) => {
        const own = parts.filter(({ title }) => title === subject);
        // A prime step through all mixtures meets none twice.
        const hand = Math.floor(((index + 1) * 7_919) / own.length ** place) % own.length;
        return own[hand]?.text ?? "";
      });
      return reportOf(language, scene, `mixture ${index}`, texts.join("\n\n"));
    });
  });
}
