import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import { mutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { toTokenCredits, release, reserve, settleRun } from "../credits/model";
import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { isKeyRequest, SECURITY_MESSAGE } from "../lib/keyRequests";
import { refuseBeyond } from "../platform/limits/budget";
import { toBillingSubject } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import { completeWork, enqueueWork, buildFailureHandler, vFailure, vJob } from "../platform/work";
import { endRun, listExchanges, recordRun, findRunByKey } from "../runs/model";
import { cut } from "../lib/text/strings";
import { DAY } from "../lib/time";
import { requireUser } from "../identity/model";
import { findAgent, ANSWER_TOKENS, DEFAULT_AGENT } from "./agents";

/**
 * Agent runs, which a signed-in user starts and pays for with credits, and the earlier turns of a conversation: those
 * that a client sends, and the exchanges of the last day, stored as the user's runs.
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
    const agentId = findAgent(args.agentId ?? DEFAULT_AGENT);
    const question = args.question.trim();
    if (question === "") throw new AppError("invalid_request", "question is required");
    if (question.length > MAX_QUESTION) {
      throw new AppError("invalid_request", `question must be at most ${MAX_QUESTION} characters`);
    }
    if ((idempotencyKey?.length ?? 0) > MAX_KEY) {
      throw new AppError("invalid_request", `idempotencyKey must be at most ${MAX_KEY} characters`);
    }
    const earlier = await findRunByKey(ctx, userId, idempotencyKey);
    if (earlier !== null) return earlier._id;
    getRequired("LLM_GATEWAY_API_KEY");
    const caller = { userId, address: null, signedIn: true };
    await charge(ctx, "question", caller);
    const messages = await listRememberedTurns(ctx, userId, agentId, Date.now());
    const runId = await recordRun(ctx, {
      userId,
      agentId,
      title: cut(question, TITLE_LENGTH),
      status: "running",
      startedAt: Date.now(),
      question,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    if (isKeyRequest(question)) {
      const end = { status: "completed", answer: SECURITY_MESSAGE, model: "none" } as const;
      await endRun(ctx, runId, { ...end, tokensUsed: 0, credits: 0 });
      return runId;
    }
    // Credits from games were not paid for, so their runs count against the day's budget, as questions do.
    await refuseBeyond(ctx, toBillingSubject(caller));
    const chars = messages.reduce((sum, { content }) => sum + content.length, question.length);
    const tokens = Math.ceil(chars / CHARS_PER_TOKEN) + CONTEXT_TOKENS + ANSWER_TOKENS;
    await reserve(ctx, { runId, userId, agentId }, toTokenCredits(tokens));
    const input = { runId, userId, agentId, question, messages };
    // One attempt only, so that a user never pays for two answers.
    const onFailure = buildFailureHandler(internal.chat.runs.failRun, { runId });
    await enqueueWork(ctx, internal.chat.replies.answerRun, input, {
      queue: "models",
      rank: "signedIn",
      attempts: 1,
      onFailure,
    });
    return runId;
  },
});

const vReply = v.object({ answer: v.string(), model: v.string(), tokensUsed: v.number() });

/** Ends a run and its reservation, in one transaction. */
export const finishRun = defineMutation(
  {
    runId: v.id("agentRuns"),
    job: vJob,
    reply: vReply,
  },
  async (ctx, { runId, job, reply }) => {
    if (!(await completeWork(ctx, job))) return;
    const { model, tokensUsed } = reply;
    const credits = await settleRun(ctx, runId, { model, tokensUsed });
    await endRun(ctx, runId, { status: "completed", ...reply, credits });
  },
);

/** Ends a run without an answer, and gives its credits back. */
export const failRun = defineMutation(
  { runId: v.id("agentRuns"), ...vFailure },
  async (ctx, { runId, error, code }) => {
    await release(ctx, runId);
    const message = code === undefined ? "The run failed unexpectedly" : error;
    await endRun(ctx, runId, { status: "failed", error: message, credits: 0 });
  },
);

export const vChatTurn = v.object({
  role: v.union(v.literal("user"), v.literal("assistant")),
  content: v.string(),
});
export type ChatTurn = Infer<typeof vChatTurn>;

/** The part of a conversation that is passed on, in characters. */
const HISTORY_CHARS = 24_000;

/** The last turns that fit, oldest first; if a single turn is too long, its end. */
export function takeLastTurns(turns: readonly ChatTurn[], limit = HISTORY_CHARS): ChatTurn[] {
  let room = limit;
  const kept: ChatTurn[] = [];
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
/** Shorter than the history that a client may send, because it is part of every run's price. */
const REMEMBERED_CHARS = 8_000;
const TITLE_LENGTH = 80;

/** The earlier turns for an agent's prompt, oldest first, without refused requests for a private key. */
export async function listRememberedTurns(
  ctx: QueryCtx,
  userId: string,
  agentId: string,
  now: number,
): Promise<ChatTurn[]> {
  const since = now - DAY;
  const exchanges = await listExchanges(ctx, { userId, agentId, since, limit: EXCHANGES });
  const turns = exchanges
    .filter(({ answer }) => answer !== SECURITY_MESSAGE)
    .flatMap(({ question, answer }): ChatTurn[] => [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ]);
  return takeLastTurns(turns, REMEMBERED_CHARS);
}

/** Stores an exchange outside the web application, once per key; it cost no credits. */
export async function storeExchange(
  ctx: MutationCtx,
  exchange: { userId: string; agentId: string; question: string; reply: Infer<typeof vReply>; key: string },
): Promise<void> {
  const { userId, agentId, question, reply, key } = exchange;
  if ((await findRunByKey(ctx, userId, key)) !== null) return;
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
}
