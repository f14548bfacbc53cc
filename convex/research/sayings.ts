import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import type { Readings, Settled, SourcesKept } from "./shapes";
import { moversIn, persistentTokens } from "./writing/readings";

/** The sources' answers, in rows of their own: checking an observation's progress does not read them. */

type Ctx = Pick<QueryCtx, "db">;
type Row = Doc<"sourceReadings">;
type Kept = SourcesKept["market" | "sentiment" | "onchain"];

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
  const { output, ...rest } = reading;
  const readingId = await db.insert("sourceReadings", { [source]: output });
  const ranks =
    "trending" in output ? { ranks: output.trending.map(({ symbol, rank }) => ({ symbol, rank })) } : {};
  return { ...sources, [source]: { ...rest, readingId, ...ranks } };
}

/** The combined readings of observations, oldest first; a failed source contributes nothing. */
export async function readingsOf({ db }: Ctx, observations: readonly SourcesKept[]): Promise<Readings> {
  const last = async <Output>(
    kept: readonly Kept[],
    most: number,
    pick: (row: Row) => Output | undefined,
  ) => {
    const readings: { at: number; output: Output }[] = [];
    for (const one of kept.toReversed()) {
      if (readings.length === most) break;
      const row = one.state === "ok" ? await db.get("sourceReadings", one.readingId) : null;
      const output = row === null ? undefined : pick(row);
      if (one.state === "ok" && output !== undefined) readings.unshift({ at: one.at, output });
    }
    return readings;
  };
  const markets = observations.map(({ market }) => market);
  const [market = null] = await last(markets, 1, (row) => row.market);
  return {
    market,
    movers: moversIn(market),
    persistent: persistentTokens(markets.map((one) => (one.state === "ok" ? one.ranks : []))),
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
