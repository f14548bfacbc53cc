import * as z from "zod";
import { linksAfter } from "../../../convex/signals/record/chain";
import { anchorShape, chainHead, signalEvent, type ChainHead } from "../../../convex/signals/record/events";
import { signalStats } from "../../../convex/signals/statistics/shapes";
import { publicSignal, recordCut } from "../../../convex/signals/views/shapes";
import type { App } from "../../support/app";

export const anchorsShape = z.object({ address: z.string(), anchors: z.array(anchorShape) });

const recordShape = z.object({
  events: z.array(signalEvent),
  head: chainHead.nullable(),
  signals: z.array(publicSignal),
  stats: z.object({ BTC: signalStats, ETH: signalStats, ALL: signalStats }).optional(),
  cuts: z.array(recordCut).optional(),
});
export type SignalRecord = z.output<typeof recordShape>;

/** A deployment's record as its endpoints tell it. */
export async function recordOf(app: Pick<App, "get">): Promise<SignalRecord> {
  const { body: proof } = await app.get("/signals/proof?limit=500");
  const history = async (query: string) => (await app.get(`/mcp/signals/history?limit=100${query}`)).body;
  const [all, btc, eth] = [await history(""), await history("&token=BTC"), await history("&token=ETH")];
  return recordShape.parse({
    events: proof.events,
    head: proof.head,
    signals: all.signals,
    stats: { ALL: all.stats, BTC: btc.stats, ETH: eth.stats },
    cuts: (await app.get("/record")).body.cuts,
  });
}

type Links = ReturnType<typeof linksAfter>;

/** A chain with right hashes for whatever is said, as somebody would make it who rewrites it. */
export function rechained<Told extends Parameters<typeof linksAfter>[1]>(
  statements: readonly Told[],
): { events: (Told & Links)[]; head: ChainHead | null } {
  let head: ChainHead | null = null;
  const events: (Told & Links)[] = [];
  for (const statement of statements) {
    const links = linksAfter(head, statement);
    events.push({ ...statement, ...links });
    head = { sequence: links.sequence, hash: links.hash };
  }
  return { events, head };
}
