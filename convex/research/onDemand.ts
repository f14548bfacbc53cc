import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getRequired, isSet } from "../lib/env";
import { MINUTE } from "../lib/time";
import type { Caller } from "../platform/limits/callers";
import { awaitRefreshes, hasEnded } from "../platform/refreshes";
import { getStoredResult, isSettled } from "./model";
import { MODELS, type ResearchResult } from "./tables";

/** Research on demand: the stored result while it is fresh, otherwise a new one, which all who ask for it share. For actions. */

/**
 * In ms: a result without a source that failed is a cache of two minutes, unless this deployment cannot ask that source.
 * A late source is no gap: when its answer comes, the result is outdated. Nor is one that was paid for in vain.
 */
export function getFreshMs({ missing }: ResearchResult): number {
  const isGap = missing.some(
    ({ collector, reason }) =>
      collector in MODELS && !isSettled(reason) && (collector !== "sentiment" || isSet("SENTIMENT_API_KEY")),
  );
  return (isGap ? 2 : 15) * MINUTE;
}

/**
 * The result on a focus; `null` if a new one takes longer than the caller's patience (ms), and goes on.
 * @param freshMs The age up to which a stored one counts, also one without a source.
 * @throws AppError `not_configured`, `rate_limited`; `upstream` if the research failed.
 */
export async function getFreshResult(
  ctx: ActionCtx,
  focus: string,
  caller: Caller,
  { patienceMs, freshMs }: { patienceMs: number; freshMs?: number },
): ReturnType<typeof getStoredResult> {
  const stored = await getStoredResult(ctx, focus);
  if (stored !== null && Date.now() - stored.fetchedAt < (freshMs ?? getFreshMs(stored.result)))
    return stored;
  getRequired("LLM_GATEWAY_API_KEY");
  const key: string = await ctx.runMutation(internal.research.reports.startResearch, { focus, caller });
  await awaitRefreshes(ctx, [key], AbortSignal.timeout(patienceMs));
  return (await hasEnded(ctx, key)) ? getStoredResult(ctx, focus) : null;
}
