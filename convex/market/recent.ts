import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { awaitRefresh } from "../lib/refreshes";
import type { readBack } from "./bodies";

/**
 * The whole market's snapshot, however old; one older than `freshMs` is first renewed, for `waitMs` at most. For
 * actions.
 * @param forService Whether the service pays for it.
 * @throws AppError `upstream` if the gateway was asked and failed; `rate_limited` if too many requests wait.
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
