import { expect } from "vitest";
import * as z from "zod";
import type { Fault } from "../../scripts/standins";
import { CUT_OFF } from "../standins/support";
import { createApp, type App, test } from "../support/app";

/** The LLM gateway as gateways are: without a part of the request, cut off, limiting, and breaking off. */

const requestShape = z.object({
  model: z.string(),
  max_tokens: z.number().optional(),
  max_completion_tokens: z.number().optional(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  response_format: z.unknown().optional(),
});
const requests = (app: App) => app.standins.sent("llm").map(({ body }) => requestShape.parse(body));
const withSchema = (app: App) => requests(app).map((one) => one.response_format !== undefined);

/** Asks for the market, which without its lists is not told while the model fails; the gateway's list is kept ten minutes. */
async function asked(app: App, fault: Fault) {
  await app.pass(11 * 60_000, { cronsRun: false });
  app.standins.clear();
  app.standins.forget();
  app.standins.fail("coingecko", { mode: "status", status: 503 });
  app.standins.fail("llm", fault);
  const from = Date.now();
  const { status, body } = await app.get("/mcp/market");
  return { status, error: body.error, ms: Date.now() - from, requests: requests(app) };
}

const NEWER_NAME = {
  error: {
    message:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    type: "invalid_request_error",
    param: "max_tokens",
    code: "unsupported_parameter",
  },
};

test("what a gateway refuses all of is its failure; what it can do without is left out", async ({ app }) => {
  const TOO_LONG = { mode: "status", status: 400, body: { error: "prompt too long" }, times: 2 } as const;
  expect((await asked(app, TOO_LONG)).status).toBe(502);
  expect(withSchema(app)).toEqual([true, false]);
  // A request that is refused without a schema as well was not refused for it.
  expect((await app.post("/mcp/token", { question: "SOL" })).status).toBe(200);
  expect(withSchema(app)).toEqual([true, false, true]);

  const REFUSED = { mode: "status", status: 400, body: NEWER_NAME, times: 3 } as const;
  expect(await asked(app, REFUSED)).toMatchObject({
    status: 502,
    error: expect.stringContaining("The LLM gateway"),
    requests: [{}, {}, {}],
  });
  // The answer's limit, by its newer name alone.
  const renamed = await asked(app, { ...REFUSED, times: 1 });
  expect([
    renamed.status,
    renamed.requests.map((one) => [one.max_tokens, one.max_completion_tokens]),
  ]).toEqual([
    200,
    [
      [4_000, undefined],
      [undefined, 4_000],
    ],
  ]);
  expect(withSchema(app)).toEqual([true, true]);
});

test("an answer that is cut off or breaks off is asked for again, and a limit is waited for unless it is long", async ({
  app,
}) => {
  const limited = (retryAfter: number) => ({ mode: "status", status: 429, retryAfter, times: 1 }) as const;
  expect(await asked(app, limited(600))).toMatchObject({ status: 502, requests: [{}] });
  const waited = await asked(app, limited(7));
  expect([waited.status, waited.ms >= 7_000]).toEqual([200, true]);
  expect((await asked(app, { mode: "drop", half: true, times: 1 })).requests).toHaveLength(2);
  const [first, second, ...others] = (await asked(app, { ...CUT_OFF, times: 1 })).requests;
  // With twice the room.
  expect(second?.max_tokens).toBe(2 * (first?.max_tokens ?? 0));
  expect([second?.messages, others]).toEqual([first?.messages, []]);

  // In a chat too, never to be passed off as whole.
  app.standins.clear();
  app.standins.forget();
  app.standins.fail("llm", { ...CUT_OFF, times: 1, schema: "chat" });
  const { status, body } = await app.post("/mcp/chat", { question: "hello" });
  expect([status, body.answer]).toEqual([200, expect.stringMatching(/\.$/)]);
  expect(requests(app)).toHaveLength(2);
});

test("the repair turn names everything that was wrong, and quotes no empty answer", async ({ app }) => {
  const empty = await asked(app, { mode: "reply", content: null, times: 1 });
  expect(empty.status).toBe(200);
  expect(empty.requests[1]?.messages.map(({ role }) => role)).toEqual(["system", "user", "user"]);
  const broken = { keyPrices: { bitcoin: { usd: 1, usd_24h_change: 1 } }, trending: [{}, {}], top20: [] };
  const repaired = await asked(app, { mode: "reply", content: JSON.stringify(broken), times: 1 });
  const repair = repaired.requests[1]?.messages.at(-1)?.content ?? "";
  for (const part of [
    "keyPrices.ethereum",
    "keyPrices.solana",
    "trending.0.rank",
    "trending.1.name",
    "top20",
  ])
    expect(repair).toContain(part);
});

test("what a gateway refused is left out for a day from the last refusal", async ({ app }) => {
  const DAY = 24 * 3_600_000;
  const noSchemas = { mode: "status", status: 400, body: "no json_schema here" } as const;
  for (const schema of ["market_snapshot", "token_answer"])
    app.standins.fail("llm", { ...noSchemas, schema });
  expect((await app.get("/mcp/market")).status).toBe(200);
  expect((await app.post("/mcp/token", { question: "SOL" })).status).toBe(200);
  expect(withSchema(app)).toEqual([true, false, false]);
  await app.pass(DAY + 60_000, { cronsRun: false });
  expect((await app.get("/mcp/market")).status).toBe(200);
  expect(withSchema(app)).toEqual([true, false, false, true, false]);
});

test("small questions go to the small model, and are booked at its price", async () => {
  const app = createApp({ env: { LLM_MODEL: "claude-opus-5", LLM_MODEL_SMALL: "gpt-5-nano" } });
  const spent = async () =>
    (await app.rows("spending")).reduce((sum, { of, micros }) => sum + (of === "llm" ? micros : 0), 0);
  await app.post("/mcp/token", { question: "SOL" });
  const small = await spent();
  await app.post("/mcp/chat", { question: "SOL?" });
  expect(requests(app).map(({ model }) => model)).toEqual(["gpt-5-nano", "claude-opus-5"]);
  expect([small > 0, (await spent()) > 50 * small]).toEqual([true, true]);
});
