import type { ActionCtx } from "../../_generated/server";
import { sha256Hex } from "../security/crypto";
import { rateLimiter } from "../limits/charges";
import { SOURCE_LIMITS, type PublicSource } from "../publicSources";
import { SECOND, sleep } from "../time";

/**
 * Waits for a turn to ask a public source. Where turns are rare, one caller's wait for one another first, at the source's
 * own pace: no more than one of them stands in the queue that is everybody's.
 * @param holder Whose turn it is; without one it is the service's own.
 * @returns `false` when a queue is full.
 */
export async function waitTurn(ctx: ActionCtx, source: PublicSource, holder?: string): Promise<boolean> {
  const config = SOURCE_LIMITS[source];
  const isRare = config.period > SECOND;
  for (const queue of [
    ...(holder !== undefined && isRare ? [{ key: sha256Hex(`turn:${holder}`) }] : []),
    {},
  ]) {
    const status = await rateLimiter.limit(ctx, source, { ...queue, reserve: true, config });
    if (!status.ok) return false;
    await sleep(Math.ceil(status.retryAfter ?? 0));
  }
  return true;
}
