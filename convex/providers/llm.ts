import OpenAI, { APIConnectionError, APIError, APIUserAbortError } from "openai";
import * as z from "zod";
import { required, setting } from "../lib/env";
import { AppError } from "../lib/errors";
import { extractJson } from "../lib/json";
import { noteCall } from "../lib/providerCalls";
import { cut, wellFormed } from "../lib/text";
import { DAY, SECOND, sleep } from "../lib/time";
import {
  isAbort,
  isTransient,
  statusFailure,
  timeoutFailure,
  unreachableFailure,
  unusableFailure,
} from "./call";

/** The LLM gateway: OpenAI-compatible chat completions (docs.bankr.bot/llm-gateway/api-reference). */
const UPSTREAM = "The LLM gateway";

export type Message = { role: "system" | "user" | "assistant"; content: string };

export type Prompt = {
  messages: Message[];
  /** The longest answer, in tokens. */
  maxTokens: number;
  /** For the whole call, retries and repair included, in ms of real time. */
  timeoutMs: number;
  /** How often a transient failure may be tried in all; 1 where a caller waits. */
  attempts: number;
};

export type Completion = {
  text: string;
  /** The model that answered, as the gateway names it. */
  model: string;
  /** Prompt and answer together. */
  tokensUsed: number;
};

/** What the service reads of a chat completion; anything else in it is ignored. */
const completionShape = z.object({
  model: z.string().min(1),
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
  usage: z.object({ total_tokens: z.number().int().nonnegative() }).nullish(),
});

/**
 * Asks for prose.
 * @throws AppError `upstream` for every failure of the gateway, an empty answer included.
 */
export async function complete(prompt: Prompt): Promise<Completion> {
  const completion = await request(prompt, undefined, AbortSignal.timeout(prompt.timeoutMs));
  if (completion.text.trim() === "") throw unusableFailure(UPSTREAM);
  return completion;
}

export type StructuredPrompt<Shape extends z.ZodType> = Prompt & {
  /** Names the schema on the wire: letters, digits, `_` and `-`, at most 64. */
  name: string;
  shape: Shape;
  /** Demands that a schema cannot express; returns what is wrong, or `null`. Broken ones cost the repair turn. */
  demands?: (value: z.output<Shape>) => string | null;
  /** The mechanical fix for what the repair turn did not mend; returns `null` where there is none. */
  mend?: (value: z.output<Shape>) => z.output<Shape> | null;
};

/** The answer to the repair turn could not be used either. Known by its class within the action that asked. */
export class UnusableAnswer extends AppError {
  /** @param problem What was wrong with it, in words that name fields and figures. */
  constructor(readonly problem: string) {
    const { code, message } = unusableFailure(UPSTREAM).data;
    super(code, message);
  }
}

/**
 * Asks for a JSON value. The answer is read tolerantly (fences, prose around it), checked strictly, and sent back once
 * with what was wrong.
 * @returns The value, and `text`: the raw answer it was read from.
 * @throws AppError `upstream` when the gateway fails; `UnusableAnswer` when the second answer is no better.
 */
export async function completeStructured<Shape extends z.ZodType>(
  prompt: StructuredPrompt<Shape>,
): Promise<Completion & { value: z.output<Shape>; repaired: boolean }> {
  const signal = AbortSignal.timeout(prompt.timeoutMs);
  const format: OpenAI.ResponseFormatJSONSchema = {
    type: "json_schema",
    json_schema: { name: prompt.name, schema: jsonSchema(prompt.shape), strict: true },
  };
  const first = await request(prompt, format, signal);
  const checked = check(prompt, first.text);
  if (checked.problem === null) return { ...first, value: checked.value, repaired: false };

  const messages: Message[] = [
    ...prompt.messages,
    { role: "assistant", content: cut(first.text, 20_000) },
    {
      role: "user",
      content: `That answer cannot be used: ${checked.problem}. Send the whole corrected JSON value and nothing else.`,
    },
  ];
  const second = await request({ ...prompt, messages }, format, signal);
  const tokensUsed = first.tokensUsed + second.tokensUsed;
  const rechecked = check(prompt, second.text);
  if (rechecked.problem === null) return { ...second, tokensUsed, value: rechecked.value, repaired: true };
  const parsed = rechecked.value ?? checked.value;
  const mended = parsed === undefined ? null : (prompt.mend?.(parsed) ?? null);
  if (mended === null) throw new UnusableAnswer(rechecked.problem);
  return { ...second, tokensUsed, value: mended, repaired: true };
}

