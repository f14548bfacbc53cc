/** A stand-in for the LLM gateway's OpenAI-compatible API, for local use. Its model names begin with "simulated". */

import * as z from "zod";
import type { Fault } from "./control";
import { bearer, json, parseJson, problemOf, tokensOf, type Call } from "./http";
import { contentFor, type Prompted } from "./llmContent";
import type { Market } from "./market";
import { hash } from "./random";

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

export type Llm = { handle(call: Call, fault: Fault | undefined): Response };

export function createLlm(options: { seed: string; now: () => number; market: Market }): Llm {
  const complete = (call: Call, fault: Fault | undefined): Response => {
    const parsed = requestShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, problemOf(parsed.error));
    const at = options.now();
    const prompted = promptOf(parsed.data);
    const whole = fault?.mode === "reply" ? fault.content : contentFor(prompted, { ...options, at });
    const cut = fault?.mode === "truncated";
    const content = cut ? whole.slice(0, Math.ceil(whole.length / 2)) : whole;
    const choice = {
      index: 0,
      message: { role: "assistant", content, refusal: null },
      logprobs: null,
      finish_reason: cut ? "length" : "stop",
    };
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
    handle: (call, fault) => {
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

/** The schema's name, `null` where prose is asked for, `undefined` when it is no chat completion. */
export function schemaOf(body: unknown): string | null | undefined {
  const parsed = z
    .looseObject({ messages: z.array(z.unknown()), response_format: formatShape.nullish() })
    .safeParse(body);
  if (!parsed.success) return undefined;
  const format = parsed.data.response_format;
  return format?.type === "json_schema" ? format.json_schema.name : null;
}

export function llmError(message: string, code: string | null = null): unknown {
  return { error: { message, type: "invalid_request_error", param: null, code } };
}

function refuse(status: number, message: string, code: string | null = null): Response {
  return json(llmError(message, code), status);
}

function promptOf({ messages, response_format: format }: z.infer<typeof requestShape>): Prompted {
  return {
    messages: messages.map(({ role, content }) => ({
      role,
      content: typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join(""),
    })),
    json: format?.type === "json_schema" || format?.type === "json_object",
    ...(format?.type === "json_schema"
      ? { schemaName: format.json_schema.name, schema: format.json_schema.schema ?? {} }
      : {}),
  };
}
