import OpenAI, { APIConnectionError, APIError, APIUserAbortError } from "openai";
import * as z from "zod";
import type { Purse } from "../../lib/budget/purses";
import { completionCost, dearestCompletion, usageOf, type Usage } from "../../lib/budget/costs";
import { required, setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { noteCall } from "../../lib/outside/notes";
import { wellFormed } from "../../lib/text/strings";
import { DAY, SECOND, sleep } from "../../lib/time";
import {
  inShape,
  isAbort,
  isTransient,
  statusFailure,
  timeoutFailure,
  unreachableFailure,
  unusableFailure,
} from "../call";

/** The LLM gateway: OpenAI-compatible chat completions (docs.bankr.bot/llm-gateway/api-reference). */
const UPSTREAM = "The LLM gateway";

export type Message = { role: "system" | "user" | "assistant"; content: string };

export type Prompt = {
  messages: Message[];
  /** The longest answer, in tokens. */
  maxTokens: number;
  /** For the whole call, retries included, in ms of real time. */
  timeoutMs: number;
  /** How many attempts a transient failure may take in all; 1 if a caller waits. */
  attempts: number;
  /** Who pays. */
  purse: Purse;
  /** Absent for `LLM_MODEL`. */
  model?: string | undefined;
};

export type Completion = {
  text: string;
  /** The gateway's name of the model that answered. */
  model: string;
  /** Of prompt and answer together. */
  tokensUsed: number;
};

const count = z.number().int().nonnegative();

/** The parts of a chat completion that the service reads; everything else is ignored. */
const completionShape = z.object({
  model: z.string().min(1),
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: z
    .object({
      total_tokens: count,
      prompt_tokens: count.nullish(),
      completion_tokens: count.nullish(),
    })
    .nullish(),
});

/** The gateway refused a part of the request; without that part, it may answer the prompt. */
class PartRefused extends AppError {
  constructor(status: number) {
    const { code, message } = statusFailure(UPSTREAM, status).data;
    super(code, message);
  }
}
/** It refused the schema. */
export class FormatRefused extends PartRefused {}
/** It refused the answer's limit: reasoning models know only its newer name. */
class LimitRefused extends PartRefused {}

/**
 * Asks for prose. An answer that was cut off at its limit is requested once more, with more room.
 * @throws AppError `upstream` for every failure of the gateway, including an empty answer or one that was cut off
 * twice.
 */
export async function complete(prompt: Prompt): Promise<Completion> {
  const completion = await ask(prompt, undefined, AbortSignal.timeout(prompt.timeoutMs));
  if (completion.text.trim() === "") throw unusableFailure(UPSTREAM);
  return completion;
}

/** The factor of the second limit. */
const MORE_ROOM = 2;

/**
 * One complete answer: if it was cut off, it is requested once more, with more room.
 * @throws AppError `upstream`; `FormatRefused` if the format is the reason.
 */
export async function ask(
  prompt: Omit<Prompt, "timeoutMs">,
  format: OpenAI.ResponseFormatJSONSchema | undefined,
  signal: AbortSignal,
): Promise<Completion> {
  const first = await request(prompt, format, signal);
  if (!first.isCut) return first;
  const second = await request({ ...prompt, maxTokens: prompt.maxTokens * MORE_ROOM }, format, signal);
  if (second.isCut)
    throw new AppError("upstream", `${UPSTREAM} sent an answer that was cut off at its limit`);
  return { ...second, tokensUsed: first.tokensUsed + second.tokensUsed };
}

/** The answer to the repair turn could not be used either. Recognised by its class within the action that asked. */
export class UnusableAnswer extends AppError {
  /** @param problem What was wrong with it, naming fields and figures. */
  constructor(readonly problem: string) {
    const { code, message } = unusableFailure(UPSTREAM).data;
    super(code, message);
  }
}

type Answer = Completion & {
  /** It ended at the limit, not where the model would have ended. */
  isCut: boolean;
  /** `null` if the gateway did not report it. */
  usage: Usage | null;
};

async function request(
  prompt: Omit<Prompt, "timeoutMs">,
  format: OpenAI.ResponseFormatJSONSchema | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const chars = prompt.messages.reduce((sum, { content }) => sum + content.length, 0);
  const dearest = dearestCompletion(chars, prompt.maxTokens, prompt.model);
  for (let attempt = 1; ; attempt++) {
    const hold = await prompt.purse.hold("llm", dearest);
    try {
      const completion = await requestOnce(prompt, format, signal);
      noteCall("llm", false);
      await hold.settle(completion.usage === null ? dearest : completionCost(completion.usage, prompt.model));
      return completion;
    } catch (error) {
      const { failure, retryAfterMs } = classify(error, signal);
      // Without a key no call was made. A refused part is a failure for `/health`.
      if (failure.data.code === "upstream") noteCall("llm", !(failure instanceof FormatRefused));
      await hold.settle(isUnbilled(error, failure) ? 0 : dearest);
      if (retryAfterMs === null || attempt >= prompt.attempts) throw failure;
      await sleep(Math.max(retryAfterMs, attempt * attempt * SECOND));
    }
  }
}

/** Whether a failed call cost nothing: it was refused, or never sent. A call that timed out may have been answered. */
function isUnbilled(error: unknown, failure: AppError): boolean {
  if (failure instanceof FormatRefused || failure.data.code !== "upstream") return true;
  return error instanceof APIError && typeof error.status === "number";
}

async function requestOnce(
  prompt: Pick<Prompt, "messages" | "maxTokens" | "model">,
  format: OpenAI.ResponseFormatJSONSchema | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    // The older name: every gateway knows it, and few know the newer one.
    return await answerTo(prompt, "max_tokens", format, signal);
  } catch (error) {
    if (!(inner(error) instanceof LimitRefused)) throw error;
    return answerTo(prompt, "max_completion_tokens", format, signal);
  }
}

