import { v, type Infer, type ObjectType } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { buildFacts, vFact, vSource, type Fact, type FactKind } from "../../figures/facts";
import {
  numberSources,
  isModels,
  nameModelSource,
  toSource,
  toStatementSource,
  type UnnumberedSource,
} from "../../figures/citations";
import { describeSources } from "../../figures/evidence";
import { MAJORS } from "../../lib/money/coins";
import { SOURCE_NAMES } from "../../figures/publicSources";
import { listKeys } from "../../lib/objects";
import { HOUR, MINUTE } from "../../lib/time";
import { LISTS, getFactsAt, withoutRepeats } from "../../market/facts";
import type { CollectionRequest, Collector } from "../../market/tables";
import { listLatestAlerts } from "../../whales/model";
import { describeMissing, SHARED_FOR_MS } from "../model";
import { MODELS, vMissingSource, type MissingSource, type Model } from "../tables";

/** The brief of a report: numbered facts, statements of models, and missing sources, read in one transaction. */

/** Older facts and answers do not describe the present. */
const GOOD_MS = 2 * HOUR;

/** How many of each model's latest answers a shift's report gets; another one gets the latest. */
const LAST_CYCLES = 2;
/** How many coins, headlines and movements a report gets. */
const SEARCHED = 8;
const PERSISTENT = 10;
const HEADLINES = 6;
const WHALES = 5;
const WHALES_WITHIN_MS = 4 * HOUR;

/** The time within which a shift's first collection has its facts. */
const COLLECTED_MS = 2 * MINUTE;

/** The collections for a report on a focus ("" for the whole market). */
export function listCollectionsFor(focus: string): CollectionRequest[] {
  return [
    ...LISTS,
    ...listCoins(focus).flatMap((subject): CollectionRequest[] => [
      { collector: "day", subject },
      { collector: "book", subject },
      { collector: "candles", subject },
    ]),
    { collector: "perpetuals", subject: "" },
    { collector: "base", subject: "" },
    { collector: "news", subject: focus },
  ];
}

const listCoins = (focus: string): string[] => [...new Set([...(focus === "" ? [] : [focus]), ...MAJORS])];

export const vMaterial = {
  focus: v.string(),
  /** Oldest first. */
  observationIds: v.array(v.id("observations")),
  /** When the shift began; absent without one. */
  startedAt: v.optional(v.number()),
};
export type Material = ObjectType<typeof vMaterial>;

const vBrief = v.object({
  focus: v.string(),
  sources: v.array(vSource),
  /** One fact of each subject that a report may mention, for its name. */
  nameFacts: v.array(vFact),
  /** Whether there is a price that is not a model's. */
  isPriced: v.boolean(),
  /** The opening sentence, written by code: the move of the focus since the shift began. */
  lead: v.optional(v.string()),
  missing: v.array(vMissingSource),
});
export type Brief = Infer<typeof vBrief>;

export const readBrief = internalQuery({
  args: { ...vMaterial, at: v.number() },
  returns: vBrief,
  handler: async (ctx, { focus, observationIds, startedAt, at }): Promise<Brief> => {
    const rows = await Promise.all(observationIds.map((id) => ctx.db.get("observations", id)));
    const requested = listCollectionsFor(focus);
    const now = await getFactsAt(ctx, { requested, withinMs: GOOD_MS, at });
    return buildBrief(focus, {
      ...now,
      observations: rows.flatMap((row) => row ?? []),
      whales: await listLatestAlerts(ctx, at - WHALES_WITHIN_MS),
      moves: startedAt === undefined ? [] : await readMoves(ctx, focus, startedAt, now.facts),
      cycles: startedAt === undefined ? 1 : LAST_CYCLES,
      at,
    });
  },
});

type Read = {
  facts: readonly Fact[];
  absent: readonly CollectionRequest[];
  /** Oldest first. */
  observations: readonly Doc<"observations">[];
  whales: readonly Pick<
    Doc<"whaleAlerts">,
    "token" | "description" | "amount" | "detectedAt" | "txHash" | "movement"
  >[];
  moves: readonly UnnumberedSource[];
  /** How many of each model's latest answers. */
  cycles: number;
  at: number;
};

