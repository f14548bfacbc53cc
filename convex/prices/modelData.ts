import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { awaitRefresh } from "../lib/refreshes";
import { MINUTE } from "../lib/time";

/** The last resort: what the model's market snapshot says of a price. For showing, never for limits. */

/** A snapshot this young serves at once. */
const FRESH_MS = MINUTE;
/** One older than this tells no live price. */
const STALE_MS = 10 * MINUTE;

/** `observedAt`: epoch ms of the snapshot. */
export type ModelPrice = { priceUsd: number; observedAt: number };

/**
 * The model's price of a token by its symbol; `null` when the snapshot does not tell it or none is to be had in time.
 * @param ask Whether a new snapshot may be asked for, which costs a call to the LLM gateway, shared by everyone.
 * @throws AppError `upstream` when the gateway was asked and failed.
 */
export async function modelPrice(
  ctx: ActionCtx,
  symbol: string,
  { ask }: { ask: boolean },
): Promise<ModelPrice | null> {
  const read = () => ctx.runQuery(internal.market.snapshots.current, { focus: "" });
  let snapshot = await read();
  if (ask && (snapshot === null || Date.now() - snapshot.fetchedAt > FRESH_MS)) {
    const ticket = await ctx.runMutation(internal.market.snapshots.begin, {
      focus: "",
      caller: { address: null },
    });
    await awaitRefresh(ctx, ticket, AbortSignal.timeout(deadlines.modelPrice));
    snapshot = await read();
  }
  if (snapshot === null || Date.now() - snapshot.fetchedAt > STALE_MS) return null;
  const { keyPrices, top20 } = snapshot.figures;
  const key = { BTC: keyPrices.bitcoin, ETH: keyPrices.ethereum }[symbol]?.usd;
  const priceUsd = key ?? top20.find((coin) => coin.symbol === symbol)?.price;
  return priceUsd === undefined ? null : { priceUsd, observedAt: snapshot.fetchedAt };
}
