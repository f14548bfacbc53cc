import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { queryByBoth } from "../platform/records";

/** How many runs are searched for a conversation: reports of research shifts are among them. */
const LOOK_AT = 30;

/** Records one run of an agent: a finished one, or one that has just begun. */
export async function recordRun(
  ctx: MutationCtx,
  run: WithoutSystemFields<Doc<"agentRuns">>,
): Promise<Id<"agentRuns">> {
  return ctx.db.insert("agentRuns", run);
}

export type RunEnd =
  | { status: "completed"; answer: string; model: string; tokensUsed: number; credits: number }
  | { status: "failed"; error: string; credits: number };

/** Ends a running run; one that has ended, or was erased, stays as it is. */
export async function endRun(ctx: MutationCtx, runId: Id<"agentRuns">, end: RunEnd): Promise<void> {
  const run = await ctx.db.get("agentRuns", runId);
  if (run?.status === "running") await ctx.db.patch("agentRuns", runId, { ...end, finishedAt: Date.now() });
}

/** The run a user started with a key, or `null`. */
export async function findRunByKey(
  ctx: QueryCtx,
  userId: string,
  idempotencyKey: string | undefined,
): Promise<Doc<"agentRuns"> | null> {
  if (idempotencyKey === undefined) return null;
  return queryByBoth(ctx.db.query("agentRuns"), "userId", userId, "idempotencyKey", idempotencyKey).unique();
}

/** The recent exchanges of a user and an agent, oldest first: runs that were answered since `since` (epoch ms). */
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
    .flatMap(({ agentId: who, question, answer }) =>
      who === agentId && question !== undefined && answer !== undefined ? [{ question, answer }] : [],
    )
    .slice(0, limit)
    .reverse();
}