type Checked<T> = { problem: null; value: T } | { problem: string; value?: T };

/** `value` beside a `problem`: the shape was right and only the demands were not met. */
function check<Shape extends z.ZodType>(
  prompt: StructuredPrompt<Shape>,
  text: string,
): Checked<z.output<Shape>> {
  const json = extractJson(text);
  if (json === undefined) return { problem: "it holds no complete JSON value" };
  const parsed = prompt.shape.safeParse(json);
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, 5);
    return {
      problem: issues.map((issue) => `${issue.path.join(".") || "value"}: ${issue.message}`).join("; "),
    };
  }
  const problem = prompt.demands?.(parsed.data) ?? null;
  return problem === null ? { problem, value: parsed.data } : { problem, value: parsed.data };
}

async function request(
  prompt: Prompt,
  format: OpenAI.ResponseFormatJSONSchema | undefined,
  signal: AbortSignal,
): Promise<Completion> {
  for (let attempt = 1; ; attempt++) {
    try {
      const completion = await requestOnce(prompt, format, signal);
      noteCall("llm", false);
      return completion;
    } catch (error) {
      const { failure, retryable } = classify(error, signal);
      // Without a key nobody was asked.
      if (failure.data.code === "upstream") noteCall("llm", true);
      if (!retryable || attempt >= prompt.attempts) throw failure;
      await sleep(attempt * attempt * SECOND);
    }
  }
}

async function requestOnce(
  { messages, maxTokens }: Prompt,
  format: OpenAI.ResponseFormatJSONSchema | undefined,
  signal: AbortSignal,
): Promise<Completion> {
  const answer: unknown = await client().chat.completions.create(
    {
      model: setting("LLM_MODEL"),
      messages,
      max_tokens: maxTokens,
      stream: false,
      ...(format === undefined ? {} : { response_format: format }),
    },
    { signal },
  );
  const parsed = completionShape.safeParse(answer);
  if (!parsed.success) throw unusableFailure(UPSTREAM);
  const { model, choices, usage } = parsed.data;
  return { text: wellFormed(choices[0]?.message.content ?? ""), model, tokensUsed: usage?.total_tokens ?? 0 };
}

/** Deadlines and retries are ours (`signal`, `attempts`), so the client's own are put out of the way. */
function client(): OpenAI {
  return new OpenAI({
    apiKey: required("LLM_GATEWAY_API_KEY"),
    baseURL: gatewayBase(setting("LLM_ENDPOINT")),
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: DAY,
    fetch: (url, init) => fetch(url, init),
    dangerouslyAllowBrowser: true,
  });
}

/** `LLM_ENDPOINT` may be the gateway's root, its `/v1`, or the whole chat-completions address. */
export function gatewayBase(endpoint: string): string {
  if (endpoint.endsWith("/chat/completions")) return endpoint.slice(0, -"/chat/completions".length);
  return endpoint.endsWith("/v1") ? endpoint : `${endpoint}/v1`;
}

function classify(error: unknown, signal: AbortSignal): { failure: AppError; retryable: boolean } {
  if (error instanceof AppError) return { failure: error, retryable: false };
  if (signal.aborted || error instanceof APIUserAbortError || isAbort(error)) {
    return { failure: timeoutFailure(UPSTREAM), retryable: false };
  }
  if (error instanceof APIConnectionError) return { failure: unreachableFailure(UPSTREAM), retryable: true };
  if (error instanceof APIError && typeof error.status === "number") {
    return { failure: statusFailure(UPSTREAM, error.status), retryable: isTransient(error.status) };
  }
  // What is left came from reading the body: no JSON, or a connection that broke half-way.
  return { failure: unusableFailure(UPSTREAM), retryable: error instanceof TypeError };
}

/** The shape as the model is to see it: what comes out of our parsing, without our leniencies. */
function jsonSchema(shape: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, { io: "output", unrepresentable: "any" });
  return schema;
}
