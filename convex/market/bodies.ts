import type { Doc } from "../_generated/dataModel";
import { iso } from "../lib/time";
import { parse } from "convex-helpers/validators";
import { vMarketSnapshot } from "./validators";
import type { MarketFigures, MarketSource } from "./tables";

/**
 * A market snapshot in the form of `GET /mcp/market`. It is checked and written once, when it is stored: a cached read
 * returns its text, and code that needs the figures parses it again.
 */

/** The answer's text, in JSON. @param fetchedAt Epoch ms. */
export function written(
  fetchedAt: number,
  { figures, sources }: Pick<Snapshot, "figures" | "sources">,
): string {
  return JSON.stringify(parse(vMarketSnapshot, { fetchedAt: iso(fetchedAt), ...figures, sources }));
}

export type Snapshot = {
  fetchedAt: number;
  model: string;
  figures: MarketFigures;
  sources: MarketSource[];
};

export function readBack({ fetchedAt, model, body }: Doc<"marketSnapshots">): Snapshot {
  const { keyPrices, trending, top20, focus, sources } = parse(vMarketSnapshot, JSON.parse(body));
  const figures = { keyPrices, trending, top20, ...(focus === undefined ? {} : { focus }) };
  return { fetchedAt, model, figures, sources };
}