/** Pure. */
export function buildBrief(focus: string, read: Read): Brief {
  const { absent, observations, moves, cycles, whales, at } = read;
  const facts = withoutRepeats(read.facts);
  const recent = observations.filter((one) => at - one.at < GOOD_MS);
  const figures = (subject: string) =>
    facts.filter((fact) => fact.subject === subject && typeof fact.value === "number");
  const chosen = new Set([
    ...[...listCoins(focus), "market", "Base"].flatMap(figures),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
    ...listMovers(recent, focus),
  ]);
  const subjects = new Map(facts.map((fact) => [fact.subject, fact]));
  for (const fact of facts) if (fact.kind === "name") subjects.set(fact.subject, fact);
  const [moved] = moves;
  return {
    focus,
    sources: numberSources([
      ...moves,
      ...Array.from(chosen, (fact) => toSource(fact)),
      ...listWhaleSources(whales, focus),
      ...listPersistentSources(observations),
      ...listModelSources(recent, cycles),
    ]),
    nameFacts: [...subjects.values()],
    isPriced: facts.some(({ kind }) => kind === "price" || kind === "lastTrade"),
    ...(moved === undefined
      ? {}
      : { lead: `${moved.fact.subject} since the shift began: {f1}, from {f2} to {f3}.` }),
    missing: listMissing(
      recent,
      absent,
      observations.flatMap((one) => one.missing),
    ),
  };
}

/** The largest movers of the latest market data: two facts each. */
function listMovers(observations: Read["observations"], focus: string): Fact[] {
  const observation = observations.findLast(({ market }) => market !== undefined);
  return (observation?.market?.movers ?? [])
    .filter(({ symbol }) => !listCoins(focus).includes(symbol))
    .flatMap(({ symbol: subject, price, change24h, source }) => {
      const name = source === "model" ? nameModelSource("market data") : SOURCE_NAMES[source];
      return buildFacts(
        { subject, observedAt: observation?.at ?? 0, source: name, url: "" },
        { price, change24h },
      );
    });
}

/** The largest measured movements; none from a model. */
function listWhaleSources(whales: Read["whales"], focus: string): UnnumberedSource[] {
  return whales
    .filter(({ movement, token }) => movement !== undefined && (focus === "" || token === focus))
    .sort((a, b) => b.amount - a.amount)
    .slice(0, WHALES)
    .map(({ token: subject, description, amount: value, detectedAt: observedAt, txHash }) => {
      const url = txHash === undefined ? "" : `https://basescan.org/tx/${txHash}`;
      const by = { source: "Base, measured by this service", url, observedAt };
      return toSource({ ...by, subject, kind: "moved", value }, `${subject} on Base: ${description}`);
    });
}

/** The trending tokens in most of the collections. */
function listPersistentSources(observations: Read["observations"]): UnnumberedSource[] {
  const counts = new Map<string, number>();
  const markets = observations.flatMap(({ market }) => market ?? []);
  for (const { symbol } of markets.flatMap(({ trending }) => trending))
    counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  const last = observations.at(-1);
  if (last === undefined || markets.length < 2) return [];
  const listed = [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, PERSISTENT)
    .map(([symbol, cycles]) => `${symbol} in ${cycles} of ${markets.length}`);
  const says = `Most persistent trending tokens, by the collections that saw them: ${listed.join(", ")}`;
  return [toStatementSource({ says, observedAt: last.at, name: "counted by this service" })];
}

/** Statements of models are sources with the model's name, which a citation leads to. */
function listModelSources(observations: Read["observations"], cycles: number): UnnumberedSource[] {
  const answered = (model: Model) => observations.filter((one) => one[model] !== undefined).slice(-cycles);
  return [
    ...answered("sentiment").flatMap(listSentimentSources),
    ...answered("onchain").flatMap(listOnchainSources),
  ];
}

