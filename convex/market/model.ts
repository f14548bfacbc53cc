import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { ActionCtx, QueryCtx } from "../_generated/server";
import { internal } from "../_generated/api";
import { gather } from "../evidence/collecting";
import { coinsNamed, searchedCoins } from "./lists";
import { LISTS } from "../evidence/model";
import type { Fact } from "../evidence/tables";
import type { Payer } from "../lib/budget";
import { deadlines } from "../lib/deadlines";
import { log } from "../lib/log";
import { awaitRefresh } from "../lib/refreshes";
import { iso, MINUTE } from "../lib/time";
import { freshQuotes } from "../prices/quotes";
import { completeStructured } from "../providers/structured";
import { ground, references, sourcesAlone, type Observed } from "./grounding";
import { snapshotQuestion } from "./prompts";
import type { MarketFigures, MarketSource, RowSource } from "./tables";
import type { readBack } from "./written";

/** The stored row of a focus ("" for the whole market), however old. */
export async function latestRow(ctx: QueryCtx, focus: string): Promise<Doc<"marketSnapshots"> | null> {
  return getOneFrom(ctx.db, "marketSnapshots", "by_focus", focus);
}

/**
 * The whole market's snapshot, however old; one older than `freshMs` is made anew first, and waited for so long at most.
 * For actions.
 * @param forService Whether it is made at the service's own cost.
 * @throws AppError `upstream` when the gateway was asked and failed; `rate_limited` when too much is being asked for.
 */
export async function recentMarket(
  ctx: ActionCtx,
  { freshMs, waitMs, forService }: { freshMs: number; waitMs: number; forService: boolean },
): Promise<ReturnType<typeof readBack> | null> {
  const read = () => ctx.runQuery(internal.market.snapshots.current, { focus: "" });
  const stored = await read();
  if (stored !== null && Date.now() - stored.fetchedAt <= freshMs) return stored;
  const begun = { focus: "", caller: { address: null }, forService };
  const ticket = await ctx.runMutation(internal.market.snapshots.begin, begun);
  await awaitRefresh(ctx, ticket, AbortSignal.timeout(waitMs));
  return read();
}

export type AskedMarket = {
  figures: MarketFigures;
  /** The sources the figures were held against; empty when none was within reach. */
  sources: MarketSource[];
  /** How many of the model's prices were replaced by a source's. */
  replaced: number;
  model: string;
  /** The gateway's answer as it came. */
  raw: string;
  tokensUsed: number;
};

/** Lists as old as this are no live market: rows fall back on the model. */
const LISTS_GOOD_MS = 10 * MINUTE;

/**
 * Asks the LLM gateway for the market: the one place where a snapshot is made. The model is told what the sources say,
 * and what they cover is theirs in the answer.
 * @param focus Token symbol, or "" for the whole market.
 * @throws AppError `upstream` when the gateway fails; without any source the answer stands as it came, marked as the model's.
 */
export async function askForMarket(ctx: ActionCtx, focus: string, payer: Payer): Promise<AskedMarket> {
  const observed = await observedSoon(ctx);
  const question = snapshotQuestion(focus, iso(Date.now()), describeObserved(observed));
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const answer = await completeStructured(ctx, question, patience);
  // A list that came while the model was writing counts as well.
  const grounded = ground(answer.value, { ...observed, facts: await listFacts(ctx) });
  if (grounded.replaced > 0) log.warn("market.prices replaced", { focus, replaced: grounded.replaced });
  return { ...grounded, model: answer.model, raw: answer.text, tokensUsed: answer.tokensUsed };
}

/** The `model` of a snapshot that its sources made alone. */
export const NO_MODEL = "none";

/** The market as its sources tell it, without asking a model; `null` where they do not tell all of it. */
export async function marketOfSources(
  ctx: ActionCtx,
  focus: string,
): Promise<Pick<AskedMarket, "figures" | "sources" | "replaced" | "model"> | null> {
  const told = sourcesAlone(await observedSoon(ctx), focus);
  return told === null ? null : { ...told, replaced: 0, model: NO_MODEL };
}

/** What the sources say by now: quotes and lists are asked together, and neither is waited for longer than the deadline. */
export async function observedSoon(ctx: ActionCtx): Promise<Observed> {
  const [quoted] = await Promise.all([
    freshQuotes(ctx),
    gather(ctx, LISTS, { freshMs: MINUTE, waitMs: deadlines.grounding }),
  ]);
  return { quoted, facts: await listFacts(ctx) };
}

async function listFacts(ctx: ActionCtx): Promise<Fact[]> {
  const wanted = { wanted: [...LISTS], withinMs: LISTS_GOOD_MS };
  return (await ctx.runQuery(internal.evidence.collecting.latest, wanted)).facts;
}

/** What the sources say of the coins they know, in one line for the prompt; `null` when none is within reach. */
export function describeObserved(observed: Observed): string | null {
  const known = [...references(observed)].map(([symbol, { usd, change24h }]) => {
    const change = change24h === null ? "" : ` (${signed(change24h)} % over 24 hours)`;
    return `${symbol} ${usd} USD${change}`;
  });
  const searched = searchedCoins(observed.facts).map(({ symbol }) => symbol);
  const trending = searched.length === 0 ? "" : `; most searched on CoinGecko: ${searched.join(", ")}`;
  return known.length === 0 ? null : known.join(", ") + trending;
}

/** How large the coins are that a question names, in one line for the prompt; `null` where no list knows them. */
export function describeSizes(question: string, { facts }: Observed): string | null {
  const sizes = coinsNamed(question, facts).map(
    ({ symbol, rank, marketCap, volume24h }) =>
      `${symbol} rank ${rank}, market capitalisation ${marketCap} USD, volume over 24 hours ${volume24h} USD`,
  );
  return sizes.length === 0 ? null : sizes.join("; ");
}

/** A snapshot in a few lines, for a prompt. What only a model said is called so. */
export function describeMarket(snapshot: { fetchedAt: number; figures: MarketFigures }): string {
  const { trending, top20 } = snapshot.figures;
  const change = (coin: { change24h: number; source: RowSource }) =>
    `(${signed(coin.change24h)} %, ${coin.source})`;
  return [
    `As of ${iso(snapshot.fetchedAt)}, each with its source: ${describeKeyPrices(snapshot.figures)}`,
    `Trending: ${trending.map((coin) => `${coin.symbol} ${change(coin)}`).join(", ")}`,
    `Largest: ${top20.map((coin) => `${coin.symbol} $${coin.price} ${change(coin)}`).join(", ")}`,
  ].join("\n");
}

export function describeKeyPrices({ keyPrices }: MarketFigures): string {
  const price = (name: string, row: MarketFigures["keyPrices"]["bitcoin"]) =>
    `${name} $${row.usd} (${signed(row.usd_24h_change)} %, ${row.source})`;
  const { bitcoin, ethereum, solana } = keyPrices;
  return [price("Bitcoin", bitcoin), price("Ethereum", ethereum), price("Solana", solana)].join(", ");
}

/** A percentage with its sign: `+1.5`, `-0.2`, `0`. */
export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value}`;
}
