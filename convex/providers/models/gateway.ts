import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { sha256Hex } from "../../lib/crypto";
import { getOptional, getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { asMeant } from "../../lib/text/markup";
import { DAY, HOUR, SECOND, sleep } from "../../lib/time";
import { noteCost } from "../../platform/limits/budget";
import { noteCall, runAfterwards } from "../../platform/outside/calls";
import { deadlines } from "../../platform/outside/deadlines";
import { unusableAnswerError } from "../call";
import { findBlamedField } from "../rejections";
import {
  computeMostCost,
  declinedError,
  findModel,
  GATEWAY,
  GatewayFailure,
  sendPrompt,
  THINKS,
  toRefusal,
  type Completion,
  type GatewayAnswer,
  type Prompt,
  type PromptMessage,
} from "./client";

/**
 * Answers of the LLM gateway: repeats what failed for a moment, leaves out what the gateway does not support, makes room
 * for a model that thinks, and remembers all of it for a day.
 */

/**
 * Asks for prose.
 * @throws AppError `upstream` for every failure of the gateway, including an empty answer or one that was cut off
 * twice.
 */
export async function complete(ctx: ActionCtx | null, prompt: Prompt): Promise<Completion> {
  const completion = await askModel(ctx, prompt);
  if (asMeant(completion.text).trim() === "")
    throw completion.isRefused ? declinedError() : unusableAnswerError(GATEWAY);
  return completion;
}

/**
 * One complete answer, perhaps empty: if it was cut off, it is requested once more, with more room.
 * @throws AppError `upstream`
 */
export async function askModel(ctx: ActionCtx | null, prompt: Prompt): Promise<Completion> {
  const signal = AbortSignal.timeout(prompt.timeoutMs);
  const first = await request(ctx, prompt, signal);
  if (!first.isCut || prompt.isWhole?.(first) === true) return first;
  // A model that has said nothing at its limit was thinking: that room is its own.
  const learnt = first.text === "" ? THINKS : undefined;
  const second = await request(ctx, { ...prompt, maxTokens: prompt.maxTokens * 2 }, signal, learnt);
  if (second.isCut) throw new AppError("upstream", `${GATEWAY} sent an answer that was cut off at its limit`);
  return { ...second, tokensUsed: first.tokensUsed + second.tokensUsed };
}

/**
 * The answer to a caller's own question: where the gateway works and refuses that question, the question is at fault.
 * @throws AppError `invalid_request` in place of such a refusal.
 */
export async function answerCaller<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof GatewayFailure) || !error.isQuestions) throw error;
    throw new AppError("invalid_request", error.refusal?.about === "length" ? TOO_LONG : DECLINED);
  }
}

const TOO_LONG = "The question, with its earlier turns, is longer than the model can read: ask a shorter one";
const DECLINED = "The model declined to answer this question: ask it in other words";

/** The answer to the repair turn could not be used either. Recognised by its class within the action that asked. */
export class UnusableAnswer extends AppError {
  /** @param problem What was wrong with it, naming fields and figures. */
  constructor(readonly problem: string) {
    const { code, message } = unusableAnswerError(GATEWAY).data;
    super(code, message);
  }
}

/** The note on an account without credits. */
const EMPTY = "empty";

/** How many parts of a request a gateway may refuse, one after the other. */
const MAX_REFUSALS = 4;

/** The key of that note. Another key of the gateway is another account. */
function getMemoryKey(model: string): string {
  const of = [getSetting("LLM_ENDPOINT"), model, getOptional("LLM_GATEWAY_API_KEY") ?? ""];
  return `gateway:${sha256Hex(of.join(" "))}`;
}

/**
 * The parts of a request that a gateway has refused within a day, whether its model thinks, and whether the account was
 * empty within an hour. Outside a deployment nothing is remembered.
 */
async function readMemory(ctx: ActionCtx | null, key: string): Promise<Set<string>> {
  const kept = (await ctx?.runQuery(internal.platform.cache.readAnswerAt, { key })) ?? null;
  const age = Date.now() - (kept?.fetchedAt ?? 0);
  const parts = kept === null || age > DAY ? [] : kept.body.split("\n").filter((part) => part !== "");
  return new Set(parts.filter((part) => part !== EMPTY || age < HOUR));
}

