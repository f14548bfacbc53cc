import OpenAI, { APIConnectionError, APIUserAbortError } from "openai";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { getOptional, getRequired, getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import type { BillingSubject } from "../../platform/limits/callers";
import { noteCost } from "../../platform/limits/budget";
import { chooseModel } from "./choice";
import { getTokensCost, maxCompletionCost } from "./prices";
import { runAfterwards, noteCall, type Refusing } from "../../platform/outside/calls";
import { deadlines } from "../../platform/outside/deadlines";
import { sha256Hex } from "../../lib/crypto";
import { asMeant } from "../../lib/text/markup";
import { DAY, HOUR, SECOND, sleep } from "../../lib/time";
import {
  getRefusing,
  isAbort,
  isOutage,
  isTransient,
  noAnswerError,
  parsePause,
  parseRefusal,
  toStatusError,
  readText,
  unusableAnswerError,
  type Refusal,
} from "../call";
import { findBlamedField, parseResponseBody, extractRejectedAnswer, type ModelOutcome } from "./wire";

/**
 * The LLM gateway: OpenAI-compatible chat completions (docs.bankr.bot/llm-gateway/api-reference). The client sends;
 * what comes back is read in `wire`.
 */
const UPSTREAM = "The LLM gateway";

export type PromptMessage = { role: "system" | "user" | "assistant"; content: string };

export type Prompt = {
  messages: PromptMessage[];
  /** A schema beside the prompt. */
  format?: OpenAI.ResponseFormatJSONSchema;
  /** The longest answer, in tokens; one that needs more gets twice the room, once, and one that is only thought far more. */
  maxTokens: number;
  /** Whether an answer that was cut off is whole: a model may go on after it. */
  isWhole?: (cut: Completion) => boolean;
  /** Asks although the account was empty within the hour. */
  asksAgain?: boolean;
  /** For the whole call, retries included, in ms of real time. */
  timeoutMs: number;
  /** How many attempts a transient failure may take in all; 1 if a caller waits. */
  attempts: number;
  billTo: BillingSubject;
};

export type Completion = {
  text: string;
  /** Where else a value that was asked for may stand. */
  also: readonly string[];
  /** The model says that it will not answer: the same question, put otherwise, may be answered. */
  isRefused: boolean;
  /** The gateway's name of the model that answered; the one that was asked if it does not say. */
  model: string;
  /** Of prompt and answer together; estimated if the gateway does not say. */
  tokensUsed: number;
};

/**
 * Asks for prose.
 * @throws AppError `upstream` for every failure of the gateway, including an empty answer or one that was cut off
 * twice.
 */
export async function complete(ctx: ActionCtx | null, prompt: Prompt): Promise<Completion> {
  const completion = await askModel(ctx, prompt);
  if (asMeant(completion.text).trim() === "")
    throw completion.isRefused ? declinedError() : unusableAnswerError(UPSTREAM);
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
  if (second.isCut)
    throw new AppError("upstream", `${UPSTREAM} sent an answer that was cut off at its limit`);
  return { ...second, tokensUsed: first.tokensUsed + second.tokensUsed };
}

/** The failure for a model that will not answer. */
export function declinedError(): AppError {
  const error = new AppError("upstream", `${UPSTREAM} declined to answer`);
  return new Failed(error, null, true, { status: 200, words: "", about: "filter" });
}

/**
 * The answer to a caller's own question: where the gateway works and refuses that question, the question is at fault.
 * @throws AppError `invalid_request` in place of such a refusal.
 */
export async function answerCaller<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Failed) || !error.isQuestions) throw error;
    throw new AppError("invalid_request", error.refusal?.about === "length" ? TOO_LONG : DECLINED);
  }
}

const TOO_LONG = "The question, with its earlier turns, is longer than the model can read: ask a shorter one";
const DECLINED = "The model declined to answer this question: ask it in other words";

/** The answer to the repair turn could not be used either. Recognised by its class within the action that asked. */
export class UnusableAnswer extends AppError {
  /** @param problem What was wrong with it, naming fields and figures. */
  constructor(readonly problem: string) {
    const { code, message } = unusableAnswerError(UPSTREAM).data;
    super(code, message);
  }
}

