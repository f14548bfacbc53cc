import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type QueryCtx } from "../../_generated/server";
import { standing, vStanding } from "../../market/facts";
import { keyOf, LISTS, slotOf } from "../../market/facts";
import { factsIn } from "../../market/facts";
import type { Kind } from "../../lib/facts";
import type { Wanted } from "../../market/tables";
import { MAJORS } from "../../lib/money/tokens";
import { withoutCitations } from "../../lib/text/strings";
import { HOUR, iso } from "../../lib/time";
import { latestAlerts } from "../../whales/model";
import { latestReportOn } from "../model";
import { resultOn } from "../results";
import { vMarketOutput, vMissing, vPath, vSentimentOutput, type Path } from "../tables";
import { SHARED_FOR_MS } from "../timing";
import { vOnchainOutput } from "../validators";

/** What a report is written from, read in one transaction. */

/** Older facts and answers say nothing about the present. */
const GOOD_MS = 2 * HOUR;
/** How many of the models' latest answers a report gets, and how many tokens and movements. */
const LAST_CYCLES = 2;
const PERSISTENT = 10;
const WHALES = 5;
const WHALES_WITHIN_MS = 4 * HOUR;
/** Twelve hours. It is a limit because a row of every coin's figures is large. */
const MOST_SLOTS = 25;
/** Fewer points of one source are no path. */
const ENOUGH_POINTS = 3;

/** Everything that is collected for a report on a focus ("" for the whole market). */
export function wantedFor(focus: string): Wanted[] {
  const coins = [...new Set([...MAJORS, ...(focus === "" ? [] : [focus])])];
  return [
    ...LISTS,
    ...coins.flatMap((subject): Wanted[] => [
      { collector: "day", subject },
      { collector: "book", subject },
      { collector: "candles", subject },
    ]),
    { collector: "perpetuals", subject: "" },
    { collector: "base", subject: "" },
    { collector: "news", subject: focus },
  ];
}

const vMaterial = v.object({
  ...vStanding.fields,
  /** Symbols seen in the most collections, most persistent first, and how many collections there were. */
  persistent: v.array(v.object({ symbol: v.string(), cycles: v.number() })),
  cycles: v.number(),
  /** The latest answer. */
  market: v.union(vMarketOutput.pick("movers").extend({ at: v.number() }), v.null()),
  /** The last two answers, oldest first. */
  sentiment: v.array(vSentimentOutput.extend({ at: v.number() })),
  onchain: v.array(vOnchainOutput.extend({ at: v.number() })),
  missing: v.array(vMissing),
  /** The largest movements on chain of the last hours. */
  whales: v.array(
    v.object({
      token: v.string(),
      words: v.string(),
      usd: v.number(),
      at: v.number(),
      txHash: v.optional(v.string()),
    }),
  ),
  /** The focus first. Empty without a shift. */
  paths: v.array(vPath),
  /** The last report on the focus, in a line. */
  previous: v.union(v.string(), v.null()),
});
export type Material = Infer<typeof vMaterial>;

export const material = internalQuery({
  args: {
    focus: v.string(),
    /** Oldest first. */
    observationIds: v.array(v.id("observations")),
    /** When the shift began; `null` without one. */
    startedAt: v.union(v.number(), v.null()),
    at: v.number(),
  },
  returns: vMaterial,
  handler: async (ctx, { focus, observationIds, startedAt, at: now }): Promise<Material> => {
    const rows = await Promise.all(observationIds.map((id) => ctx.db.get("observations", id)));
    const observations = rows.flatMap((row) => (row === null ? [] : [row]));
    const fresh = observations.filter(({ at }) => now - at < GOOD_MS);
    const timed = <Output>(pick: (row: Doc<"observations">) => Output | undefined) =>
      fresh.flatMap((row) => {
        const output = pick(row);
        return output === undefined ? [] : [{ ...output, at: row.at }];
      });
    const [market] = timed((row) => row.market && { movers: row.market.movers }).slice(-1);
    return {
      ...(await standing(ctx, { wanted: wantedFor(focus), withinMs: GOOD_MS, at: now })),
      persistent: persistentIn(observations),
      cycles: observations.length,
      market: market ?? null,
      sentiment: timed((row) => row.sentiment).slice(-LAST_CYCLES),
      onchain: timed((row) => row.onchain).slice(-LAST_CYCLES),
      missing: observations.at(-1)?.missing ?? [],
      whales: await whalesOn(ctx, focus, now),
      paths: startedAt === null ? [] : await pathsOf(ctx, focus, startedAt, now),
      previous: await previousOn(ctx, focus),
    };
  },
});

