import { describe, expect, test } from "vitest";
import { MINUTE } from "../../convex/lib/time";
import { createStandins, type Standins } from "../../scripts/standins/index";
import { createMarket } from "../../scripts/standins/market";
import { get, post, standinsAt, START } from "./support";

/** Each stand-in refuses what its provider refuses, in the provider's own words. */

describe("the gateway", () => {
  const object = (properties: object, rest: object = {}) => ({
    ...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
    ...rest,
  });
  const text = { type: "string" };
  const ask = (standins: Standins, body: unknown, init: RequestInit = {}) =>
    post(standins, "/llm/v1/chat/completions", body, init);
  const prompt = { model: "m", messages: [{ role: "user", content: "hi" }] };

  test.each([
    [object({ a: {} }), "In context=('properties', 'a'), schema must have a 'type' key."],
    [
      object({ list: { type: "array", items: object({ a: text }, { required: [] }) } }),
      "In context=('properties', 'list', 'items'), 'required' is required to be supplied and to be an array including every key in properties. Missing 'a'.",
    ],
    [
      object({ a: { anyOf: [{ type: "number", maximum: 1 }, { type: "null" }] } }),
      "In context=('properties', 'a', 'anyOf', 0), 'maximum' is not permitted.",
    ],
    [{ anyOf: [object({})] }, "schema must be a JSON Schema of 'type: \"object\"'."],
  ])("refuses a schema that strict mode refuses: %j", async (schema, problem) => {
    const format = { type: "json_schema", json_schema: { name: "x", schema, strict: true } };
    const answer = await ask(standinsAt(), { ...prompt, response_format: format });
    const message = `Invalid schema for response_format 'x': ${problem}`;
    expect(await answer.json()).toMatchObject({ error: { message, param: "response_format" } });
  });

  test("refuses a call without a key, and one that is not in its form", async () => {
    const standins = standinsAt();
    expect((await ask(standins, prompt, { headers: {} })).status).toBe(401);
    const name = { type: "json_schema", json_schema: { name: "not a name" } };
    const wrong = ["{", { model: "m" }, { ...prompt, temperature: 3 }, { ...prompt, response_format: name }];
    for (const body of wrong) expect((await ask(standins, body)).status).toBe(400);
  });
});

test("the sentiment model answers malformed dates without a search", async () => {
  const standins = standinsAt();
  const ask = async (tool: object) => {
    const body = { model: "grok-4.3", input: "Mood?", tools: [{ type: "x_search", ...tool }] };
    const answer: unknown = await (await post(standins, "/sentiment/v1/responses", body)).json();
    return answer;
  };
  const dates = { from_date: "2026-01-04", to_date: "2026-01-05" };
  expect(await ask(dates)).toMatchObject({ citations: { length: 3 } });
  for (const wrong of [{ from_date: "yesterday" }, { ...dates, to_date: "2025-01-01" }])
    expect(await ask(wrong)).not.toHaveProperty("citations");
});

describe("Coinbase Exchange", () => {
  const ask = (standins: Standins, path: string, init: RequestInit = {}) =>
    get(standins, `/evidence/products/${path}`, init);
  const iso = (ms: number) => new Date(ms).toISOString();

  test("refuses in its own words, and allows 15 requests a second", async () => {
    let now = START;
    const standins = createStandins({ seed: "tests", now: () => now });
    expect((await ask(standins, "BTC-USD/stats", { headers: {} })).status).toBe(400);
    expect(await (await ask(standins, "NOPE-USD/stats")).json()).toEqual({ message: "NotFound" });
    const long = `start=${iso(START - 301 * MINUTE)}&end=${iso(START)}`;
    for (const query of ["granularity=61", `granularity=60&${long}`])
      expect((await ask(standins, `BTC-USD/candles?${query}`)).status).toBe(400);
    now += 1_000;
    const many = Array.from({ length: 16 }, async () => (await ask(standins, "BTC-USD/stats")).status);
    expect((await Promise.all(many)).filter((status) => status === 429)).toHaveLength(1);
    now += 1_000;
    expect((await ask(standins, "BTC-USD/stats")).status).toBe(200);
  });
});

test("the market is the same for the same seed, in any order of moments, and another for another seed", () => {
  const [one, two, other] = ["a", "a", "b"].map((seed) => createMarket({ seed, now: () => START }));
  const later = one?.coins(START + MINUTE);
  expect(two?.coins()).toEqual(one?.coins(START));
  expect(two?.coins(START + MINUTE)).toEqual(later);
  expect(other?.coins()).not.toEqual(one?.coins());
  expect(one?.coin("zzz9")).toEqual(two?.coin("ZZZ9"));
});
