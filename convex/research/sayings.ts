import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import type { Readings, Settled, Sources, SourcesKept } from "./shapes";
import { moversIn, persistentTokens } from "./writing/readings";

/** The sources' answers, in rows of their own: checking an observation's progress does not read them. */

type Ctx = Pick<QueryCtx, "db">;
type Row = Doc<"sourceReadings">;
type Answer = { state: "ok"; at: number; model: string; tokensUsed: number };
type StoredSource<Output> =
  | Exclude<Sources["facts"], { state: "ok" }>
  | (Answer & { output: Output })
  | (Answer & { readingId: Id<"sourceReadings"> });
type Whole<Output> = Exclude<StoredSource<Output>, { readingId: unknown }>;

/** How many of the models' readings a report gets. */
const LAST_CYCLES = 2;

/** The sources of an observation after one more has settled. A settled source keeps its first outcome. */
export async function withSettled(
  { db }: Pick<MutationCtx, "db">,
  sources: SourcesKept,
  settled: Settled,
): Promise<SourcesKept> {
  if (sources[settled.source].state !== "pending") return sources;
  if (settled.source === "facts" || settled.reading.state === "failed")
    return { ...sources, [settled.source]: settled.reading };
  const { source, reading } = settled;
  const { output, ...said } = reading;
  const readingId = await db.insert("sourceReadings", { [source]: output });
  const ranks = "trending" in output ? { ranks: ranksOf(output.trending) } : {};
  return { ...sources, [source]: { ...said, readingId, ...ranks } };
}

/** The sources of an observation with their answers. */
export async function wholeOf(
  ctx: Ctx,
  { market, sentiment, onchain, facts }: SourcesKept,
): Promise<Sources> {
  return {
    market: await filled(ctx, market, (row) => row.market),
    sentiment: await filled(ctx, sentiment, (row) => row.sentiment),
    onchain: await filled(ctx, onchain, (row) => row.onchain),
    facts,
  };
}

/** The combined readings of observations, oldest first; a failed source contributes nothing. */
export async function readingsOf(ctx: Ctx, observations: readonly SourcesKept[]): Promise<Readings> {
  const last = async <Output>(
    kept: readonly StoredSource<Output>[],
    most: number,
    pick: (row: Row) => Output | undefined,
  ) => {
    const readings: { at: number; output: Output }[] = [];
    for (const one of kept.toReversed()) {
      if (readings.length === most) break;
      const whole = await filled(ctx, one, pick);
      if (whole.state === "ok") readings.unshift({ at: whole.at, output: whole.output });
    }
    return readings;
  };
  const markets = observations.map(({ market }) => market);
  const [market = null] = await last(markets, 1, (row) => row.market);
  return {
    market,
    movers: moversIn(market),
    persistent: persistentTokens(
      markets.map((one) =>
        one.state !== "ok" ? [] : "ranks" in one ? one.ranks : ranksOf(one.output.trending),
      ),
    ),
    sentiment: await last(
      observations.map(({ sentiment }) => sentiment),
      LAST_CYCLES,
      (row) => row.sentiment,
    ),
    onchain: await last(
      observations.map(({ onchain }) => onchain),
      LAST_CYCLES,
      (row) => row.onchain,
    ),
    cycles: observations.length,
    facts: observations.at(-1)?.facts ?? null,
  };
}

async function filled<Output>(
  { db }: Ctx,
  kept: StoredSource<Output>,
  pick: (row: Row) => Output | undefined,
): Promise<Whole<Output>> {
  if (!("readingId" in kept)) return kept;
  const { readingId, at, model, tokensUsed } = kept;
  const row = await db.get("sourceReadings", readingId);
  const output = row === null ? undefined : pick(row);
  if (output === undefined) return { state: "failed", at, error: "Its answer is gone" };
  return { state: "ok", at, model, tokensUsed, output };
}

function ranksOf(trending: readonly { symbol: string; rank: number }[]) {
  return trending.map(({ symbol, rank }) => ({ symbol, rank }));
}
