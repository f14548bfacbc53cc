import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { queryByBoth } from "../platform/records";

/** Runs that are searched for a conversation: reports of research shifts are among them. */
const LOOK_AT = 30;

/** Records a run, finished or just begun. */
export async function recordRun(
  ctx: MutationCtx,
  run: WithoutSystemFields<Doc<"agentRuns">>,
): Promise<Id<"agentRuns">> {
  return ctx.db.insert("agentRuns", run);
}

export type RunEnd =
  | { status: "completed"; answer: string; model: string; tokensUsed: number; credits: number }
  | { status: "failed"; error: string; credits: number };

/** Ends a running run. A run that has ended or was deleted stays unchanged. */
export async function endRun(ctx: MutationCtx, runId: Id<"agentRuns">, end: RunEnd): Promise<void> {
  const run = await ctx.db.get("agentRuns", runId);
  if (run?.status === "running") await ctx.db.patch("agentRuns", runId, { ...end, finishedAt: Date.now() });
}

/** The run that a user started with an idempotency key, or `null`. */
export async function findRunByKey(
  ctx: QueryCtx,
  userId: string,
  idempotencyKey: string | undefined,
): Promise<Doc<"agentRuns"> | null> {
  if (idempotencyKey === undefined) return null;
  return queryByBoth(ctx.db.query("agentRuns"), "userId", userId, "idempotencyKey", idempotencyKey).unique();
}

/** The exchanges of a user and an agent since `since` (epoch ms), oldest first. */
export async function listExchanges(
  ctx: QueryCtx,
  { userId, agentId, since, limit }: { userId: string; agentId: string; since: number; limit: number },
): Promise<{ question: string; answer: string }[]> {
  const runs = await ctx.db
    .query("agentRuns")
    .withIndex("by_userId", (q) => q.eq("userId", userId).gte("startedAt", since))
    .order("desc")
    .take(LOOK_AT);
  return runs
    .flatMap(({ agentId: agent, question, answer }) =>
      agent === agentId && question !== undefined && answer !== undefined ? [{ question, answer }] : [],
    )
    .slice(0, limit)
    .reverse();
}
