import * as z from "zod";
import { lazy } from "../../lib/once";
import { SOURCE_NAMES } from "../../lib/publicSources";
import { DAY, SECOND } from "../../lib/time";
import { rowsOf, unusableFailure } from "../call";
import { askPublic, type Turns } from "./publicData";

/**
 * DefiLlama's supply of stablecoins, one row per day. Documents: api-docs.defillama.com, "stablecoins",
 * `/stablecoincharts/all` and `/stablecoincharts/{chain}`; free to use, with credit to DefiLlama.
 */

export type Supply = {
  /** USD of all coins pegged to the dollar. */
  now: number;
  weekAgo: number;
  /** Epoch ms: the latest row's day. */
  observedAt: number;
  url: string;
};

const PAGES = {
  all: "https://defillama.com/stablecoins",
  Base: "https://defillama.com/stablecoins/Base",
} as const;

const rowsShape = lazy(() => {
  const row = z.object({
    date: z.union([
      z
        .string()
        .regex(/^\d{9,11}$/)
        .transform(Number),
      z.int().positive(),
    ]),
    totalCirculatingUSD: z.object({ peggedUSD: z.number().positive() }),
  });
  return z
    .array(z.unknown())
    .transform((rows) => rows.slice(-9))
    .pipe(rowsOf(row));
});

/** @throws AppError `upstream` */
export async function askStablecoins(
  turns: Turns,
  chain: keyof typeof PAGES,
  timeoutMs: number,
): Promise<Supply> {
  const path = `/stablecoincharts/${chain}`;
  const read = await askPublic(turns, "defillama", { path, shape: rowsShape() }, timeoutMs);
  const latest = read.at(-1);
  const day = (latest?.date ?? 0) * SECOND;
  const week = read.findLast(({ date }) => date * SECOND <= day - 7 * DAY);
  if (latest === undefined || week === undefined || Date.now() - day > 3 * DAY) {
    throw unusableFailure(SOURCE_NAMES.defillama);
  }
  return {
    now: latest.totalCirculatingUSD.peggedUSD,
    weekAgo: week.totalCirculatingUSD.peggedUSD,
    observedAt: Math.min(day, Date.now()),
    url: PAGES[chain],
  };
}
