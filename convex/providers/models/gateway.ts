import OpenAI, { APIConnectionError, APIUserAbortError } from "openai";
import { type Purse, completionCost, dearestCompletion } from "../../lib/limits/costs";
import { required, setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { noteCall } from "../../lib/outside/notes";
import { DAY, SECOND, sleep } from "../../lib/time";
import {
  isAbort,
  isTransient,
  statusFailure,
  timeoutFailure,
  unreachableFailure,
  unusableFailure,
} from "../call";
import { blamed, readBody, rejectedAnswer, type Outcome, type Refused } from "./wire";

/**
 * The LLM gateway: OpenAI-compatible chat completions (docs.bankr.bot/llm-gateway/api-reference). The client sends;
 * what comes back is read in `wire`.
 */
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
  /** What the gateway is known to refuse. */
  memory?: Memory;
  /** Absent for `LLM_MODEL`. */
  model?: string | undefined;
};

/** What gateways have refused, such as `schema` or `limit 1000`: left out for a day. */
export type Memory = {
  refused: () => Promise<readonly string[]>;
  note: (part: string) => Promise<void>;
};

export type Completion = {
  text: string;
  /** The gateway's name of the model that answered; the one that was asked if it does not say. */
  model: string;
  /** Of prompt and answer together; estimated if the gateway does not say. */
  tokensUsed: number;
};

/** A schema beside the prompt. */
export type Format = OpenAI.ResponseFormatJSONSchema;
type Call = Omit<Prompt, "timeoutMs">;

/**
 * Asks for prose. An answer that was cut off at its limit is requested once more, with more room.
 * @throws AppError `upstream` for every failure of the gateway, including an empty answer or one that was cut off
 * twice.
 */
export async function complete(prompt: Prompt): Promise<Completion> {
  const completion = await ask(prompt, undefined, AbortSignal.timeout(prompt.timeoutMs));
  if (completion.text === "") throw unusableFailure(UPSTREAM);
  return completion;
}

/** The factor of the second limit. */
const MORE_ROOM = 2;

/**
 * One complete answer, perhaps empty: if it was cut off, it is requested once more, with more room.
 * @throws AppError `upstream`
 */
export async function ask(
  prompt: Call,
  format: Format | undefined,
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
  /** In millionths of a USD. */
  micros: number;
};

/** The gateway's response to one request, or why there is none; `failure` names it for people. */
class Refusal extends AppError {
  constructor(
    readonly status: number,
    readonly words: string,
    readonly pauseMs: number,
  ) {
    const { code, message } = statusFailure(UPSTREAM, status).data;
    super(code, message);
  }
}
/** A failure after which the same request may succeed. `isBilled`: something was written. */
class Passing extends AppError {
  constructor(
    { data: { code, message } }: AppError,
    readonly isBilled: boolean,
  ) {
    super(code, message);
  }
}

async function request(prompt: Call, format: Format | undefined, signal: AbortSignal): Promise<Answer> {
  const chars = prompt.messages.reduce((sum, { content }) => sum + content.length, 0);
  const dearest = dearestCompletion(chars, prompt.maxTokens, prompt.model);
  for (let attempt = 1; ; attempt++) {
    try {
      const completion = await requestOnce(prompt, format, signal);
      noteCall("llm", false);
      prompt.purse.pay("llm", completion.micros);
      return completion;
    } catch (error) {
      const { failure, retryAfterMs, isBilled } = classify(error, signal);
      // Without a key no call was made.
      if (failure.data.code === "upstream") noteCall("llm", true);
      if (isBilled) prompt.purse.pay("llm", dearest);
      if (retryAfterMs === null || attempt >= prompt.attempts) throw failure;
      await sleep(Math.max(retryAfterMs, attempt * attempt * SECOND));
    }
  }
}

/** How many parts of a request a gateway may refuse, one after the other. */
const MAX_REFUSALS = 4;

/** One answer. A part that the gateway refuses is left out, and remembered once the gateway answers without it. */
async function requestOnce(prompt: Call, format: Format | undefined, signal: AbortSignal): Promise<Answer> {
  const known = (await prompt.memory?.refused()) ?? [];
  const left = new Set(known);
  const learnt: string[] = [];
  for (;;) {
    try {
      const answer = await answerTo(prompt, format, left, signal);
      for (const part of learnt) await prompt.memory?.note(part);
      return answer;
    } catch (error) {
      if (!(error instanceof Refusal) || learnt.length >= MAX_REFUSALS) throw error;
      const part = refusedPart(error, format !== undefined && !left.has("schema"), left);
      if (part === null) throw error;
      left.add(part);
      learnt.push(part);
    }
  }
}

/** What to leave out after a refusal. Gateways refuse schemas in all words: any refusal of one is tried without it. */
function refusedPart({ status, words }: Refusal, isFormatted: boolean, left: Set<string>): string | null {
  const refused = blamed(words);
  const isRequest = status === 400 || status === 404 || status === 422;
  if (refused !== null && (isRequest || status >= 500) && !(refused.part === "schema" && !isFormatted)) {
    const part = nameOf(refused);
    if (!left.has(part)) return part;
  }
  return isRequest && isFormatted ? "schema" : null;
}

function nameOf(refused: Refused): string {
  return refused.part === "limit" ? `limit ${refused.most}` : refused.part;
}

