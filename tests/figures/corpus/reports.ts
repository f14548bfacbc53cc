import { readFileSync } from "node:fs";
import {
  numberSources,
  buildCitationIndex,
  nameModelSource,
  toSource,
  toStatementSource,
  type CitationIndex,
  type UnnumberedSource,
} from "../../../convex/figures/citations";
import {
  buildFacts,
  KINDS,
  getUnit,
  type Fact,
  type FactKind,
  type Source,
} from "../../../convex/figures/facts";
import { listKeys } from "../../../convex/lib/objects";
import { indexNames } from "../../../convex/figures/mentions";
import { HOUR } from "../../../convex/lib/time";

/**
 * Texts written by hand, without a look at the code that reads them, and the moments that they were written from:
 * `[BTC.price]` cites a fact, `{BTC.price/ETH.price}` is a slot.
 */
export type Scene = { at: number; sources: Source[]; ledger: CitationIndex; keys: Map<string, number> };

/** A file's parts, `== title` before each. */
export function partsOf(file: string): { title: string; text: string }[] {
  const parts = readFileSync(new URL(`${file}.txt`, import.meta.url), "utf8").split(/^== /m);
  return parts.slice(1).map((part) => {
    const end = part.indexOf("\n");
    return { title: part.slice(0, end), text: part.slice(end + 1).trimEnd() };
  });
}

export function factOf(subject: string, kind: FactKind, value: number | string, observedAt: number): Fact[] {
  const by = { subject, observedAt, source: "CoinGecko", url: "https://example.org/figures" };
  return buildFacts(by, { [kind]: value });
}

/** What a line of a scene tells: `BTC: price 97250.5; change24h 3.21`. */
function factsIn(line: string, at: number): Fact[] {
  const [subject = "", told = ""] = line.split(/: (.*)/);
  return told.split("; ").flatMap((one) => {
    const [, name = "", value = ""] = /^(\w+) (.*)$/.exec(one) ?? [];
    const number = /^-?[\d.]+$/.test(value) ? Number(value) : value;
    return listKeys(KINDS).flatMap((kind) => (kind === name ? factOf(subject, kind, number, at) : []));
  });
}

/** A fact as the corpus names it: `BTC.price`. */
type Keyed = [key: string, source: UnnumberedSource];
const keyed = (fact: Fact): Keyed => [`${fact.subject}.${fact.kind}`, toSource(fact)];

/** `start` and `report` begin lines of what was so when a shift began and when its last report was written. */
function sceneOf({ title, text }: { title: string; text: string }): [string, Scene] {
  const [name = "", stamp = "", focus = ""] = title.split(" ");
  const at = Date.parse(stamp);
  const told = (word: string, when: number) =>
    [...text.matchAll(new RegExp(`^${word}([A-Za-z]+: .*)$`, "gm"))].flatMap(([, line = ""]) =>
      factsIn(line, when),
    );
  const facts = told("", at).filter(({ subject }) => subject !== "mood");
  const all = [
    ...facts.filter(({ kind }) => kind !== "name").map(keyed),
    ...computedFrom(facts, at),
    ...changesBetween(told("start ", at - 5 * HOUR), facts, "Start"),
    ...changesBetween(told("report ", at - 2.5 * HOUR), facts, "Report"),
    ...moodsIn(text, at),
  ];
  const sources = numberSources(all.map(([, source]) => source));
  const keys = new Map<string, number>();
  // A second headline is `market.headline2`.
  for (const [index, [key]] of all.entries()) keys.set(keys.has(key) ? `${key}2` : key, index + 1);
  const ledger = buildCitationIndex(sources, at, { names: indexNames(facts), focus });
  return [name, { at, sources, keys, ledger }];
}