function listSentimentSources({ at: observedAt, sentiment }: Doc<"observations">): UnnumberedSource[] {
  if (sentiment === undefined) return [];
  const { overall, tokens, degraded, citations } = sentiment;
  const name = nameModelSource(`social sentiment${degraded ? ", made without a live search" : ""}`);
  const by = { observedAt, name, url: citations[0] ?? null };
  return [
    toStatementSource({ ...by, says: `Social sentiment: ${overall}`, words: overall }),
    ...tokens.flatMap(({ token: subject, sentiment: mood, narrative: words, buzz }) => {
      const facts = buildFacts({ subject, observedAt, source: name, url: by.url ?? "" }, { buzz });
      const says = `${subject} sentiment: ${mood}. ${words}`;
      return [toStatementSource({ ...by, says, words }), ...facts.map((fact) => toSource(fact))];
    }),
  ];
}

function listOnchainSources({ at: observedAt, onchain }: Doc<"observations">): UnnumberedSource[] {
  if (onchain === undefined) return [];
  const { summary, signals } = onchain;
  const by = { observedAt, name: nameModelSource("on-chain signals") };
  return [
    toStatementSource({ ...by, says: `On-chain signals: ${summary}`, words: summary }),
    ...signals.map(({ token, kind, direction, detail: words }) =>
      toStatementSource({ ...by, says: `${token} ${kind}, ${direction}: ${words}`, words }),
    ),
  ];
}

/** The missing sources, each once, with the reason. */
function listMissing(
  observations: Read["observations"],
  absent: readonly CollectionRequest[],
  reported: MissingSource[],
): MissingSource[] {
  const silent = listKeys(MODELS).filter((source) => observations.every((one) => one[source] === undefined));
  return [...silent.map((collector) => ({ collector, subject: "" })), ...absent].map(
    ({ collector, subject }) => {
      const entry = reported.findLast((one) => one.collector === collector && one.subject === subject);
      return { collector, subject, reason: entry?.reason ?? "It has not come yet" };
    },
  );
}

/** The collections with the price of a token, by the kind of fact. */
const PRICED_BY = { lastTrade: "day", price: "markets" } as const satisfies Partial<
  Record<FactKind, Collector>
>;

/**
 * How the focus, or the largest coin, has moved since a shift began: three facts, of which the first is computed. Both
 * prices are of one source: in a quiet hour sources differ by more than a price moves.
 */
async function readMoves(
  ctx: QueryCtx,
  focus: string,
  startedAt: number,
  now: readonly Fact[],
): Promise<UnnumberedSource[]> {
  const token = focus === "" ? "BTC" : focus;
  // The first collection may have reused recent facts, and takes a moment.
  const begun = { withinMs: SHARED_FOR_MS + COLLECTED_MS, at: startedAt + COLLECTED_MS };
  for (const kind of listKeys(PRICED_BY)) {
    const of = (facts: readonly Fact[]) => facts.filter((one) => one.subject === token && one.kind === kind);
    const collector = PRICED_BY[kind];
    const requested = [{ collector, subject: collector === "day" ? token : "" }];
    const before = of((await getFactsAt(ctx, { ...begun, requested })).facts);
    const first = before.find(({ source }) => of(now).some((one) => one.source === source));
    const last = of(now).find(({ source }) => source === first?.source);
    if (first === undefined || last === undefined) continue;
    const value = (Number(last.value) / Number(first.value) - 1) * 100;
    return [
      toSource({ ...last, kind: "sinceStart", value }),
      toSource({ ...first, kind: "startPrice" }),
      toSource({ ...last, kind: "price" }),
    ];
  }
  return [];
}

/** The brief as the writer reads it. @param now Epoch ms. */
export function describeBrief({ sources, missing }: Brief, now: number): string {
  const observed = sources.filter((source) => !isModels(source));
  const statements = sources.filter(isModels);
  return [
    "Facts, observed by this service:",
    observed.length === 0 ? "none could be collected" : describeSources(observed, now),
    ...(statements.length === 0
      ? []
      : [
          "Said by language models and observed by nobody; call it reported:",
          describeSources(statements, now),
        ]),
    ...missing.map((one) => `Missing: ${describeMissing(one)}: ${one.reason}`),
  ].join("\n");
}
