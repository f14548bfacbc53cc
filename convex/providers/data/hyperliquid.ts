import * as z from "zod";
import { once } from "../../lib/objects";
import { rowsShape } from "../call";
import { askPublic, decimal, type RateLimitTurns } from "./publicData";

/**
 * Hyperliquid's perpetual markets, all in one answer: a pair of the markets and, in the same order, their current
 * values. `funding` is the share paid per hour, `openInterest` is in coins. Documents ("Retrieve perpetuals asset
 * contexts"): hyperliquid.gitbook.io/hyperliquid-docs/for-developers/api/info-endpoint/perpetuals
 */

const perpetualsShape = once(() => {
  const market = z.object({ name: z.string(), isDelisted: z.boolean().default(false) });
  const context = z.object({
    funding: decimal,
    openInterest: decimal.pipe(z.number().nonnegative()),
    markPx: decimal.pipe(z.number().positive()),
  });
  return z
    .tuple([z.object({ universe: z.array(z.unknown()) }), z.array(z.unknown())])
    .refine(([{ universe }, contexts]) => universe.length === contexts.length)
    .transform(([{ universe }, contexts]): unknown[] => universe.map((one, index) => [one, contexts[index]]))
    .pipe(rowsShape(z.tuple([market, context])));
});

/**
 * The markets, largest by open interest first: `fundingPercent` per hour, which longs pay if it is positive, and
 * `openInterest` in USD at the mark price.
 * @throws AppError `upstream`
 */
export async function askPerpetuals(turns: RateLimitTurns, timeoutMs: number) {
  const request = { path: "/info", body: { type: "metaAndAssetCtxs" }, shape: perpetualsShape() };
  const markets = await askPublic(turns, "hyperliquid", request, timeoutMs);
  return markets
    .flatMap(([{ name: symbol, isDelisted }, { funding, openInterest, markPx }]) => {
      // Contracts on a thousand coins ("kPEPE") do not have the coin's own price.
      if (isDelisted || !/^[A-Z0-9]+$/.test(symbol)) return [];
      const url = `https://app.hyperliquid.xyz/trade/${symbol}`;
      return [{ symbol, fundingPercent: funding * 100, openInterest: openInterest * markPx, url }];
    })
    .sort((a, b) => b.openInterest - a.openInterest);
}