type Answer = Completion & {
  /** It ended at the limit, not where the model would have ended. */
  isCut: boolean;
  /** In millionths of a USD. */
  micros: number;
};

/** Why one request has no answer. */
class Failed extends AppError {
  constructor(
    { data: { code, message } }: AppError,
    /** The shortest wait before the same request may succeed; `null` if it may not. */
    readonly retryAfterMs: number | null,
    /** A refusal costs nothing. A call that timed out, or whose answer broke off, may have been answered. */
    readonly isBilled: boolean,
    /** What the gateway said, if it refused; and what that is about. */
    readonly refusal: { status: number; words: string; about: Refusal } | null = null,
    /** Whether it cost nothing and passes at once, so that it is asked again although a caller waits. */
    readonly isPassing = false,
  ) {
    super(code, message);
  }

  /** Whether the gateway works, and will not answer this question. */
  get isQuestions(): boolean {
    const { status = 0, about = null } = this.refusal ?? {};
    return about !== null && !isOutage("llm", status, about);
  }

  get refuses(): Refusing | undefined {
    return this.refusal === null ? undefined : getRefusing(this.refusal.status, this.refusal.about);
  }
}

/** The room that a model thinks in, in tokens, beside that of its answer. */
const THINKING_TOKENS = 16_000;
/** What is remembered of a model that thinks, and of an account without credits. */
const THINKS = "thinks";
const EMPTY = "empty";

/** A provider that asks for a longer pause is not waited for. */
const LONGEST_PAUSE_MS = 20 * SECOND;

/** A caller may wait for so long. */
const SHORT_PAUSE_MS = 5 * SECOND;

function toRefusal(status: number, words = "", said: number | null = null): Failed {
  const about = parseRefusal(status, words);
  const pauseMs = said ?? 0;
  const isBlocked = about === "address";
  const passes = (isTransient(status) && about !== "account") || isBlocked;
  return new Failed(
    toStatusError(UPSTREAM, status, about),
    passes && pauseMs <= LONGEST_PAUSE_MS ? pauseMs : null,
    false,
    { status, words, about },
    isBlocked || (status === 429 && said !== null && said <= SHORT_PAUSE_MS),
  );
}

/** How many parts of a request a gateway may refuse, one after the other. */
const MAX_REFUSALS = 4;

/** Where that is remembered. Another key is another account. */
function rememberedAt(model: string): string {
  const of = [getSetting("LLM_ENDPOINT"), model, getOptional("LLM_GATEWAY_API_KEY") ?? ""];
  return `gateway:${sha256Hex(of.join(" "))}`;
}

/**
 * The parts of a request that a gateway has refused within a day, whether its model thinks, and whether the account was
 * empty within an hour. Outside a deployment nothing is remembered.
 */
async function readRemembered(ctx: ActionCtx | null, key: string): Promise<Set<string>> {
  const kept = (await ctx?.runQuery(internal.platform.cache.readAnswerAt, { key })) ?? null;
  const age = Date.now() - (kept?.fetchedAt ?? 0);
  const parts = kept === null || age > DAY ? [] : kept.body.split("\n").filter((part) => part !== "");
  return new Set(parts.filter((part) => part !== EMPTY || age < HOUR));
}

/**
 * One answer, asked for again after a failure that may pass. A part that the gateway refuses is left out, and left out for
 * a day once the gateway has answered without it.
 * @param learnt What is remembered from now on, if it is answered.
 */