function persistentIn(observations: readonly Doc<"observations">[]): Material["persistent"] {
  const seen = new Map<string, { symbol: string; cycles: number; rank: number }>();
  for (const { market } of observations) {
    for (const { symbol, rank } of market?.trending ?? [])
      seen.set(symbol, { symbol, cycles: (seen.get(symbol)?.cycles ?? 0) + 1, rank });
  }
  return [...seen.values()]
    .sort((a, b) => b.cycles - a.cycles || a.rank - b.rank)
    .slice(0, PERSISTENT)
    .map(({ symbol, cycles }) => ({ symbol, cycles }));
}

/** The largest measured movements; no model's. */
async function whalesOn(ctx: QueryCtx, focus: string, now: number): Promise<Material["whales"]> {
  const alerts = await latestAlerts(ctx, now - WHALES_WITHIN_MS);
  return alerts
    .filter(({ movement, token }) => movement !== undefined && (focus === "" || token === focus))
    .sort((a, b) => b.amount - a.amount)
    .slice(0, WHALES)
    .map(({ token, description: words, amount: usd, detectedAt: at, txHash }) => {
      return { token, words, usd, at, ...(txHash === undefined ? {} : { txHash }) };
    });
}

/** How the focus, and a major beside it, have moved since a shift began. */
async function pathsOf(ctx: QueryCtx, focus: string, from: number, to: number): Promise<Path[]> {
  const tokens = focus === "" ? ["BTC", "ETH"] : [focus, focus === "BTC" ? "ETH" : "BTC"];
  const paths = await Promise.all(
    tokens.map(async (token) => {
      // The two are not mixed: in a quiet hour they differ by more than a price moves.
      const traded = await pathIn(ctx, { collector: "day", subject: token }, "lastTrade", token, from, to);
      return traded ?? (await pathIn(ctx, { collector: "markets", subject: "" }, "price", token, from, to));
    }),
  );
  return paths.flatMap((path) => path ?? []);
}

async function pathIn(
  ctx: QueryCtx,
  wanted: Wanted,
  kind: Kind,
  token: string,
  from: number,
  to: number,
): Promise<Path | null> {
  // The first collection may have found facts that were young enough.
  const since = from - SHARED_FOR_MS;
  const rows = await ctx.db
    .query("facts")
    .withIndex("by_key", (q) => q.eq("key", keyOf(wanted)).gte("slot", slotOf(since)).lte("slot", slotOf(to)))
    .take(MOST_SLOTS);
  const facts = rows.flatMap((row) => {
    if (row.collectedAt < since || row.collectedAt > to) return [];
    const fact = factsIn(row).find((one) => one.subject === token && one.kind === kind);
    return typeof fact?.value === "number" ? [{ ...fact, value: fact.value }] : [];
  });
  const [first] = facts;
  if (first === undefined || facts.length < ENOUGH_POINTS) return null;
  const points = facts.map(({ value: usd, observedAt: at }) => ({ at, usd }));
  return { token, source: first.source, url: first.url, points };
}

/** The last report or on-demand result on a focus, in a line. */
async function previousOn(ctx: QueryCtx, focus: string): Promise<string | null> {
  const rows = [await latestReportOn(ctx, focus), await resultOn(ctx, { focus })];
  const [latest] = rows
    .flatMap((row) => (row?.result === undefined ? [] : [{ at: row.generatedAt, result: row.result }]))
    .sort((a, b) => b.at - a.at);
  if (latest === undefined) return null;
  const { at, result } = latest;
  // Its figures are from another time and must not be repeated.
  return `${iso(at)}, ${result.marketOutlook}: ${withoutCitations(result.shortSummary)}`;
}
