import type { Doc } from "../_generated/dataModel";
import type { ActionCtx, QueryCtx } from "../_generated/server";
import type { Payer } from "../lib/budget";
import { deadlines } from "../lib/deadlines";
import { log } from "../lib/log";
import { iso } from "../lib/time";
import { freshQuotes } from "../prices/quotes";
import type { QuoteSource } from "../prices/tables";
import { completeStructured } from "../providers/structured";
import { ground, references } from "./grounding";
import { snapshotQuestion } from "./prompts";
import type { MarketFigures, MarketSource } from "./tables";

/** The stored snapshot of a focus ("" for the whole market), however old. */
export async function latestSnapshot(ctx: QueryCtx, focus: string): Promise<Doc<"marketSnapshots"> | null> {
  return ctx.db
    .query("marketSnapshots")
    .withIndex("by_focus", (q) => q.eq("focus", focus))
    .unique();
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

/**
 * Asks the LLM gateway for the market: the one place where a snapshot is made. The model is told the live prices of the
 * coins that feeds and tickers know, and its own are held against them.
 * @param focus Token symbol, or "" for the whole market.
 * @throws AppError `upstream` when the gateway fails; without any price source the answer stands as it came.
 */
export async function askForMarket(ctx: ActionCtx, focus: string, payer: Payer): Promise<AskedMarket> {
  const quoted = await freshQuotes(ctx);
  const question = snapshotQuestion(focus, iso(Date.now()), describeQuotes(quoted));
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const answer = await completeStructured(ctx, question, patience);
  const grounded = ground(answer.value, quoted);
  if (grounded.replaced > 0) log.warn("market.prices replaced", { focus, replaced: grounded.replaced });
  return { ...grounded, model: answer.model, raw: answer.text, tokensUsed: answer.tokensUsed };
}

/** Live prices in one line, for the prompt; `null` when no source is within reach. */
export function describeQuotes(sources: readonly QuoteSource[]): string | null {
  const known = [...references(sources)].map(([symbol, { usd, change24h }]) => {
    const change = change24h === null ? "" : ` (${signed(change24h)} % over 24 hours)`;
    return `${symbol} ${usd} USD${change}`;
  });
  return known.length === 0 ? null : known.join(", ");
}

/** A snapshot in a few lines, for a prompt. */
export function describeMarket(snapshot: { fetchedAt: number; figures: MarketFigures }): string {
  const { trending, top20 } = snapshot.figures;
  return [
    `As of ${iso(snapshot.fetchedAt)}: ${describeKeyPrices(snapshot.figures)}`,
    `Trending: ${trending.map((coin) => `${coin.symbol} (${signed(coin.change24h)} %)`).join(", ")}`,
    `Largest: ${top20.map((coin) => `${coin.symbol} $${coin.price} (${signed(coin.change24h)} %)`).join(", ")}`,
  ].join("\n");
}

export function describeKeyPrices({ keyPrices }: MarketFigures): string {
  const price = (name: string, { usd, usd_24h_change }: { usd: number; usd_24h_change: number }) =>
    `${name} $${usd} (${signed(usd_24h_change)} %)`;
  const { bitcoin, ethereum, solana } = keyPrices;
  return [price("Bitcoin", bitcoin), price("Ethereum", ethereum), price("Solana", solana)].join(", ");
}

/** A percentage with its sign: `+1.5`, `-0.2`, `0`. */
export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value}`;
}
