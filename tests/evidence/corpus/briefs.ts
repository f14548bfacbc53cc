import { ledgerOf, type Source } from "../../../convex/evidence/facts";
import type { Fact } from "../../../convex/evidence/tables";
import { briefOf, type Brief } from "../../../convex/research/brief";
import { factsIn, partsOf, type Scene } from "./reports";

/** Mornings told as a whole prompt: what was so at a shift's begin and at its last report, and what a model says. */

const HOUR = 3_600_000;
const MOODS = ["bullish", "bearish", "neutral"] as const;

export function briefScenes(): [name: string, scene: Scene & { brief: Brief; focus: string }][] {
  return partsOf("briefs").map(({ title, text }) => {
    const [name = "", stamp = "", focus = ""] = title.split(" ");
    const at = Date.parse(stamp);
    const lines = text.split("\n");
    const told = (word: string, when: number) =>
      lines.filter((line) => line.startsWith(word)).flatMap((line) => factsIn(line.slice(word.length), when));
    const now = lines.filter((line) => !/^(?:start |report |mood:)/.test(line));
    const facts = now.flatMap((line) => factsIn(line, at));
    const brief = briefOf({
      ...{ focus, facts, previous: null, missing: [] },
      ...{ atStart: told("start ", at - 5 * HOUR), atReport: told("report ", at - 2.5 * HOUR) },
      readings: readingsIn(facts, lines.find((line) => line.startsWith("mood: ")) ?? "", at),
    });
    const { sources, names } = brief;
    const keys = new Map(sources.map((source) => [keyOf(source), source.id]));
    return [name, { at, sources, keys, brief, focus, ledger: ledgerOf(sources, at, { names }) }];
  });
}

/** The large movers, and what the line of moods says: `SOL bearish 8 Words. ETH …`. */
function readingsIn(facts: readonly Fact[], told: string, at: number) {
  const valueOf = (subject: string, kind: string) =>
    Number(facts.find((fact) => fact.subject === subject && fact.kind === kind)?.value);
  const movers = facts
    .filter(({ kind, subject }) => kind === "change24h" && !/^(?:BTC|ETH|SOL)$/.test(subject))
    .map(({ subject: symbol }) => ({ symbol, price: valueOf(symbol, "price"), source: "coingecko" as const }))
    .map((mover) => ({ ...mover, change24h: valueOf(mover.symbol, "change24h") }));
  const tokens = [...told.matchAll(/([A-Z]+) ([a-z]+) (\d+) ([^.]+\.)/g)].flatMap(
    ([, token = "", word, buzz, narrative = ""]) =>
      MOODS.filter((mood) => mood === word).map((sentiment) => ({ token, sentiment, buzz: Number(buzz), narrative })),
  );
  const output = { overall: "The mood is as the coins say.", tokens, degraded: false, citations: [] };
  const sentiment = tokens.length === 0 ? [] : [{ at, output }];
  return { persistent: [], movers, market: null, sentiment, onchain: [], cycles: 0 };
}

/** `BTC.price`, `BTC.priceStart` for its change since the shift began, `BTC.priceStartFrom` for what it was then. */
function keyOf({ about, unit, name, words, says, id }: Source): string {
  if (about === null) return /^([A-Z]+) sentiment/.test(says) ? `${says.split(" ")[0] ?? ""}.mood` : `words${id}`;
  const since = about.since === null ? "" : about.since === "start" ? "Start" : "Report";
  const isLevel = since !== "" && unit !== "percent";
  const twice = about.kind === "headline" && words !== null ? id : "";
  return `${about.subject}.${about.kind}${since}${isLevel ? "From" : ""}${twice}${name === "" ? "?" : ""}`;
}
