import { describe, expect, test as pure } from "vitest";
import * as z from "zod";
import { extractRejectedAnswer } from "../../convex/providers/models/client";
import { parseResponseBody } from "../../convex/providers/models/wire";
import { findBlamedField, parsePause, parseRefusal } from "../../convex/providers/rejections";
import { test } from "../support/app";

/** How gateways and sources refuse, as reported in public and in the makers' own interfaces. */

/** argo-proxy #91; gptwrapper #285; tracker #547; langchainjs #1929; hermes-agent #70566; code-graph-rag #142; clawhub #407. */
describe("a rejection says", () => {
  pure.each<[number, string, string | null]>([
    [400, '{"error":{"code":"content_filter","message":"The response was filtered"}}', "filter"],
    [403, '{"error":"Your input was flagged by moderation"}', "filter"],
    [400, '{"error":{"message":"This model\'s maximum context length is 8192 tokens"}}', "length"],
    [400, '{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}', "length"],
    [413, "too large", "length"],
    [429, '{"error":{"code":"insufficient_quota"}}', "account"],
    [402, "", "account"],
    [403, "<!DOCTYPE html><html><title>Attention Required! | Cloudflare", "address"],
    [403, '{"error":"forbidden"}', null],
    [429, '{"error":"slow down"}', null],
    [400, '{"code":"1301","message":"系统检测到输入可能包含不安全或敏感内容"}', "filter"],
    [403, "Content violates usage guidelines", "filter"],
    [400, "The request was rejected because it was considered high risk", "filter"],
    [400, "Range of input length should be [1, 30720]", "length"],
    [422, '"inputs" tokens + "max_new_tokens" must be <= 8192', "length"],
    [403, "Key limit exceeded (total limit).", "account"],
    [403, "Arrearage: Access denied", "account"],
    [429, "余额不足,请充值", "account"],
    [401, "insufficient balance", "account"],
    [429, "Rate limit exceeded: free-models-per-min. billing details", null],
    [403, "error code: 1020", "address"],
    [403, '{"error":{"code":"unsupported_country_region_territory"}}', "address"],
    [400, "User location is not supported for the API use.", "address"],
    [403, "\n<!-- x -->\n<!doctype html><html>", "address"],
  ])("what it is about: %i %s", (status, words, about) => {
    expect(parseRefusal(status, words)).toBe(about);
  });
  pure("nothing where it is a page", () => {
    expect(parseResponseBody("<!doctype html><html><body>Just a moment…</body></html>")).toEqual({
      kind: "page",
    });
  });
  pure.each<[Record<string, string>, string, number | null]>([
    [{ "Retry-After": "1.5" }, "", 1_500],
    [{ "retry-after-ms": "250" }, "", 250],
    [{ "Retry-After": "2s" }, "", 2_000],
    [{ "Retry-After": "1m30s" }, "", 90_000],
    [{}, '{"error":{"details":[{"retryDelay":"7s"}]}}', 7_000],
    [{}, "Please retry in 800ms", 800],
    [{}, "", null],
    [{ "Retry-After": "soon" }, "", null],
    ...(["3", '"3"', "3, 3", "3 seconds", "3sec"] as const).map(
      (said): [Record<string, string>, string, number] => [{ "Retry-After": said }, "", 3_000],
    ),
    [{ "Retry-After": "2 minutes" }, "", 120_000],
    [{ "x-ms-retry-after-ms": "1500" }, "", 1_500],
    [{ "x-ratelimit-reset-requests": "1s" }, "", 1_000],
    [{ "x-ratelimit-reset": "7" }, "", 7_000],
    [{ ratelimit: "limit=10, remaining=0, reset=7" }, "", 7_000],
    [{}, "Please try again in 6.5s.", 6_500],
    [{}, "Please try again in 7m12s.", 432_000],
    [{}, "try again in 20ms", 20],
    [{}, '{"retry_after": 3}', 3_000],
    [{}, '{"retry_after_ms": 1500}', 1_500],
    [{}, '{"retryAfter": 2.5}', 2_500],
    [{}, '{"retryDelay":{"seconds":7}}', 7_000],
    [{}, "Please wait 3 seconds", 3_000],
    [{}, "retry in 2 minutes", 120_000],
  ])("how long to wait: %j %s", (headers, words, ms) => {
    expect(parsePause(new Headers(headers), words)).toBe(ms);
  });
  pure("or until when", () => {
    const end = Date.now() + 5_000;
    const seconds = String(Math.round(end / 1_000));
    for (const [headers, words] of [
      ...[String(end), seconds, new Date(end).toUTCString()].map(
        (said) => [{ "Retry-After": said }, ""] as const,
      ),
      [{ "X-RateLimit-Reset": String(end) }, ""],
      [{}, `{"headers":{"X-RateLimit-Reset":"${end}"}}`],
    ] as const) {
      const pause = parsePause(new Headers(headers), words) ?? -1;
      expect([headers, words, pause > 2_000 && pause < 7_000]).toEqual([headers, words, true]);
    }
  });
});

