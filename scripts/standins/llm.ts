/** A stand-in for the LLM gateway's OpenAI-compatible API, for local use. Its model names begin with "simulated". */

import * as z from "zod";
import { parseJson } from "../json";
import type { Fault, Standin } from "./standin";
import { getBearer, contentShape, sendJson, findProblem, countTokens, cutToTokens, type Call } from "./http";
import type { Scene } from "./market";
import { hash } from "./random";
import { answerTo } from "./writer";

const formatShape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
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
        content: contentShape.nullish(),
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

export function createLlm(scene: Scene): Standin {
  const complete = (call: Call, fault: Fault | undefined): Response => {
    const parsed = requestShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, findProblem(parsed.error));
    const { model, max_tokens: most, max_completion_tokens: limit, response_format: format } = parsed.data;
    const messages = parsed.data.messages.map(({ role, content }) => ({
      role,
      content: content ?? "",
    }));
    const prompt = messages.map(({ content }) => content).join("\n");
    const requestedSchema = format?.type === "json_schema" ? format.json_schema : undefined;
    const problem =
      requestedSchema?.strict === true
        ? findSchemaProblem(requestedSchema.name, requestedSchema.schema)
        : null;
    if (problem !== null) return refuse(400, problem, null, "response_format");

    const at = scene.now();
    const answer =
      fault?.mode === "reply" ? fault.content : answerTo(messages, requestedSchema?.schema, scene);
    const { text, isCut } = cutToTokens(answer ?? "", limit ?? most ?? Infinity);
    const message = { role: "assistant", content: answer === null ? null : text, refusal: null };
    const [promptTokens, completionTokens] = [countTokens(prompt), countTokens(text)];
    return sendJson({
      id: `chatcmpl-${hash(`${at} ${call.body}`).toString(16)}`,
      object: "chat.completion",
      created: Math.floor(at / 1_000),
      model: `simulated-${model}`,
      choices: [{ index: 0, message, logprobs: null, finish_reason: isCut ? "length" : "stop" }],
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        total_tokens: promptTokens + completionTokens,
      },
    });
  };

  return {
    error: (_status, reason) => llmError(reason),
    handle: (call, fault) => {
      if (getBearer(call.headers) === null && (call.headers.get("X-API-Key") ?? "") === "")
        return refuse(401, "Missing or invalid API key", "invalid_api_key");
      const path = call.path.replace(/^\/v1(?=\/)/, "");
      if (path === "/chat/completions")
        return call.method === "POST" ? complete(call, fault) : refuse(405, "Method not allowed");
      if (path !== "/models" || call.method !== "GET") return refuse(404, `Unknown path ${call.path}`);
      const data = MODELS.map((id) => ({ id, object: "model", owned_by: "simulated" }));
      return sendJson({ object: "list", data });
    },
  };
}

const askedShape = z.looseObject({ messages: z.array(z.unknown()), response_format: formatShape.nullish() });

/** The schema's name, or "chat" for prose; `undefined` unless it is a chat completion. */
export function getRequestedSchema(body: unknown): string | undefined {
  const parsed = askedShape.safeParse(body);
  if (!parsed.success) return undefined;
  const format = parsed.data.response_format;
  return format?.type === "json_schema" ? format.json_schema.name : "chat";
}

function llmError(message: string, code: string | null = null, param: string | null = null): unknown {
  return { error: { message, type: "invalid_request_error", param, code } };
}

function refuse(status: number, message: string, code: string | null = null, param: string | null = null) {
  return sendJson(llmError(message, code, param), status);
}

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
/** Anything else is refused: `default`, `allOf`, `not`, `if`, limits of length, range, pattern and number. */
const KEYWORDS = [
  ...["type", "properties", "required", "additionalProperties", "items", "enum", "const"],
  ...["anyOf", "$ref", "$defs", "description", "title"],
];
const MAX_DEPTH = 5;

/**
 * Why strict structured outputs refuse a schema, in the gateway's words; `null` if they accept it
 * (platform.openai.com/docs/guides/structured-outputs, "Supported schemas").
 */
export function findSchemaProblem(name: string, schema: unknown): string | null {
  const isObject = isRecord(schema) && schema["type"] === "object";
  const problem = isObject
    ? findNodeProblem(schema, [], 0)
    : `schema must be a JSON Schema of 'type: "object"'.`;
  return problem === null ? null : `Invalid schema for response_format '${name}': ${problem}`;
}

function findNodeProblem(node: unknown, path: readonly (string | number)[], depth: number): string | null {
  const pathText = path.map((part) => (typeof part === "number" ? String(part) : `'${part}'`)).join(", ");
  const refuse = (text: string) => `In context=(${pathText}${path.length === 1 ? "," : ""}), ${text}`;
  if (!isRecord(node)) return refuse("schema must be an object.");
  const unknown = Object.keys(node).find((keyword) => !KEYWORDS.includes(keyword));
  if (unknown !== undefined) return refuse(`'${unknown}' is not permitted.`);
  if ("$ref" in node) return null;
  const { type, anyOf: options } = node;
  if (Array.isArray(options))
    return findFirst(
      options.map((option, index) => findNodeProblem(option, [...path, "anyOf", index], depth)),
    );
  if (type === undefined) return refuse("schema must have a 'type' key.");
  const types: unknown[] = [type].flat();
  const wrong = types.find((one) => typeof one !== "string" || !TYPES.includes(one));
  if (wrong !== undefined) return refuse(`${JSON.stringify(wrong)} is not a valid type.`);
  if (types.includes("array"))
    return "items" in node
      ? findNodeProblem(node["items"], [...path, "items"], depth)
      : refuse("array schema missing items.");
  if (!types.includes("object")) return null;

  if (depth >= MAX_DEPTH) return refuse(`objects may be nested ${MAX_DEPTH} levels deep.`);
  if (node["additionalProperties"] !== false)
    return refuse("'additionalProperties' is required to be supplied and to be false.");
  const properties = isRecord(node["properties"]) ? node["properties"] : {};
  const required: unknown[] = Array.isArray(node["required"]) ? node["required"] : [];
  const missing = Object.keys(properties).find((one) => !required.includes(one));
  if (missing !== undefined)
    return refuse(
      `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`,
    );
  const parts = Object.entries(properties);
  return findFirst(
    parts.map(([one, inner]) => findNodeProblem(inner, [...path, "properties", one], depth + 1)),
  );
}

function findFirst(problems: readonly (string | null)[]): string | null {
  return problems.find((one) => one !== null) ?? null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
