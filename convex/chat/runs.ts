import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { internalQuery, mutation, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { creditsForTokens, release, reserve, settle } from "../credits/model";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { refuseBeyond } from "../lib/limits/budget";
import { payerOf } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { end, open, failureHandler, vFailure, vJob } from "../lib/work";
import { endRun, exchangesOf, recordRun, startedWith } from "../runs/model";
import { cut } from "../lib/text/strings";
import { DAY } from "../lib/time";
import { requireUser } from "../accounts/model";
import { agentNamed, ANSWER_TOKENS, DEFAULT_AGENT } from "./agents";

/**
 * Agent runs, which a signed-in user starts and pays for with credits, and the earlier turns of a conversation: those that
 * a client sends, and the exchanges of the last day, which are stored as the user's runs.
 */

const MAX_QUESTION = 8_000;
const MAX_KEY = 200;
/** The part of every prompt before the question: rules, figures and the user's own data. */
const CONTEXT_TOKENS = 2_500;
/** Few languages need more than one token for two characters. */
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
    const { idempotencyKey } = args;
    const agentId = agentNamed(args.agentId ?? DEFAULT_AGENT);
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
    required("LLM_GATEWAY_API_KEY");
    const caller = { userId, address: null, signedIn: true };
    await charge(ctx, "question", caller);
    const messages = await rememberedTurns(ctx, userId, agentId, Date.now());
    const runId = await recordRun(ctx, {
      userId,
      agentId,
      title: cut(question, TITLE_LENGTH),
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
    // Nobody has paid for credits of games, so that runs ask the budget like every question.
    await refuseBeyond(ctx, payerOf(caller));
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

export const vTurn = v.object({
  role: v.union(v.literal("user"), v.literal("assistant")),
  content: v.string(),
});
export type Turn = Infer<typeof vTurn>;

/** How much of a conversation is passed on, in characters. */
const HISTORY_CHARS = 24_000;

/** The last turns that fit, oldest first; if a single turn is too long, its end. */
export function lastTurns(turns: readonly Turn[], limit = HISTORY_CHARS): Turn[] {
  let room = limit;
  const kept: Turn[] = [];
  for (const { role, content } of turns.toReversed()) {
    if (content.trim() === "") continue;
    if (content.length > room) {
      const end = Array.from(content)
        .slice(1 - room)
        .join("");
      if (kept.length === 0) kept.push({ role, content: `…${end}` });
      break;
    }
    room -= content.length;
    kept.unshift({ role, content });
  }
  return kept;
}

const EXCHANGES = 6;
/** It is part of the price of every run, so it is shorter than the history that a client may send. */
const REMEMBERED_CHARS = 8_000;
const TITLE_LENGTH = 80;

/** The turns that an agent continues from, oldest first, without refusals to show a key. */
async function rememberedTurns(ctx: QueryCtx, userId: string, agentId: string, now: number): Promise<Turn[]> {
  const since = now - DAY;
  const exchanges = await exchangesOf(ctx, { userId, agentId, since, limit: EXCHANGES });
  const turns = exchanges
    .filter(({ answer }) => answer !== SECURITY_MESSAGE)
    .flatMap(({ question, answer }): Turn[] => [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ]);
  return lastTurns(turns, REMEMBERED_CHARS);
}

export const turns = internalQuery({
  args: { userId: v.string(), agentId: v.string(), now: v.number() },
  returns: v.array(vTurn),
  handler: (ctx, { userId, agentId, now }) => rememberedTurns(ctx, userId, agentId, now),
});

/** Stores an exchange outside the web application, once per key; it cost no credits. */
export const keep = change(
  {
    userId: v.string(),
    agentId: v.string(),
    question: v.string(),
    reply: v.object({ answer: v.string(), model: v.string(), tokensUsed: v.number() }),
    key: v.string(),
  },
  async (ctx, { userId, agentId, question, reply, key }) => {
    if ((await startedWith(ctx, userId, key)) !== null) return;
    const now = Date.now();
    await recordRun(ctx, {
      userId,
      agentId,
      title: cut(question, TITLE_LENGTH),
      status: "completed",
      startedAt: now,
      finishedAt: now,
      question,
      ...reply,
      credits: 0,
      idempotencyKey: key,
    });
  },
);
