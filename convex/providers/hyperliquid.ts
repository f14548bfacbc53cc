import * as z from "zod";
import { lazy } from "../lib/once";
import { SOURCE_NAMES } from "../lib/publicSources";
import { unusableFailure } from "./call";
import { decimalText, priceText } from "./exchangeShapes";
import { askPublic, type Turns } from "./publicData";

/**
 * Hyperliquid's perpetual markets, all in one answer. Documents: hyperliquid.gitbook.io, hyperliquid-docs/for-developers/
 * api/info-endpoint/perpetuals, "Retrieve perpetuals asset contexts": a pair of the markets and, in the same order, what
 * they stand at. `funding` is the share paid per hour, `openInterest` is in coins.
 */

export type Perpetual = {
  symbol: string;
  /** Percent per hour, paid by who is long where it is positive. */
  fundingPercent: number;
  /** USD: the open contracts at the mark price. */
  openInterest: number;
};

const perpetualsShape = lazy(() => {
  const signed = z
    .string()
    .regex(/^-?\d{1,9}(?:\.\d{1,18})?$/)
    .transform(Number);
  return z.tuple([
    z.object({ universe: z.array(z.object({ name: z.string(), isDelisted: z.boolean().optional() })) }),
    z.array(z.object({ funding: signed, openInterest: decimalText, markPx: priceText })),
  ]);
});

/** @throws AppError `upstream` */
export async function askPerpetuals(turns: Turns, timeoutMs: number): Promise<Perpetual[]> {
  const request = { path: "/info", body: { type: "metaAndAssetCtxs" }, shape: perpetualsShape() };
  const [{ universe }, contexts] = await askPublic(turns, "hyperliquid", request, timeoutMs);
  if (universe.length !== contexts.length) throw unusableFailure(SOURCE_NAMES.hyperliquid);
  return universe.flatMap(({ name, isDelisted = false }, index): Perpetual[] => {
    const context = contexts[index];
    // Contracts on a thousand coins ("kPEPE") are no market of the coin's own price.
    if (context === undefined || isDelisted || !/^[A-Z0-9]+$/.test(name)) return [];
    const { funding, openInterest, markPx } = context;
    return [{ symbol: name, fundingPercent: funding * 100, openInterest: openInterest * markPx }];
  });
}