/** What a model says of the mood: `mood: SOL bullish 8 Words. ETH …`. */
function moodsIn(text: string, observedAt: number): Keyed[] {
  const name = nameModelSource("social sentiment");
  const moods = text.matchAll(/(?<=^mood: .*)([A-Z]+) ([a-z]+) (\d+) ([^.]+\.)/gm);
  return [...moods].flatMap(([, subject = "", mood = "", buzz, words = ""]): Keyed[] => [
    [
      `${subject}.mood`,
      toStatementSource({ says: `${subject} sentiment: ${mood}. ${words}`, words, observedAt, name }),
    ],
    ...buildFacts({ subject, observedAt, source: name, url: "" }, { buzz: Number(buzz) }).map(keyed),
  ]);
}

/**
 * Facts that the corpus' writers were given besides the measured ones: comparisons, and changes since an earlier moment.
 * Each is of a kind of the same unit that the service has.
 */
const COMPUTED: readonly (readonly [
  name: string,
  kind: FactKind,
  from: readonly FactKind[],
  compute: (a: number, b: number) => number,
])[] = [
  ["toDayHigh", "result", ["lastTrade", "dayHigh"], (price, level) => (price / level - 1) * 100],
  ["toDayLow", "result", ["lastTrade", "dayLow"], (price, level) => (price / level - 1) * 100],
  ["bidShare", "confidence", ["bidDepth", "askDepth"], (bid, ask) => (100 * bid) / (bid + ask)],
  ["fundingYear", "resultAfterCosts", ["funding"], (rate) => rate * 24 * 365],
];

function computedFrom(facts: readonly Fact[], at: number): Keyed[] {
  const valueOf = (subject: string, kind: FactKind) => {
    const value = facts.find((one) => one.subject === subject && one.kind === kind)?.value;
    return typeof value === "number" ? value : Number.NaN;
  };
  const by = { source: "computed by this service", url: "", observedAt: at };
  const made = (subject: string, name: string, kind: FactKind, value: number): Keyed[] =>
    Number.isFinite(value) ? [[`${subject}.${name}`, toSource({ ...by, subject, kind, value })]] : [];
  const subjects = [...new Set(facts.map(({ subject }) => subject))];
  const risen = ["BTC", "ETH", "SOL"].filter((coin) => valueOf(coin, "change24h") > 0);
  return [
    ...subjects.flatMap((subject) =>
      COMPUTED.flatMap(([name, kind, [first, second], compute]) => {
        const a = first === undefined ? Number.NaN : valueOf(subject, first);
        const b = second === undefined ? 0 : valueOf(subject, second);
        return made(subject, name, kind, compute(a, b));
      }),
    ),
    ...made("market", "majorsRising", "trades", risen.length),
    ...made("ETH", "ethBtc", "trendingPlace", valueOf("ETH", "price") / valueOf("BTC", "price")),
  ];
}

/** `BTC.priceStart`, the change of a fact since then, and `BTC.priceStartFrom`, what it was. */
function changesBetween(
  earlier: readonly Fact[],
  later: readonly Fact[],
  since: "Start" | "Report",
): Keyed[] {
  return earlier.flatMap((before): Keyed[] => {
    const { subject, kind } = before;
    const after = later.find((one) => one.subject === subject && one.kind === kind);
    if (getUnit(kind) !== "USD" || typeof before.value !== "number" || typeof after?.value !== "number")
      return [];
    const value = (after.value / before.value - 1) * 100;
    const moved: Fact = { ...after, kind: "sinceStart", value, source: "computed by this service" };
    return [
      [`${subject}.${kind}${since}`, toSource(moved)],
      [`${subject}.${kind}${since}From`, toSource(before)],
    ];
  });
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

/** A whole report, or a paragraph of one. */
export type Report = { name: string; scene: Scene; text: string };

/** Paragraphs by their subject; and whole reports, each by one hand, as it was written. */
const FILES = ["paragraphs", "reports", "heldout", "blind", "second"];

/** The parts of these files; each is titled with its language and its scene. */
export function writings(files = FILES): Report[] {
  return files.flatMap((file) =>
    partsOf(file).map(({ title, text }, at) => {
      const scene = sceneNamed(title.split(" ")[1] ?? "");
      return { name: `${title}, ${file} ${at}`, scene, text: numbered(text, scene) };
    }),
  );
}
