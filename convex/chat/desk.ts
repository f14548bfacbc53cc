import { v } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import { worker } from "../lib/work/desk";
import { answer } from "./replies";
import { vTurn } from "./turns";

/** Answers a run that a user has paid for. */
export const answerRun = worker(
  {
    runId: v.id("agentRuns"),
    userId: v.string(),
    agentId: v.string(),
    question: v.string(),
    messages: v.array(vTurn),
  },
  async (ctx, { runId, job, userId, ...turn }) => {
    const caller = { userId, address: null, signedIn: true };
    const answered = await answer(ctx, { ...turn, caller, personal: true, proven: true });
    const reply = pick(answered, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.finish, { runId, job, reply });
  },
);
