import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { mutation } from "../_generated/server";
import { change } from "../lib/changes";
import { creditsForTokens } from "../credits/model";
import { release, reserve, settle } from "../credits/reservations";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { charge } from "../lib/limits/charges";
import { end, open, failureHandler, vFailure, vJob } from "../lib/work/jobs";
import { endRun, recordRun, startedWith } from "../runs/model";
import { requireUser } from "../accounts/model";
import { ANSWER_TOKENS, DEFAULT_AGENT, isAgent } from "./agents";
import { rememberedTurns, titleOf } from "./memory";

/** Agent runs that a signed-in user starts and pays for with credits. */

const MAX_QUESTION = 8_000;
const MAX_KEY = 200;
/** The part of every prompt before the question: rules, figures and the user's own data. */
const CONTEXT_TOKENS = 2_500;
/** Few languages need more than one token for two characters; the rest is settled afterwards. */
const CHARS_PER_TOKEN = 2;

/**
 * Starts a run: reserves its credits, records the run and schedules the work in one transaction. Watch it with
 * `runs/app:one`. A request for a private key is answered immediately and costs nothing.
 * @throws AppError `payment_required` if the balance does not cover the estimate; `not_found` for an unknown agent;
 * `invalid_request`, `rate_limited`, `not_configured`.
 */
export const start = mutation({
  args: {
    question: v.string(),
    agentId: v.optional(v.string()),
    /** Repeating a start with the same key returns the first run. */
    idempotencyKey: v.optional(v.string()),
  },
  returns: v.id("agentRuns"),
  handler: async (ctx, args): Promise<Id<"agentRuns">> => {
    const { userId } = await requireUser(ctx);
    const { agentId = DEFAULT_AGENT, idempotencyKey } = args;
    const question = args.question.trim();
    if (question === "") throw new AppError("invalid_request", "question is required");
    if (question.length > MAX_QUESTION) {
      throw new AppError("invalid_request", `question must be at most ${MAX_QUESTION} characters`);
    }
    if ((idempotencyKey?.length ?? 0) > MAX_KEY) {
      throw new AppError("invalid_request", `idempotencyKey must be at most ${MAX_KEY} characters`);
    }
    const earlier = await startedWith(ctx, userId, idempotencyKey);
    if (earlier !== null) return earlier._id;
    if (!isAgent(agentId)) throw new AppError("not_found", `There is no agent named ${agentId}`);
    required("LLM_GATEWAY_API_KEY");
    await charge(ctx, "question", { userId, address: null });
    const messages = await rememberedTurns(ctx, userId, agentId, Date.now());
    const runId = await recordRun(ctx, {
      userId,
      agentId,
      title: titleOf(question),
      status: "running",
      startedAt: Date.now(),
      question,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    if (asksForKey(question)) {
      const end = { status: "completed", answer: SECURITY_MESSAGE, model: "none" } as const;
      await endRun(ctx, runId, { ...end, tokensUsed: 0, credits: 0 });
      return runId;
    }
    const chars = messages.reduce((sum, { content }) => sum + content.length, question.length);
    const tokens = Math.ceil(chars / CHARS_PER_TOKEN) + CONTEXT_TOKENS + ANSWER_TOKENS;
    await reserve(ctx, { runId, userId, agentId }, creditsForTokens(tokens));
    const input = { runId, userId, agentId, question, messages };
    // At most once: nobody pays for two answers.
    const onFailure = failureHandler(internal.chat.runs.failed, { runId });
    await open(ctx, internal.chat.replies.answerRun, input, {
      queue: "models",
      rank: "signedIn",
      attempts: 1,
      onFailure,
    });
    return runId;
  },
});

/** Ends a run and its reservation, in one transaction. */
export const finish = change(
  {
    runId: v.id("agentRuns"),
    job: vJob,
    reply: v.object({ answer: v.string(), model: v.string(), tokensUsed: v.number() }),
  },
  async (ctx, { runId, job, reply }) => {
    if (!(await end(ctx, job))) return;
    const { model, tokensUsed } = reply;
    const credits = await settle(ctx, runId, { model, tokensUsed });
    await endRun(ctx, runId, { status: "completed", ...reply, credits });
  },
);

/** Ends a run without an answer, and gives its credits back. */
export const failed = change(
  { runId: v.id("agentRuns"), ...vFailure },
  async (ctx, { runId, error, code }) => {
    await release(ctx, runId);
    const shown = code === undefined ? "The run failed unexpectedly" : error;
    await endRun(ctx, runId, { status: "failed", error: shown, credits: 0 });
  },
);