async function answerTo(
  { messages, maxTokens, model: named }: Call,
  format: Format | undefined,
  left: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Answer> {
  const asked = named ?? setting("LLM_MODEL");
  const limits = [...left].flatMap((part) => (part.startsWith("limit ") ? [Number(part.slice(6))] : []));
  const limit = Math.min(maxTokens, ...limits);
  const said = left.has("system") ? withoutSystem(messages) : messages;
  const body = await post(
    {
      model: asked,
      messages: said,
      // The older name: every gateway knows it, and few know the newer one.
      [left.has("max_tokens") ? "max_completion_tokens" : "max_tokens"]: limit,
      stream: left.has("stream"),
      ...(format === undefined || left.has("schema") ? {} : { response_format: format }),
    },
    signal,
  );
  const chars = messages.reduce((sum, { content }) => sum + content.length, 0);
  const answer = answerIn(typeof body === "string" ? readBody(body) : body);
  const estimate = { input: tokensIn(chars), output: tokensIn(answer.text.length) };
  const { total, ...usage } = answer.usage ?? { ...estimate, total: estimate.input + estimate.output };
  return {
    text: answer.text,
    model: answer.model ?? asked,
    tokensUsed: total,
    isCut: answer.isCut,
    micros: answer.usage === null ? dearestCompletion(chars, limit, named) : completionCost(usage, named),
  };
}

/** English has four characters a token. */
const tokensIn = (chars: number): number => Math.ceil(chars / 4);

/** For models that know no system messages. */
function withoutSystem(messages: readonly Message[]): Message[] {
  const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
  const [first, ...others] = messages.filter(({ role }) => role !== "system");
  return first === undefined
    ? []
    : [{ ...first, content: [...system, first.content].join("\n\n") }, ...others];
}

function answerIn(outcome: Outcome): Extract<Outcome, { kind: "answer" }> {
  switch (outcome.kind) {
    case "answer":
      return outcome;
    case "failure":
      throw new Refusal(outcome.status, "", 0);
    case "declined":
      throw new AppError("upstream", `${UPSTREAM} declined to answer`);
    case "broken":
      throw new Passing(new AppError("upstream", `${UPSTREAM} broke off its answer`), true);
    case "unreadable":
      throw unusableFailure(UPSTREAM);
  }
}

/** @returns The body of a successful response, or an answer that came as a refusal. @throws Refusal */
async function post(
  body: Record<string, unknown> & { model: string; messages: Message[]; stream: boolean },
  signal: AbortSignal,
): Promise<string | Outcome> {
  try {
    const response = await client().chat.completions.create(body, { signal }).asResponse();
    return await response.text();
  } catch (error) {
    const refusal = inner(error);
    if (!(refusal instanceof Refusal)) throw error;
    const written = rejectedAnswer(refusal.words);
    if (written === null) throw refusal;
    return { kind: "answer", text: written, model: null, usage: null, isCut: false };
  }
}

/** The client without its own deadlines, retries and reading: ours are `signal`, `attempts` and `wire`. */
function client(): OpenAI {
  return new OpenAI({
    apiKey: required("LLM_GATEWAY_API_KEY"),
    baseURL: gatewayBase(setting("LLM_ENDPOINT")),
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: DAY,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (response.ok) return response;
      throw new Refusal(response.status, await response.text(), pauseIn(response.headers));
    },
    dangerouslyAllowBrowser: true,
  });
}

/** The base address. `LLM_ENDPOINT` may be the gateway's root, its `/v1`, or the whole chat-completions address. */
function gatewayBase(endpoint: string): string {
  if (endpoint.endsWith("/chat/completions")) return endpoint.slice(0, -"/chat/completions".length);
  return endpoint.endsWith("/v1") ? endpoint : `${endpoint}/v1`;
}

/** A provider that asks for a longer pause is not waited for. */
const LONGEST_PAUSE_MS = 20 * SECOND;

type Failed = {
  failure: AppError;
  /** The shortest wait before the same request may succeed; `null` if it may not. */
  retryAfterMs: number | null;
  /** A refusal costs nothing. A call that timed out, or whose answer broke off, may have been answered. */
  isBilled: boolean;
};

function classify(error: unknown, signal: AbortSignal): Failed {
  const ours = inner(error);
  if (ours instanceof Refusal) {
    const isRetryable = isTransient(ours.status) && ours.pauseMs <= LONGEST_PAUSE_MS;
    return { failure: ours, retryAfterMs: isRetryable ? ours.pauseMs : null, isBilled: false };
  }
  if (ours instanceof Passing) return { failure: ours, retryAfterMs: 0, isBilled: ours.isBilled };
  if (ours !== null) return { failure: ours, retryAfterMs: null, isBilled: ours.data.code === "upstream" };
  if (signal.aborted || error instanceof APIUserAbortError || isAbort(error))
    return { failure: timeoutFailure(UPSTREAM), retryAfterMs: null, isBilled: true };
  if (error instanceof APIConnectionError)
    return { failure: unreachableFailure(UPSTREAM), retryAfterMs: 0, isBilled: true };
  // The rest are failures of reading the body, which broke off.
  return { failure: unusableFailure(UPSTREAM), retryAfterMs: 0, isBilled: true };
}

/** Our own failure, which the client may have wrapped as a connection error. */
function inner(error: unknown): AppError | null {
  if (error instanceof AppError) return error;
  return error instanceof APIConnectionError && error.cause instanceof AppError ? error.cause : null;
}

/** `Retry-After` in ms; 0 if there is none. It may contain seconds or a date. */
function pauseIn(headers: Headers): number {
  const value = headers.get("Retry-After");
  if (value === null) return 0;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * SECOND : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}
