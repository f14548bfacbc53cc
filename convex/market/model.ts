import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { coinsNamed, searchedCoins } from "./sources/lists";
import { iso } from "../lib/time";
import { references, type Observed } from "./sources/grounding";
import type { MarketFigures, RowSource } from "./tables";

/** The stored row of a focus ("" for the whole market), however old. */
export async function latestRow(ctx: QueryCtx, focus: string): Promise<Doc<"marketSnapshots"> | null> {
  return getOneFrom(ctx.db, "marketSnapshots", "by_focus", focus);
}

/** The sources' figures of the coins they know, in one line for the prompt; `null` if none could be reached. */
export function describeObserved(observed: Observed): string | null {
  const known = [...references(observed)].map(([symbol, { usd, change24h }]) => {
    const change = change24h === null ? "" : ` (${signed(change24h)} % over 24 hours)`;
    return `${symbol} ${usd} USD${change}`;
  });
  const searched = searchedCoins(observed.facts).map(({ symbol }) => symbol);
  const trending = searched.length === 0 ? "" : `; most searched on CoinGecko: ${searched.join(", ")}`;
  return known.length === 0 ? null : known.join(", ") + trending;
}

/** The sizes of the coins that a question names, in one line for the prompt; `null` if no list knows them. */
export function describeSizes(question: string, { facts }: Observed): string | null {
  const sizes = coinsNamed(question, facts).map(
    ({ symbol, rank, marketCap, volume24h }) =>
      `${symbol} rank ${rank}, market capitalisation ${marketCap} USD, volume over 24 hours ${volume24h} USD`,
  );
  return sizes.length === 0 ? null : sizes.join("; ");
}

/** A snapshot in a few lines, for a prompt. Figures of a model alone are called so. */
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
