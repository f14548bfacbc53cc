import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { needsWhileEmpty, optional } from "../lib/env";
import { failureOf } from "../lib/errors";
import type { Caller } from "../lib/limits/callers";
import { awaitAs } from "../lib/readThrough";
import { TOKENS, type Token } from "./trade/rules";
import type { Desk, DeskEvent, EventOf, Signal } from "./record/rows";

/** @throws AppError `not_configured` if none of these tokens has a signal and none can be issued. */
export async function assertIssued(ctx: ActionCtx, token: Token | undefined): Promise<void> {
  const tokens = token === undefined ? [...TOKENS] : [token];
  await needsWhileEmpty("LLM_GATEWAY_API_KEY", () =>
    ctx.runQuery(internal.signals.history.latest, { tokens }),
  );
}

/**
 * The signals of a UTC day as they are now, with their review if it is ready in time. The figures are answered in any
 * case: if the review is missing or the caller has asked for too many, it is `null`.
 */
export async function reviewedDay(
  ctx: ActionCtx,
  day: string,
  caller: Caller,
  patienceMs: number,
): Promise<{ signals: Signal[]; review: string | null }> {
  const stored = await ctx.runQuery(internal.signals.recaps.reviews.ofDay, { day });
  if (stored.review !== null || stored.signals.length === 0) return stored;
  if (optional("LLM_GATEWAY_API_KEY") === undefined) return stored;
  try {
    const ticket = await ctx.runMutation(internal.signals.recaps.reviews.begin, { day, caller });
    await awaitAs(ctx, caller, ticket, Math.max(0, patienceMs));
  } catch (error) {
    const code = failureOf(error)?.code;
    if (code !== "upstream" && code !== "rate_limited") throw error;
  }
  return ctx.runQuery(internal.signals.recaps.reviews.ofDay, { day });
}

/** Events of a desk's chain after a sequence number, oldest first. */
export async function chainPage<Of extends Desk>(
  ctx: ActionCtx,
  desk: Of,
  page: { after: number; limit: number },
) {
  const { rows, head } = await ctx.runQuery(internal.signals.history.chain, { desk, ...page });
  type Own = DeskEvent & { event: EventOf[Of] };
  const events = rows.filter((row): row is Own => row.desk === desk).map(({ event }): EventOf[Of] => event);
  return { events, head, count: events.length };
}
