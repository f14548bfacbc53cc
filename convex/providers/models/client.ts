import OpenAI from "openai";
import { getOptional, getRequired, getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { parseTolerantly } from "../../lib/text/json";
import { DAY, SECOND } from "../../lib/time";
import type { BillingSubject } from "../../platform/limits/callers";
import type { Refusing } from "../../platform/outside/calls";
import {
  exchange,
  getRefusing,
  isOutage,
  isSuccess,
  isTransient,
  noAnswerError,
  toStatusError,
  unusableAnswerError,
} from "../call";
import { parsePause, parseRefusal, type Refusal } from "../rejections";
import { cleanText, createFieldReader } from "./cleaning";
import { parseResponseBody, type ModelOutcome } from "./wire";

/**
 * One request to the LLM gateway, with OpenAI-compatible chat completions (docs.bankr.bot/llm-gateway/api-reference), and
 * its answer or its failure. The response is read in `wire`.
 */
export const GATEWAY = "The LLM gateway";

export type PromptMessage = { role: "system" | "user" | "assistant"; content: string };

export type Prompt = {
  messages: PromptMessage[];
  /** A schema beside the prompt; its name chooses the model. */
  format?: { name: string; schema: Record<string, unknown> };
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

type ReadAnswer = Extract<ModelOutcome, { kind: "answer" }>;

export type Completion = Pick<ReadAnswer, "text" | "also" | "isRefused"> & {
  /** The gateway's name of the model that answered; the requested one if it does not say. */
  model: string;
  /** Of prompt and answer together; estimated if the gateway does not say. */
  tokensUsed: number;
};

/** `micros`: its cost in millionths of a USD. */
export type GatewayAnswer = Completion & Pick<ReadAnswer, "isCut"> & { micros: number };

/** Why one request has no answer. */
export class GatewayFailure extends AppError {
  constructor(
    { data: { code, message } }: AppError,
    /** The shortest wait in ms before the same request may succeed; `null` if it may not. */
    readonly retryAfterMs: number | null,
    /** A refusal costs nothing. A call that timed out, or whose answer broke off, may have been answered. */
    readonly isBilled: boolean,
    /** The gateway's refusal, if it refused, and its subject. */
    readonly refusal: { status: number; words: string; about: Refusal } | null = null,
    /** Whether it cost nothing and passes at once, so that the request is repeated although a caller waits. */
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

/** The failure for a model that will not answer. */
export function declinedError(): AppError {
  const error = new AppError("upstream", `${GATEWAY} declined to answer`);
  return new GatewayFailure(error, null, true, { status: 200, words: "", about: "filter" });
}

/** A longer pause that a provider asks for is not waited for. */
const LONGEST_PAUSE_MS = 20 * SECOND;
/** A caller may wait for so long. */
const SHORT_PAUSE_MS = 5 * SECOND;

/** @param said The pause that the gateway asks for, in ms. */
export function toRefusal(status: number, words = "", said: number | null = null): GatewayFailure {
  const about = parseRefusal(status, words);
  const pauseMs = said ?? 0;
  const isBlocked = about === "address";
  const passes = (isTransient(status) && about !== "account") || isBlocked;
  return new GatewayFailure(
    toStatusError(GATEWAY, status, about),
    passes && pauseMs <= LONGEST_PAUSE_MS ? pauseMs : null,
    false,
    { status, words, about },
    isBlocked || (status === 429 && said !== null && said <= SHORT_PAUSE_MS),
  );
}

/** The room in which a model thinks, in tokens, beside that of its answer. */
const THINKING_TOKENS = 16_000;
/** The part that stands for a model that thinks. */
export const THINKS = "thinks";

/**
 * Sends a prompt once.
 * @param left The parts that the gateway does not support, such as `schema` or `limit 1000`, and `THINKS`.
 * @throws GatewayFailure; AppError `not_configured`
 */
export async function sendPrompt(
  prompt: Prompt,
  left: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<GatewayAnswer> {
  const { messages, format, maxTokens } = prompt;
  const requestedModel = findModel(prompt);
  const limits = [...left].flatMap((part) => (part.startsWith("limit ") ? [Number(part.slice(6))] : []));
  // One token of thought shows as much as one of an answer.
  const thinks = left.has(THINKS) && maxTokens > 1;
  const limit = Math.min(maxTokens + (thinks ? THINKING_TOKENS : 0), ...limits);
  const body = {
    model: requestedModel,
    messages: left.has("system") ? withoutSystem(messages) : messages,
    // The older name: every gateway knows it, and few know the newer one.
    [left.has("max_tokens") ? "max_completion_tokens" : "max_tokens"]: limit,
    stream: left.has("stream"),
    ...(format === undefined || left.has("schema")
      ? {}
      : { response_format: { type: "json_schema" as const, json_schema: { ...format, strict: true } } }),
  };
  const { usage, model, ...answer } = requireCompletion(
    parseResponseBody(await post(body, signal), format !== undefined),
  );
  return {
    ...answer,
    model: model ?? requestedModel,
    // English has four characters a token.
    tokensUsed: usage?.total ?? Math.ceil(countChars(prompt) / 4) + Math.ceil(answer.text.length / 4),
    micros: usage === null ? computeMostCost(prompt, limit) : getTokensCost(requestedModel, usage),
  };
}

/** Posts a request once, by the exchange of all providers. @returns The body of the answer. */
async function post(body: OpenAI.ChatCompletionCreateParams, signal: AbortSignal): Promise<string> {
  let failure: unknown = null;
  const client = new OpenAI({
    apiKey: getRequired("LLM_GATEWAY_API_KEY"),
    baseURL: getBaseAddress(getSetting("LLM_ENDPOINT")),
    organization: null,
    project: null,
    // Deadlines and attempts are the caller's.
    maxRetries: 0,
    timeout: DAY,
    fetch: async (url, init) => {
      try {
        return new Response(readCompletionBody(await exchange(url, { ...init, signal })));
      } catch (error) {
        failure = error;
        throw error;
      }
    },
    dangerouslyAllowBrowser: true,
  });
  try {
    return await (await client.chat.completions.create(body, { signal }).asResponse()).text();
  } catch (error) {
    // The client wraps what its `fetch` throws, and asks nothing once it is over.
    throw (
      failure ?? (signal.aborted ? new GatewayFailure(noAnswerError(GATEWAY, "timeout"), null, true) : error)
    );
  }
}

/**
 * Small questions, by the names of their answers' shapes: code checks their figures, or nobody reads their words as they
 * are. Reports, signals and chat are for the usual model.
 */
const SMALL: ReadonlySet<string> = new Set([
  "market_snapshot",
  "token_answer",
  "onchain_signals",
  "signal_review",
  "restatement",
  "doctor_small",
]);

/** The model that a prompt is for. */
export function findModel({ format }: Pick<Prompt, "format">): string {
  const isSmall = format !== undefined && SMALL.has(format.name);
  return (isSmall ? getOptional("LLM_MODEL_SMALL") : undefined) ?? getSetting("LLM_MODEL");
}

function countChars({ messages }: Prompt): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0);
}

/** For models that know no system messages. */
function withoutSystem(messages: readonly PromptMessage[]): PromptMessage[] {
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const [first, ...others] = messages.filter(({ role }) => role !== "system");
  return first === undefined
    ? []
    : [{ ...first, content: [...system, first.content].join("\n\n") }, ...others];
}

function requireCompletion(outcome: ModelOutcome): ReadAnswer {
  const gatewayError = (what: string) => new AppError("upstream", `${GATEWAY} ${what}`);
  switch (outcome.kind) {
    case "answer":
      return outcome;
    case "failure":
      throw toRefusal(outcome.status);
    case "declined":
      throw declinedError();
    case "page":
      throw new GatewayFailure(gatewayError("sent a page in place of an answer"), 0, false, null, true);
    case "broken":
      throw new GatewayFailure(gatewayError("broke off its answer"), 0, true);
    case "unreadable":
      throw new GatewayFailure(unusableAnswerError(GATEWAY), null, true);
  }
}

/** The body of a completion. @throws GatewayFailure for a refusal, and without an answer */
function readCompletionBody(answer: Awaited<ReturnType<typeof exchange>>): string {
  if (answer.kind !== "answer")
    throw new GatewayFailure(noAnswerError(GATEWAY, answer.kind), answer.kind === "timeout" ? null : 0, true);
  const { status, headers, text } = answer;
  if (isSuccess(answer)) return text;
  const written = extractRejectedAnswer(text);
  if (written === null) throw toRefusal(status, text, parsePause(headers, text));
  return JSON.stringify({ choices: [{ message: { content: written } }] });
}

/** A model's answer to a schema that its gateway refused to pass on; `null` for any other refusal. */
export function extractRejectedAnswer(words: string): string | null {
  if (!/json_validate_failed|failed_generation|failed to (?:generate|validate) json/i.test(words))
    return null;
  try {
    const body = createFieldReader(parseTolerantly(words));
    const written = createFieldReader(body("error"))("failed_generation") ?? body("failed_generation");
    return typeof written === "string" ? cleanText(written) : "";
  } catch {
    return "";
  }
}

/**
 * The base address. `LLM_ENDPOINT` may be the gateway's root, its base of any version (`…/v1`, `…/paas/v4`,
 * `…/v1beta/openai`), or the whole chat-completions address.
 */
function getBaseAddress(endpoint: string): string {
  if (endpoint.endsWith("/chat/completions")) return endpoint.slice(0, -"/chat/completions".length);
  return /\/v\d{1,2}(?:(?:alpha|beta)\d*)?(?:\/openai)?$/.test(endpoint) ? endpoint : `${endpoint}/v1`;
}

/**
 * USD per million tokens, which is millionths of a USD per token, by prefix of the model's name: the first match wins. By the
 * public price lists of August 2026; discounts for cached prompts are ignored.
 */
const TOKEN_PRICES: readonly (readonly [start: string, input: number, output: number])[] = [
  ["claude-haiku", 1, 5],
  ["claude-sonnet", 3, 15],
  ["claude-opus", 5, 25],
  ["gemini-3-flash", 0.5, 3],
  ["gemini", 2, 12],
  ["gpt-5-mini", 0.25, 2],
  ["gpt-5-nano", 0.05, 0.4],
  ["gpt-5", 1.75, 14],
  ["grok-4.3", 1.25, 2.5],
  ["grok", 2, 6],
  ["deepseek", 0.6, 1.7],
  ["qwen", 0.6, 3.6],
  ["kimi", 0.6, 3],
];
/** The price of a model that is not in the table: a high one, so that the day's budget is not overspent. */
const UNKNOWN_PRICE = { input: 5, output: 25 };

/** An upper estimate: few texts have more than one token per three characters. */
const CHARS_PER_TOKEN = 3;

/** The maximum cost of a completion: of its prompt by its characters, and of the longest allowed answer. */
export function computeMostCost(prompt: Prompt, maxTokens: number): number {
  const input = Math.ceil(countChars(prompt) / CHARS_PER_TOKEN);
  return getTokensCost(findModel(prompt), { input, output: maxTokens });
}

/** The cost of a model's tokens, in millionths of a USD. */
export function getTokensCost(model: string, usage: { input: number; output: number }): number {
  const bare = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const listed = TOKEN_PRICES.find(([start]) => bare.startsWith(start));
  const [, input, output] = listed ?? ["", UNKNOWN_PRICE.input, UNKNOWN_PRICE.output];
  return Math.ceil(usage.input * input + usage.output * output);
}
