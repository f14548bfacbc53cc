/** A stand-in for the LLM gateway's OpenAI-compatible API, for local use. Its model names begin with "simulated". */

import * as z from "zod";
import type { Fault } from "../control";
import { bearer, json, problemOf, tokensOf, type Call } from "../http";
import { parseJson } from "../../json";
import { answerTo, type Prompted, type Scene } from "./content";
import type { Market } from "../sources/market";
import { hash } from "../random";
import { withinTokens } from "../spoilage";
import { schemaProblem } from "./strictSchema";
import { styled } from "./styles";

const part = z.looseObject({ type: z.string(), text: z.string().optional() });

const formatShape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({
    type: z.literal("json_schema"),
    json_schema: z.looseObject({
      name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
      schema: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const requestShape = z.looseObject({
  model: z.string().min(1),
  messages: z
    .array(
      z.looseObject({
        role: z.enum(["system", "developer", "user", "assistant", "tool"]),
        content: z.union([z.string(), z.array(part)]).nullish(),
      }),
    )
    .min(1),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  stream: z.literal(false, "this stand-in does not stream").nullish(),
  response_format: formatShape.nullish(),
});

const MODELS = ["claude-haiku-4.5", "claude-sonnet-4.6", "gemini-3.6-flash", "gpt-5-mini"];

export function createLlm(options: { seed: string; now: () => number; market: Market }) {
  const complete = (call: Call, fault: Fault | undefined): Response => {
    const parsed = requestShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, problemOf(parsed.error));
    const at = options.now();
    const refused = formatProblem(parsed.data, fault);
    if (refused !== null) return refuse(400, refused, null, "response_format");
    const prompted = promptOf(parsed.data);
    const whole = contentOf(prompted, fault, { ...options, at });
    const most = parsed.data.max_completion_tokens ?? parsed.data.max_tokens ?? Infinity;
    const { text: content, isCut } = withinTokens(whole, most, fault);
    const message =
      fault?.mode === "refusal"
        ? { role: "assistant", content: null, refusal: "I'm sorry, but I can't help with that." }
        : { role: "assistant", content: fault?.mode === "blank" ? null : content, refusal: null };
    const choice = { index: 0, message, logprobs: null, finish_reason: isCut ? "length" : "stop" };
    const promptTokens = tokensOf(prompted.messages.map((message) => message.content).join("\n"));
    const completionTokens = tokensOf(content);
    return json({
      id: `chatcmpl-${hash(`${at} ${call.body}`).toString(16)}`,
      object: "chat.completion",
      created: Math.floor(at / 1_000),
      model: `simulated-${parsed.data.model}`,
      choices: fault?.mode === "empty" ? [] : [choice],
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        total_tokens: promptTokens + completionTokens,
      },
    });
  };

  return {
    handle: (call: Call, fault?: Fault): Response => {
      if (bearer(call.headers) === null && (call.headers.get("X-API-Key") ?? "") === "") {
        return refuse(401, "Missing or invalid API key", "invalid_api_key");
      }
      const path = call.path.replace(/^\/v1(?=\/)/, "");
      if (path === "/chat/completions") {
        return call.method === "POST" ? complete(call, fault) : refuse(405, "Method not allowed");
      }
      if (path === "/models" && call.method === "GET") {
        const data = MODELS.map((id) => ({ id, object: "model", owned_by: "simulated" }));
        return json({ object: "list", data: fault?.mode === "empty" ? [] : data });
      }
      return refuse(404, `Unknown path ${call.path}`);
    },
  };
}

const askedShape = z.looseObject({
  messages: z.array(z.unknown()),
  response_format: formatShape.nullish(),
});

/** The schema's name, `null` for prose, `undefined` unless it is a chat completion. */
export function schemaOf(body: unknown): string | null | undefined {
  const parsed = askedShape.safeParse(body);
  if (!parsed.success) return undefined;
  const format = parsed.data.response_format;
  return format?.type === "json_schema" ? format.json_schema.name : null;
}

/** Whether a schema was sent with the prompt. */
export function isFormatted(body: unknown): boolean {
  return typeof schemaOf(body) === "string";
}

export function llmError(message: string, code: string | null = null, param: string | null = null): unknown {
  return { error: { message, type: "invalid_request_error", param, code } };
}

function refuse(status: number, message: string, code: string | null = null, param: string | null = null) {
  return json(llmError(message, code, param), status);
}

type Request = z.infer<typeof requestShape>;

/** What is wrong with the requested form, in the gateway's words; `null` if nothing is. */
function formatProblem(
  { messages, response_format: format }: Request,
  fault: Fault | undefined,
): string | null {
  if (format?.type === "json_object" && !/json/i.test(JSON.stringify(messages))) {
    return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
  }
  if (format?.type !== "json_schema") return null;
  if (fault?.mode === "formatless") {
    return "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.";
  }
  const { name, schema, strict } = format.json_schema;
  return strict === true ? schemaProblem(name, schema) : null;
}

function contentOf(prompted: Prompted, fault: Fault | undefined, scene: Scene): string {
  if (fault?.mode === "reply") return fault.content;
  const answer = answerTo(prompted, scene);
  if ("prose" in answer) return answer.prose;
  return fault?.mode === "style" ? styled(answer.value, fault.style) : JSON.stringify(answer.value);
}

function promptOf({ messages, response_format: format }: Request): Prompted {
  return {
    messages: messages.map(({ role, content }) => ({
      role,
      content: typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join(""),
    })),
    json: format?.type === "json_schema" || format?.type === "json_object",
    ...(format?.type === "json_schema" ? { schema: format.json_schema.schema ?? {} } : {}),
  };
}
