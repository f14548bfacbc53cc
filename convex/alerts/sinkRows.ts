import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { rowsByBoth } from "../lib/rows";
import type { SealContext } from "../lib/sealing";
import { alertTables } from "./tables";

/** Users' webhooks. */

/** A user's active webhooks at most. */
export const MAX_SINKS = 3;

/** A webhook as its user sees it. Times in epoch ms. */
export const vSink = alertTables.alertSinks.validator.pick("url", "state", "createdAt").extend({
  webhookId: v.id("alertSinks"),
  /** Why it ended, or what the last try came to where it did not work. */
  problem: v.union(v.string(), v.null()),
});
export type Sink = Infer<typeof vSink>;

/** A secret's envelope opens for its user and its address alone. */
export function secretSeal({ userId, url }: { userId: string; url: string }): SealContext {
  return { purpose: "alert webhook secret", owner: `${userId}\n${url}` };
}

/** A user's active webhooks, oldest first. */
export async function sinksOf(ctx: QueryCtx, userId: string): Promise<Doc<"alertSinks">[]> {
  return rowsByBoth(ctx.db.query("alertSinks"), "userId", userId, "state", "active").take(MAX_SINKS);
}

/** Ends a webhook of the user's; one that has ended stays so. @throws AppError `not_found` for none of theirs. */
export async function endSink(ctx: MutationCtx, userId: string, id: string): Promise<Sink> {
  const sinkId = ctx.db.normalizeId("alertSinks", id);
  const row = sinkId === null ? null : await ctx.db.get("alertSinks", sinkId);
  if (row === null || row.userId !== userId) throw new AppError("not_found", "This user has no such webhook");
  if (row.state === "ended") return sinkOf(row);
  const ended = { state: "ended", endedAt: Date.now(), reason: "Removed by its user" } as const;
  await ctx.db.patch("alertSinks", row._id, ended);
  return sinkOf({ ...row, ...ended });
}

export function sinkOf({ _id, url, state, createdAt, reason, problem }: Doc<"alertSinks">): Sink {
  return { webhookId: _id, url, state, createdAt, problem: reason ?? problem ?? null };
}