/** anthropic-sdk-python #1185; TanStack #682; teak #255; free-claude-code #991; omnigent #1686. */
describe("a refusal of a part is no refusal of the question", () => {
  const asked = z.looseObject({
    max_tokens: z.number().optional(),
    messages: z.array(z.looseObject({ role: z.string() })),
  });
  pure.each([
    ["max_tokens is too large: 4000. This model supports at most 1000 completion tokens", "limit 1000"],
    ["max_tokens must be less than or equal to `8192`, the maximum value", "limit 8192"],
    ["Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"],
    ["Developer instruction is not enabled for models/gemma", "system"],
    ["stream must be set to true", "stream"],
    ["The compiled grammar is too large… tool schemas", "schema"],
    ["the prompt is too long", null],
    ["max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens", "limit 8192"],
    ["Range of max_tokens should be [1, 8192]", "limit 8192"],
    ["Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", "limit 8192"],
    ["max_new_tokens must be <= 2048", "limit 2048"],
    ["`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 1000 `inputs` tokens", "limit 7192"],
    ["Unrecognized request argument supplied: max_tokens", "max_tokens"],
    ["'system' is not one of ['user', 'assistant']", "system"],
    ['Unknown name "additionalProperties"', "schema"],
    ["Please use stream=true", "stream"],
  ])("%s", (words, part) => {
    expect(findBlamedField(words)).toBe(part);
  });
  pure("an answer that its gateway did not pass on is an answer", () => {
    const written = '{"signal":"HOLD"}';
    const error = { code: "json_validate_failed", failed_generation: written };
    expect(extractRejectedAnswer(JSON.stringify({ error }))).toBe(written);
    expect(extractRejectedAnswer('{"error":"bad schema"}')).toBeNull();
  });

  test("a schema, in the words of many gateways", async ({ app }) => {
    const REFUSALS: [status: number, body: unknown][] = [
      [
        400,
        { error: { message: "The compiled grammar is too large, which would cause performance issues." } },
      ],
      [400, { error: { message: "Bad Request" } }],
      [404, { error: { message: "No endpoints found that can handle the requested parameters." } }],
      [422, { error: { message: "Unprocessable" } }],
      [500, { error: { message: "response_format is not implemented" } }],
      [400, { error: "Unknown parameter: response_format" }],
      [400, "json_schema is not supported by this provider"],
      [422, { detail: [{ loc: ["body", "response_format"], msg: "extra fields not permitted" }] }],
    ];
    for (const [status, body] of REFUSALS) {
      app.standins.forget();
      app.standins.fail("llm", { mode: "status", status, body, times: 1 });
      // What it refuses is left out for a day.
      for (const hours of [0.2, 25]) {
        expect([body, (await app.get("/mcp/market")).status]).toEqual([body, 200]);
        await app.pass(hours * 3_600_000, { cronsRun: false });
      }
      const sent = app.standins.sent("llm").map((one) => JSON.stringify(one.body));
      const formats = sent.map((one) => one.includes('"response_format"'));
      expect([body, formats]).toEqual([body, [true, false, false]]);
    }
  });

  test("a limit that it names is used, and remembered", async ({ app }) => {
    const error = {
      message: "max_tokens is too large: 4000. This model supports at most 1000 completion tokens",
    };
    app.standins.fail("llm", { mode: "status", status: 400, body: { error }, times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(200);
    expect((await app.post("/mcp/token", { question: "SOL" })).status).toBe(200);
    const limits = app.standins.sent("llm").map((one) => asked.parse(one.body).max_tokens);
    expect(limits).toEqual([4_000, 1_000, expect.any(Number)]);
    expect(limits[2]).toBeLessThanOrEqual(1_000);
  });

  test("a system message goes to the user's", async ({ app }) => {
    const error = { message: "Developer instruction is not enabled for this model" };
    app.standins.fail("llm", { mode: "status", status: 400, body: { error }, times: 1, schema: "chat" });
    expect((await app.post("/mcp/chat", { question: "hello" })).status).toBe(200);
    const last = app.standins.sent("llm").at(-1)?.body;
    expect(JSON.stringify(last)).not.toMatch(/"role":"(?:system|developer)"/);
  });
});
