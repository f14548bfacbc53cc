import { linksAfter, type Statement } from "../../convex/signals/record/chain";
import type { ChainHead, SignalEvent } from "../../convex/signals/record/events";
import { recordShape, type SignalRecord } from "../../scripts/verifySignalsChecks";
import type { App } from "../support/app";

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
  });
}

/** A chain with right hashes for whatever is said, as somebody would make it who rewrites the record. */
export function rechained(statements: readonly Statement[]): {
  events: SignalEvent[];
  head: ChainHead | null;
} {
  let head: ChainHead | null = null;
  const events: SignalEvent[] = [];
  for (const statement of statements) {
    const links = linksAfter(head, statement);
    events.push({ ...statement, ...links });
    head = { sequence: links.sequence, hash: links.hash };
  }
  return { events, head };
}