/**
 * One answer, requested again after a failure that may pass. A part that the gateway refuses is left out, and left out
 * for a day once the gateway has answered without it.
 * @param learnt The note to keep from now on, if there is an answer.
 */
async function request(
  ctx: ActionCtx | null,
  prompt: Prompt,
  signal: AbortSignal,
  learnt?: string,
): Promise<GatewayAnswer> {
  const { billTo, maxTokens, attempts } = prompt;
  const model = findModel(prompt);
  const key = getMemoryKey(model);
  const left = await readMemory(ctx, key);
  const keep = (parts: Iterable<string>) => {
    const body = [...parts].join("\n");
    return runAfterwards(async () => ctx?.runMutation(internal.platform.cache.storeAnswer, { key, body }));
  };
  const before = [...left].join("\n");
  if (left.delete(EMPTY) && prompt.asksAgain !== true) {
    noteCall("llm", true, "account");
    throw toRefusal(402);
  }
  if (learnt !== undefined) left.add(learnt);
  const sizeBefore = left.size;
  let waits = true;
  for (let attempt = 1; ;) {
    try {
      const answer = await sendPrompt(prompt, left, signal);
      noteCall("llm", false);
      noteCost(billTo, "llm", answer.micros);
      if ([...left].join("\n") !== before) await keep(left);
      return answer;
    } catch (error) {
      // Without a key no call was made.
      if (!(error instanceof GatewayFailure)) throw error;
      const failure = error;
      const part = findRefusedPart(failure, prompt.format !== undefined && !left.has("schema"), left);
      if (part !== null && left.size < sizeBefore + MAX_REFUSALS) {
        left.add(part);
        continue;
      }
      noteCall("llm", !failure.isQuestions, failure.refuses);
      if (failure.refusal?.about === "account") await keep([...left, EMPTY]);
      if (failure.isBilled) noteCost(billTo, "llm", computeMostCost(prompt, maxTokens));
      const isOver = attempt >= attempts && !(waits && failure.isPassing);
      if (failure.retryAfterMs === null || isOver) throw failure;
      waits = false;
      await sleep(Math.max(failure.retryAfterMs, attempt * attempt * SECOND));
      attempt += 1;
    }
  }
}

/**
 * The part to leave out after a refusal. Gateways refuse schemas in all words: any refusal of one is tried without it.
 */
function findRefusedPart(
  { refusal }: GatewayFailure,
  isFormatted: boolean,
  left: ReadonlySet<string>,
): string | null {
  if (refusal === null || refusal.about === "filter") return null;
  const { status, words } = refusal;
  const part = findBlamedField(words);
  const isRequest = status === 400 || status === 404 || status === 422;
  const canGo = part !== null && !left.has(part) && (part !== "schema" || isFormatted);
  if (canGo && (isRequest || status >= 500)) return part;
  return isRequest && isFormatted ? "schema" : null;
}

/** How long the answer to a probe is kept. */
const PROBED_FOR_MS = 30 * SECOND;

/** Why the gateway writes nothing at this moment, by a probe of one token; `null` if it answers. */
export async function findOutage(ctx: ActionCtx): Promise<string | null> {
  const key = "gateway:probe";
  const kept = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key });
  const isFresh = kept !== null && Date.now() - kept.fetchedAt < PROBED_FOR_MS;
  const body = isFresh ? kept.body : await probe(ctx);
  if (!isFresh)
    await runAfterwards(() => ctx.runMutation(internal.platform.cache.storeAnswer, { key, body }));
  return body === "" ? null : body;
}

/** @returns The problem; "" for none. A refusal of the question itself is an answer: it says nothing of others. */
async function probe(ctx: ActionCtx): Promise<string> {
  const messages: PromptMessage[] = [{ role: "user", content: "Say yes." }];
  const prompt = { messages, maxTokens: 1, timeoutMs: deadlines.probe, attempts: 1, billTo: "paid" } as const;
  try {
    await request(ctx, prompt, AbortSignal.timeout(prompt.timeoutMs));
    return "";
  } catch (error) {
    if (!(error instanceof GatewayFailure)) throw error;
    const { status } = error.refusal ?? {};
    return status === 400 || status === 422 || error.isQuestions ? "" : error.data.message;
  }
}