async function request(
  ctx: ActionCtx | null,
  prompt: Prompt,
  signal: AbortSignal,
  learnt?: string,
): Promise<Answer> {
  const { billTo, maxTokens, attempts } = prompt;
  const model = findModel(prompt);
  const key = rememberedAt(model);
  const left = await readRemembered(ctx, key);
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
    let answer: Answer;
    try {
      answer = await answerTo(prompt, left, signal);
    } catch (error) {
      const failure = toFailed(error, signal);
      const part =
        failure.refusal?.about === "filter"
          ? null
          : refusedPart(failure, prompt.format !== undefined && !left.has("schema"), left);
      if (part !== null && left.size < sizeBefore + MAX_REFUSALS) {
        left.add(part);
        continue;
      }
      // Without a key no call was made.
      if (failure.data.code === "upstream") noteCall("llm", !failure.isQuestions, failure.refuses);
      if (failure.refusal?.about === "account") await keep([...left, EMPTY]);
      if (failure.isBilled) noteCost(billTo, "llm", maxCompletionCost(model, countChars(prompt), maxTokens));
      const isOver = attempt >= attempts && !(waits && failure.isPassing);
      if (failure.retryAfterMs === null || isOver) throw failure;
      waits = false;
      await sleep(Math.max(failure.retryAfterMs, attempt * attempt * SECOND));
      attempt += 1;
      continue;
    }
    noteCall("llm", false);
    noteCost(billTo, "llm", answer.micros);
    if ([...left].join("\n") !== before) await keep(left);
    return answer;
  }
}

/** How long the answer to a probe is kept. */
const PROBED_FOR_MS = 30 * SECOND;

/** Why the gateway writes nothing at this moment, by a probe of one token of its own; `null` if it answers. */
export async function findOutage(ctx: ActionCtx): Promise<string | null> {
  const key = "gateway:probe";
  const kept = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key });
  const isFresh = kept !== null && Date.now() - kept.fetchedAt < PROBED_FOR_MS;
  const body = isFresh ? kept.body : await probe(ctx);
  if (!isFresh)
    await runAfterwards(() => ctx.runMutation(internal.platform.cache.storeAnswer, { key, body }));
  return body === "" ? null : body;
}

/** @returns What is wrong; "" for nothing. A refusal of the question itself is an answer: it says nothing of others. */
async function probe(ctx: ActionCtx): Promise<string> {
  const messages: PromptMessage[] = [{ role: "user", content: "Say yes." }];
  const prompt = { messages, maxTokens: 1, timeoutMs: deadlines.probe, attempts: 1, billTo: "paid" } as const;
  const signal = AbortSignal.timeout(prompt.timeoutMs);
  const left = await readRemembered(ctx, rememberedAt(findModel(prompt)));
  if (left.has(EMPTY)) return toRefusal(402).data.message;
  // One token of thought shows as much as one of an answer.
  left.delete(THINKS);
  try {
    const { micros } = await answerTo(prompt, left, signal);
    noteCall("llm", false);
    noteCost(prompt.billTo, "llm", micros);
    return "";
  } catch (error) {
    const { refusal, refuses, data } = toFailed(error, signal);
    if (refusal?.status === 400 || refusal?.status === 422) return "";
    noteCall("llm", true, refuses);
    return data.message;
  }
}

const findModel = ({ format }: Pick<Prompt, "messages" | "format">): string =>
  chooseModel(format?.json_schema.name);

const countChars = ({ messages }: Prompt): number =>
  messages.reduce((sum, { content }) => sum + content.length, 0);

/** What to leave out after a refusal. Gateways refuse schemas in all words: any refusal of one is tried without it. */
function refusedPart({ refusal }: Failed, isFormatted: boolean, left: Set<string>): string | null {
  if (refusal === null) return null;
  const { status, words } = refusal;
  const part = findBlamedField(words);
  const isRequest = status === 400 || status === 404 || status === 422;
  const canGo = part !== null && !left.has(part) && (part !== "schema" || isFormatted);
  if (canGo && (isRequest || status >= 500)) return part;
  return isRequest && isFormatted ? "schema" : null;
}

