import { describe, expect } from "vitest";
import * as z from "zod";
import { createApp, type App, test } from "../support/app";

/** The LLM gateway as gateways are: with and without schemas, cut off, limiting, and answering in many spellings. */

/** Without its lists the market is not told while the model fails. */
const failLists = (app: App) => app.standins.fail("coingecko", { mode: "status", status: 503 });

const requestShape = z.object({
  max_tokens: z.number(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  response_format: z.unknown().optional(),
});

const requests = (app: App) => app.standins.sent("llm").map(({ body }) => requestShape.parse(body));
const withSchema = (app: App) => requests(app).map((one) => one.response_format !== undefined);

describe("a gateway that knows no schemas", () => {
  test.for([
    [
      400,
      {
        error: { message: "'response_format' of type 'json_schema' is not supported with this model." },
      },
    ],
    [400, { error: "Unknown parameter: response_format" }],
    [400, "json_schema is not supported by this provider"],
    [422, { detail: [{ loc: ["body", "response_format"], msg: "extra fields not permitted" }] }],
  ] as const)("may say so in many ways: %i %j", async ([status, body], { app }) => {
    app.standins.fail("llm", { mode: "status", status, body, times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(200);
    expect(withSchema(app)).toEqual([true, false]);
  });

  test("is not meant when the prompt alone is refused too", async ({ app }) => {
    failLists(app);
    app.standins.fail("llm", { mode: "status", status: 400, body: { error: "prompt too long" }, times: 2 });
    expect((await app.get("/mcp/market")).status).toBe(502);
    expect(withSchema(app)).toEqual([true, false]);
    // A request that is refused without one as well was not refused for it.
    expect((await app.post("/mcp/token", { question: "SOL" })).status).toBe(200);
    expect(withSchema(app)).toEqual([true, false, true]);
  });
});

describe("a model that knows the answer's limit by its newer name alone", () => {
  const body = {
    error: {
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      type: "invalid_request_error",
      param: "max_tokens",
      code: "unsupported_parameter",
    },
  };
  const limits = (app: App) =>
    app.standins
      .sent("llm")
      .map(({ body: asked }) =>
        z
          .object({ max_tokens: z.number().optional(), max_completion_tokens: z.number().optional() })
          .parse(asked),
      );

  test("is asked again by that name, with the schema", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 400, body, times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(200);
    expect(limits(app)).toEqual([{ max_tokens: 4_000 }, { max_completion_tokens: 4_000 }]);
    expect(app.standins.sent("llm").map(({ schema }) => schema)).toEqual([
      "market_snapshot",
      "market_snapshot",
    ]);
  });

  test("is told of as any other failure when it refuses both", async ({ app }) => {
    failLists(app);
    app.standins.fail("llm", { mode: "status", status: 400, body, times: 3 });
    const { status, body: answer } = await app.get("/mcp/market");
    expect([status, answer.error]).toEqual([502, expect.stringContaining("The LLM gateway")]);
    expect(limits(app)).toHaveLength(3);
  });
});

describe("an answer cut off at its limit", () => {
  test("is asked for again with twice the room", async ({ app }) => {
    app.standins.fail("llm", { mode: "truncated", times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(200);
    const [first, second, ...others] = requests(app);
    expect(second?.max_tokens).toBe(2 * (first?.max_tokens ?? 0));
    expect(second?.messages).toEqual(first?.messages);
    expect(others).toEqual([]);
  });

  test("in a chat too, never to be passed off as whole", async ({ app }) => {
    await app.get("/mcp/market");
    app.standins.forget();
    app.standins.fail("llm", { mode: "truncated", times: 1, schema: "chat" });
    const { status, body } = await app.post("/mcp/chat", { question: "hello" });
    expect([status, body.answer]).toEqual([200, expect.stringMatching(/\[4\]\.\n\nSources: .* CoinGecko$/)]);
    expect(requests(app)).toHaveLength(2);
  });
});

test("the repair turn names everything that was wrong, and quotes no empty answer", async ({ app }) => {
  const broken = { keyPrices: { bitcoin: { usd: 1, usd_24h_change: 1 } }, trending: [{}, {}], top20: [] };
  app.standins.fail("llm", { mode: "reply", content: JSON.stringify(broken), times: 1 });
  expect((await app.get("/mcp/market")).status).toBe(200);
  const repair = requests(app)[1]?.messages.at(-1)?.content ?? "";
  for (const path of [
    "keyPrices.ethereum",
    "keyPrices.solana",
    "trending.0.rank",
    "trending.1.name",
    "top20",
  ]) {
    expect(repair).toContain(path);
  }

  const other = createApp();
  other.standins.fail("llm", { mode: "reply", content: null, times: 1 });
  expect((await other.get("/mcp/market")).status).toBe(200);
  expect(requests(other)[1]?.messages.map(({ role }) => role)).toEqual(["system", "user", "user"]);
});

describe("a gateway that limits requests", () => {
  test("is asked again, after the pause it names", async ({ app }) => {
    failLists(app);
    app.standins.fail("llm", { mode: "status", status: 429, retryAfter: 7, times: 1 });
    const before = Date.now();
    expect((await app.get("/mcp/market")).status).toBe(200);
    expect(Date.now() - before).toBeGreaterThanOrEqual(7_000);
    app.standins.fail("llm", { mode: "status", status: 429, times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(200);
  });

  test("is not waited for when it names a long one", async ({ app }) => {
    failLists(app);
    app.standins.fail("llm", { mode: "status", status: 429, retryAfter: 600, times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(502);
    expect(requests(app)).toHaveLength(1);
  });
});

test("an answer whose body breaks off is asked for again", async ({ app }) => {
  failLists(app);
  app.standins.fail("llm", { mode: "drop", half: true, times: 1 });
  expect((await app.get("/mcp/market")).status).toBe(200);
  expect(requests(app)).toHaveLength(2);
});
