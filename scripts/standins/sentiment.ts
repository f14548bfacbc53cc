/** A stand-in for the social sentiment model's Responses API with its search tool, for local use. */

import * as z from "zod";
import { parseJson } from "../json";
import type { Fault, Standin } from "./standin";
import { getBearer, contentShape, sendJson, findProblem, countTokens, cutToTokens, type Call } from "./http";
import type { Scene } from "./market";
import { hash, random } from "./random";
import { answerTo } from "./writer";

const requestShape = z.looseObject({
  model: z.string().min(1),
  input: z.union([
    z.string().min(1),
    z.array(z.looseObject({ role: z.string(), content: contentShape })).min(1),
  ]),
  max_output_tokens: z.int().positive().nullish(),
  tools: z
    .array(
      z.looseObject({ type: z.string(), from_date: z.string().optional(), to_date: z.string().optional() }),
    )
    .nullish(),
});

type Request = z.infer<typeof requestShape>;

/** Tokens of the model's reasoning, which count against the answer's limit. */
const REASONING_TOKENS = 2_400;

export function createSentiment(scene: Scene): Standin {
  const respond = (call: Call, fault: Fault | undefined): Response => {
    const parsed = requestShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, "invalid-argument", findProblem(parsed.error));
    const request = parsed.data;
    const at = scene.now();
    const messages = readMessages(request);
    const prompt = messages.map(({ content }) => content).join("\n");
    const whole = fault?.mode === "reply" ? (fault.content ?? "") : answerTo(messages, undefined, scene);
    const most = (request.max_output_tokens ?? Infinity) - REASONING_TOKENS;
    const { text, isCut } = cutToTokens(whole, most);
    const id = hash(`${at} ${call.body}`).toString(16);
    const links = searches(request) ? sources(id) : [];
    const [inputTokens, outputTokens] = [countTokens(prompt), REASONING_TOKENS + countTokens(text)];
    return sendJson({
      id: `resp_${id}`,
      object: "response",
      created_at: Math.floor(at / 1_000),
      model: `simulated-${request.model}`,
      status: isCut ? "incomplete" : "completed",
      ...(isCut ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
      output: output(id, text, links),
      ...(links.length === 0 ? {} : { citations: links }),
      usage: {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
        output_tokens_details: { reasoning_tokens: REASONING_TOKENS },
        num_sources_used: links.length,
        num_server_side_tools_used: Math.min(1, links.length),
      },
    });
  };

  return {
    error: (status, reason) => sentimentError(String(status), reason),
    handle: (call, fault) => {
      if (getBearer(call.headers) === null)
        return refuse(401, "unauthenticated", "No or an invalid authorization header");
      const path = call.path.replace(/^\/v1(?=\/)/, "");
      if (path === "/models" && call.method === "GET")
        return sendJson({
          object: "list",
          data: [{ id: "grok-4.3", object: "model", owned_by: "simulated" }],
        });
      if (path !== "/responses") return refuse(404, "not-found", `Unknown path ${call.path}`);
      return call.method === "POST" ? respond(call, fault) : refuse(405, "method-not-allowed", "Use POST");
    },
  };
}

function sentimentError(code: string, error: string): unknown {
  return { code, error };
}

function refuse(status: number, code: string, error: string): Response {
  return sendJson(sentimentError(code, error), status);
}

function readMessages({ input }: Request): { role: string; content: string }[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return input;
}

/** Like the real one, malformed dates pass silently and no search is made. */
function searches({ tools }: Request): boolean {
  const isDay = (text = "2000-01-01") => z.iso.date().safeParse(text).success;
  return (tools ?? []).some(
    ({ type, from_date: from, to_date: to }) =>
      type === "x_search" && isDay(from) && isDay(to) && (from ?? "") <= (to ?? "9"),
  );
}

function sources(id: string): string[] {
  const chance = random("sources", id);
  return Array.from({ length: 3 }, () => `https://x.com/i/status/19${chance.whole(1e15, 9e15)}`);
}

function output(id: string, text: string, links: readonly string[]): unknown[] {
  const [status, name] = ["completed", "x_keyword_search"];
  const annotations = links.map((url, index) => ({ type: "url_citation", url, title: String(index + 1) }));
  const content = [{ type: "output_text", text, annotations }];
  return [
    { type: "reasoning", id: `rs_${id}`, status, summary: [] },
    ...(links.length === 0 ? [] : [{ type: "custom_tool_call", id: `ctc_${id}`, status, name }]),
    // Cut off during reasoning, it has written nothing.
    ...(text === "" ? [] : [{ type: "message", id: `msg_${id}`, role: "assistant", status, content }]),
  ];
}
