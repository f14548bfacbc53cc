import { describe, expect, test } from "vitest";
import * as z from "zod";
import { formOf } from "../../convex/lib/answers/template";
import { wireSchema } from "../../convex/lib/answers/schema";
import { BASE, complete, get, post, standinsAt, structured } from "./support";

const user = (content: string) => [{ role: "user" as const, content }];

describe("a question nobody has heard of", () => {
  const shape = z.object({
    name: z.string().min(3).describe("of whom"),
    kind: z.enum(["a", "b"]),
    score: z.number(),
    count: z.int(),
    tags: z.array(z.object({ tag: z.string() })),
    note: z.string().nullable(),
    part: z.object({ yes: z.boolean() }).nullable(),
  });
  const smallest = { name: "", kind: "a", score: 0, count: 0, tags: [], note: null, part: null };

  test("gets the smallest value that fits its schema", async () => {
    const answer = await structured(standinsAt(), {
      ...{ name: "else", system: "s", user: "x", maxTokens: 9 },
      shape,
    });
    expect(JSON.parse(answer)).toEqual(smallest);
  });

  test("or the form in its prompt, where no schema stands beside it", async () => {
    const prompt = `Tell me.\n\n${formOf(wireSchema(shape))}`;
    const { choices } = await complete(standinsAt(), user(prompt));
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual(smallest);
  });

  test("gets nothing of use for a part without a type", async () => {
    const schema = {
      type: "object",
      properties: { summary: {}, signals: {} },
      required: ["summary", "signals"],
    };
    const format = { type: "json_schema", json_schema: { name: "onchain_signals", schema } };
    const { choices } = await complete(standinsAt(), user("Signals."), format);
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({
      summary: "unspecified",
      signals: "unspecified",
    });
  });
});

describe("a schema that strict mode refuses is refused, in the gateway's words", () => {
  const object = (properties: object, rest: object = {}) => ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
    ...rest,
  });
  const text = { type: "string" };

  test.each([
    [object({ a: {} }), "In context=('properties', 'a'), schema must have a 'type' key."],
    [
      object({ a: text }, { additionalProperties: true }),
      "In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ],
    [
      object({ list: { type: "array", items: object({ a: text }, { required: [] }) } }),
      "In context=('properties', 'list', 'items'), 'required' is required to be supplied and to be an array including every key in properties. Missing 'a'.",
    ],
    [
      object({ a: { ...text, minLength: 1 } }),
      "In context=('properties', 'a'), 'minLength' is not permitted.",
    ],
    [object({ a: { ...text, default: "" } }), "In context=('properties', 'a'), 'default' is not permitted."],
    [
      object({ a: { anyOf: [{ type: "number", maximum: 1 }, { type: "null" }] } }),
      "In context=('properties', 'a', 'anyOf', 0), 'maximum' is not permitted.",
    ],
    [{ anyOf: [object({})] }, "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."],
  ])("%j", async (schema, problem) => {
    const format = { type: "json_schema", json_schema: { name: "x", schema, strict: true } };
    const body = { model: "m", messages: user("hi"), response_format: format };
    const answer = await post(standinsAt(), "/llm/v1/chat/completions", body);
    expect(answer.status).toBe(400);
    const message = `Invalid schema for response_format 'x': ${problem}`;
    expect(await answer.json()).toMatchObject({ error: { message, param: "response_format" } });
  });
});

test("refuses what the gateway refuses", async () => {
  const standins = standinsAt();
  const path = "/llm/v1/chat/completions";
  const body = { model: "m", messages: user("hi") };
  const keyless = await post(standins, path, body, { headers: {} });
  expect(keyless.status).toBe(401);
  expect(await keyless.json()).toMatchObject({
    error: { type: "invalid_request_error", code: "invalid_api_key" },
  });
  const named = (name: string) => ({ type: "json_schema", json_schema: { name } });
  for (const wrong of [
    "{",
    { model: "m" },
    { ...body, messages: [] },
    { ...body, temperature: 3 },
    { ...body, response_format: named("not a name") },
  ]) {
    expect((await post(standins, path, wrong)).status).toBe(400);
  }
  expect((await get(standins, path)).status).toBe(405);
  expect((await get(standins, "/llm/nothing")).status).toBe(404);
  const bearerless = await standins.handle(
    new Request(`${BASE}/llm/v1/models`, { headers: { "X-API-Key": "k" } }),
  );
  expect(await bearerless.json()).toMatchObject({ object: "list" });
});
