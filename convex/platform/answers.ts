import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { log } from "../lib/log";

/** The rows of cached answers and of the work that renews them, for transactions (`platform/cache` says how they are used). */

/** The key's row. Its `doneAt` says when the latest result was stored; the result itself is not read. */
export async function findRefresh(ctx: QueryCtx, key: string): Promise<Doc<"answers"> | null> {
  return getOneFrom(ctx.db, "answers", "by_key", key);
}

/**
 * Claims the key for work that the caller does in its own action.
 * @param leaseMs After this long without an end the work counts as lost, and the next caller begins it again.
 * @returns `false` while another claim is running, and during the cooldown of a failure.
 */
export async function claimRefresh(ctx: MutationCtx, key: string, leaseMs: number): Promise<boolean> {
  const now = Date.now();
  const row = await findRefresh(ctx, key);
  if (Math.max(row?.leaseUntil ?? 0, row?.failure?.restsUntil ?? 0) > now) return false;
  const begun = { beganAt: now, leaseUntil: now + leaseMs };
  if (row === null) await ctx.db.insert("answers", { key, ...begun });
  else await ctx.db.patch("answers", row._id, { ...begun, failure: undefined });
  return true;
}

/** Ends the work at a key. @param failure Why there is no result; `null` if there is one. @param body The new answer. */
export async function finishRefresh(
  ctx: MutationCtx,
  key: string,
  failure: { error: string; restMs: number; isQuestions?: true } | null = null,
  body?: string,
): Promise<void> {
  const now = Date.now();
  const row = await findRefresh(ctx, key);
  const rowId = row?._id ?? (await ctx.db.insert("answers", { key, beganAt: now }));
  if (failure === null) {
    const answered = body === undefined ? {} : { body };
    const ended = { leaseUntil: undefined, failure: undefined, isOutdated: undefined };
    await ctx.db.patch("answers", rowId, { ...ended, doneAt: now, ...answered });
    log.info("refresh.done", { key });
    return;
  }
  const { restMs, ...why } = failure;
  const { error } = why;
  await ctx.db.patch("answers", rowId, {
    leaseUntil: undefined,
    failure: { ...why, restsUntil: now + restMs },
  });
  log.warn("refresh.failed", { key, error });
}

/** Marks the answer at a key as outdated: its next reader renews it. */
export async function markOutdated(ctx: MutationCtx, key: string): Promise<void> {
  const row = await findRefresh(ctx, key);
  if (row?.body !== undefined) await ctx.db.patch("answers", row._id, { isOutdated: true });
}

export const vAnswer = v.object({
  fetchedAt: v.number(),
  body: v.string(),
  isOutdated: v.boolean(),
  /** Epoch ms until which running work renews it; 0 if none runs. */
  renewingUntil: v.number(),
});

/** The last good answer at a key, however old. */
export async function findAnswer(ctx: QueryCtx, key: string): Promise<Infer<typeof vAnswer> | null> {
  const row = await findRefresh(ctx, key);
  const { body, doneAt, isOutdated = false, leaseUntil = 0 } = row ?? {};
  if (body === undefined || doneAt === undefined) return null;
  return { fetchedAt: doneAt, body, isOutdated, renewingUntil: leaseUntil };
}