async function answerTo(
  { messages, maxTokens, model: named }: Pick<Prompt, "messages" | "maxTokens" | "model">,
  limit: "max_tokens" | "max_completion_tokens",
  format: OpenAI.ResponseFormatJSONSchema | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  const answer: unknown = await client(format !== undefined).chat.completions.create(
    {
      model: named ?? setting("LLM_MODEL"),
      messages,
      [limit]: maxTokens,
      stream: false,
      ...(format === undefined ? {} : { response_format: format }),
    },
    { signal },
  );
  const { model, choices, usage } = inShape(UPSTREAM, answer, completionShape);
  const [choice] = choices;
  return {
    text: wellFormed(choice?.message.content ?? ""),
    model,
    tokensUsed: usage?.total_tokens ?? 0,
    isCut: choice?.finish_reason === "length",
    usage: usage == null ? null : usageOf(usage.total_tokens, usage.prompt_tokens, usage.completion_tokens),
  };
}

/** The client without its own deadlines and retries: ours are `signal` and `attempts`. */
function client(isFormatted: boolean): OpenAI {
  return new OpenAI({
    apiKey: required("LLM_GATEWAY_API_KEY"),
    baseURL: gatewayBase(setting("LLM_ENDPOINT")),
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: DAY,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (response.status !== 400 && response.status !== 422) return response;
      const text = await response.clone().text();
      if (blamesLimit(text)) throw new LimitRefused(response.status);
      if (isFormatted && blamesFormat(text)) throw new FormatRefused(response.status);
      return response;
    },
    dangerouslyAllowBrowser: true,
  });
}

/** The base address. `LLM_ENDPOINT` may be the gateway's root, its `/v1`, or the whole chat-completions address. */
function gatewayBase(endpoint: string): string {
  if (endpoint.endsWith("/chat/completions")) return endpoint.slice(0, -"/chat/completions".length);
  return endpoint.endsWith("/v1") ? endpoint : `${endpoint}/v1`;
}

/** Whether a refusal is about the format. Gateways word it in many ways, so the text decides. */
function blamesFormat(text: string): boolean {
  return /response[_ ]?format|json[_ ]?schema|\bschema\b|structured[_ ]?output/i.test(text);
}

function blamesLimit(text: string): boolean {
  return text.includes("max_completion_tokens");
}

/** A provider that asks for a longer pause is not waited for. */
const LONGEST_PAUSE_MS = 20 * SECOND;

/** `retryAfterMs`: the shortest wait before the same request may succeed; `null` if it may not. */
function classify(error: unknown, signal: AbortSignal): { failure: AppError; retryAfterMs: number | null } {
  const ours = inner(error);
  if (ours !== null) return { failure: ours, retryAfterMs: null };
  if (signal.aborted || error instanceof APIUserAbortError || isAbort(error)) {
    return { failure: timeoutFailure(UPSTREAM), retryAfterMs: null };
  }
  if (error instanceof APIConnectionError) return { failure: unreachableFailure(UPSTREAM), retryAfterMs: 0 };
  if (error instanceof APIError && typeof error.status === "number") {
    const pause = pauseIn(error.headers);
    const retryable = isTransient(error.status) && pause <= LONGEST_PAUSE_MS;
    return { failure: statusFailure(UPSTREAM, error.status), retryAfterMs: retryable ? pause : null };
  }
  // The rest are failures of reading the body. A complete body that is not JSON will not improve; a truncated one may.
  return { failure: unusableFailure(UPSTREAM), retryAfterMs: error instanceof SyntaxError ? null : 0 };
}

/** Our own failure, which the client may have wrapped as a connection error. */
function inner(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  return error instanceof APIConnectionError && error.cause instanceof AppError ? error.cause : null;
}

/** `Retry-After` in ms; 0 if there is none. It may contain seconds or a date. */
function pauseIn(headers: unknown): number {
  const value = headers instanceof Headers ? headers.get("Retry-After") : null;
  if (value === null) return 0;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * SECOND : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