/** @param left The parts that the gateway refuses, such as `schema` or `limit 1000`. */
async function answerTo(prompt: Prompt, left: ReadonlySet<string>, signal: AbortSignal): Promise<Answer> {
  const { messages, format, maxTokens } = prompt;
  const requestedModel = findModel(prompt);
  const limits = [...left].flatMap((part) => (part.startsWith("limit ") ? [Number(part.slice(6))] : []));
  const limit = Math.min(maxTokens + (left.has(THINKS) ? THINKING_TOKENS : 0), ...limits);
  const body = {
    model: requestedModel,
    messages: left.has("system") ? withoutSystem(messages) : messages,
    // The older name: every gateway knows it, and few know the newer one.
    [left.has("max_tokens") ? "max_completion_tokens" : "max_tokens"]: limit,
    stream: left.has("stream"),
    ...(format === undefined || left.has("schema") ? {} : { response_format: format }),
  };
  const response = await client().chat.completions.create(body, { signal }).asResponse();
  const { text, also, isRefused, model, usage, isCut } = readCompletion(
    parseResponseBody(await readText(response), format !== undefined),
  );
  const chars = countChars(prompt);
  return {
    text,
    also,
    isRefused,
    model: model ?? requestedModel,
    // English has four characters a token.
    tokensUsed: usage?.total ?? Math.ceil(chars / 4) + Math.ceil(text.length / 4),
    isCut,
    micros:
      usage === null ? maxCompletionCost(requestedModel, chars, limit) : getTokensCost(requestedModel, usage),
  };
}

/** For models that know no system messages. */
function withoutSystem(messages: readonly PromptMessage[]): PromptMessage[] {
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const [first, ...others] = messages.filter(({ role }) => role !== "system");
  return first === undefined
    ? []
    : [{ ...first, content: [...system, first.content].join("\n\n") }, ...others];
}

function readCompletion(outcome: ModelOutcome): Extract<ModelOutcome, { kind: "answer" }> {
  const gatewayError = (what: string) => new AppError("upstream", `${UPSTREAM} ${what}`);
  switch (outcome.kind) {
    case "answer":
      return outcome;
    case "failure":
      throw toRefusal(outcome.status);
    case "declined":
      throw declinedError();
    case "page":
      throw new Failed(gatewayError("sent a page in place of an answer"), 0, false, null, true);
    case "broken":
      throw new Failed(gatewayError("broke off its answer"), 0, true);
    case "unreadable":
      throw new Failed(unusableAnswerError(UPSTREAM), null, true);
  }
}

/** The client without its own deadlines, retries and reading: ours are `signal`, `attempts` and `wire`. */
function client(): OpenAI {
  return new OpenAI({
    apiKey: getRequired("LLM_GATEWAY_API_KEY"),
    baseURL: gatewayBase(getSetting("LLM_ENDPOINT")),
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: DAY,
    fetch: async (url, init) => {
      // The key is sent to this address and to no other.
      const response = await fetch(url, { ...init, redirect: "error" });
      if (response.ok) return response;
      const text = await readText(response);
      const written = extractRejectedAnswer(text);
      if (written === null) throw toRefusal(response.status, text, parsePause(response.headers, text));
      return Response.json({ choices: [{ message: { content: written } }] });
    },
    dangerouslyAllowBrowser: true,
  });
}

/**
 * The base address. `LLM_ENDPOINT` may be the gateway's root, its base of any version (`…/v1`, `…/paas/v4`,
 * `…/v1beta/openai`), or the whole chat-completions address.
 */
function gatewayBase(endpoint: string): string {
  if (endpoint.endsWith("/chat/completions")) return endpoint.slice(0, -"/chat/completions".length);
  return /\/v\d{1,2}(?:(?:alpha|beta)\d*)?(?:\/openai)?$/.test(endpoint) ? endpoint : `${endpoint}/v1`;
}

function toFailed(error: unknown, signal: AbortSignal): Failed {
  // The client wraps what its `fetch` throws.
  const ownFailure =
    error instanceof APIConnectionError && error.cause instanceof AppError ? error.cause : error;
  if (ownFailure instanceof Failed) return ownFailure;
  if (ownFailure instanceof AppError) return new Failed(ownFailure, null, false);
  if (signal.aborted || error instanceof APIUserAbortError || isAbort(error))
    return new Failed(noAnswerError(UPSTREAM, "timeout"), null, true);
  if (error instanceof APIConnectionError) return new Failed(noAnswerError(UPSTREAM, "unreachable"), 0, true);
  // The rest are failures of reading the body, which broke off.
  return new Failed(unusableAnswerError(UPSTREAM), 0, true);
}
