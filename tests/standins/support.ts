/** What the tests of the stand-ins share: requests as the service makes them. */

import { expect } from "vitest";
import * as z from "zod";
import { wireSchema } from "../../convex/lib/answers/schema";
import type { Question } from "../../convex/providers/models/structure";
import { createStandins, type Standins } from "../../scripts/standins/index";

export const BASE = "http://providers.test";
export const START = Date.UTC(2026, 0, 5, 9, 0);
const HEADERS = {
  "Content-Type": "application/json",
  Authorization: "Bearer key-for-tests",
  "X-API-Key": "key",
};

export function standinsAt(at = START, seed = "tests"): Standins {
  return createStandins({ seed, now: () => at });
}

export function post(
  standins: Standins,
  path: string,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return standins.handle(
    new Request(`${BASE}${path}`, { method: "POST", headers: HEADERS, body: text, ...init }),
  );
}

export function get(standins: Standins, path: string, init: RequestInit = {}): Promise<Response> {
  return standins.handle(new Request(`${BASE}${path}`, { headers: HEADERS, ...init }));
}

const completion = z.object({
  model: z.string(),
  choices: z.array(z.object({ message: z.object({ content: z.string() }), finish_reason: z.string() })),
  usage: z.object({ total_tokens: z.number().int().positive() }),
});

export type Message = { role: string; content: string };

export async function complete(standins: Standins, messages: Message[], format?: unknown) {
  const response = await post(standins, "/llm/v1/chat/completions", {
    model: "claude-haiku-4.5",
    messages,
    max_tokens: 4_000,
    stream: false,
    ...(format === undefined ? {} : { response_format: format }),
  });
  expect(response.status).toBe(200);
  return completion.parse(await response.json());
}

/** Asks a question with its schema as the service does, and returns the raw text of the answer. */
export async function structured<Shape extends z.ZodType>(standins: Standins, question: Question<Shape>) {
  const { name, shape, system, user } = question;
  const format = { type: "json_schema", json_schema: { name, schema: wireSchema(shape), strict: true } };
  const messages = [
    { role: "system", content: system },
    { role: "user", content: user },
  ];
  const { choices } = await complete(standins, messages, format);
  return choices[0]?.message.content ?? "";
}
