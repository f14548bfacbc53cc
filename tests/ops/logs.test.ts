import { expect } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { log } from "../../convex/lib/log";
import { captureLogs } from "../../scripts/stack/logs";
import { createApp, type App, test } from "../support/app";
import { browserOf } from "../support/browser";
import type { Answer } from "../support/world";

const lineShape = z.looseObject({ level: z.enum(["info", "warn", "error"]), event: z.string().min(1) });

function linesOf({ logged }: App): z.infer<typeof lineShape>[] {
  return logged.map((words) => {
    expect(words).toHaveLength(1);
    return lineShape.parse(JSON.parse(z.string().parse(words[0])));
  });
}

const USER = "user-id-that-is-a-credential-4711";
const SECRETS = {
  LLM_GATEWAY_API_KEY: "bk_gateway-key-never-logged",
  SENTIMENT_API_KEY: "xai-sentiment-key-never-logged",
  MESSENGER_BOT_TOKEN: "1234567:default-bot-token-never-logged",
  SWAP_API_KEY: "swap-key-never-logged",
  WALLET_ENCRYPTION_KEY: "c0ffee".repeat(10) + "beef",
  MESSENGER_WEBHOOK_SECRET: "webhook-secret-never-logged",
  SOCIAL_WEBHOOK_SECRET: "social-secret-never-logged",
  DEPOSIT_WEBHOOK_SECRET: "deposit-secret-never-logged",
};
const OWN_BOT = "7654321:own-bot-token-never-logged-at-all";
const QUESTION = "a question of my own, which is nobody's business";
const IP = "203.0.113.77";

test("no log line holds a credential, an address or a word of its caller, whatever fails", async () => {
  const app = createApp({ env: SECRETS });
  const answers: Answer[] = [];
  const ask = async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const sent = body === undefined ? {} : { body: JSON.stringify({ userId: USER, ...body }) };
    const method = body === undefined ? "GET" : "POST";
    answers.push(await app.during(app.call(method, path, { ip: IP, headers, ...sent })));
  };
  await ask("/user/messenger", { messengerBotToken: OWN_BOT, messengerChatId: "42" });
  await ask("/mcp/research/start", { token: "BTC" });
  await ask("/mcp/chat", { question: QUESTION });
  await ask("/mcp/token", { question: QUESTION });
  await ask(`/mcp/research/status?userId=${USER}`);
  await ask("/mcp/wallet/create", {});
  await ask(`/mcp/wallet/balance?userId=${USER}`);
  await ask("/mcp/defi/send", { token: "USDC", amount: "1", toAddress: "0x0" });
  await ask("/agent/research/paid", {}, { "X-Payment": SECRETS.SWAP_API_KEY });
  await ask(`/${USER}/${OWN_BOT}`);
  await ask("/mcp/chat", { question: 7 });
  for (const provider of ["llm", "sentiment", "messenger"] as const)
    app.standins.fail(provider, { mode: "status", status: 401 });
  await ask("/mcp/chat", { question: QUESTION });
  await ask("/mcp/market");
  await ask("/mcp/research/start", {});
  await browserOf(app, "web-user").mutation(api.accounts.profile.signIn, {});
  await app.pass(10 * 60_000);
  await ask("/mcp/research/stop", {});
  await ask("/health");

  const lines = linesOf(app);
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const hidden = [USER, OWN_BOT, QUESTION, IP, ...Object.values(SECRETS), "web-user"];
  expect(hidden.filter((secret) => text.includes(secret))).toEqual([]);

  const requests = lines.filter(({ event }) => event === "http");
  expect(requests.map(({ requestId, status }) => [requestId, status])).toEqual(
    answers.map(({ headers, status }) => [headers.get("x-request-id"), status]),
  );
  expect(new Set(answers.map(({ status }) => Math.floor(status / 100)))).toEqual(new Set([2, 4, 5]));
  expect(lines.map(({ event }) => event)).toEqual(
    expect.arrayContaining(["research.source failed", "messenger.unsent", "refresh.failed"]),
  );
});

test("the reason for a 5xx stands in the log with its request's id, without a word of the caller's", async ({
  app,
}) => {
  for (const source of ["coinbase", "coingecko"] as const)
    app.standins.fail(source, { mode: "status", status: 503 });
  app.standins.fail("llm", { mode: "status", status: 401 });
  const unsure = await app.post("/mcp/research/start", { userId: USER, token: "Shiba Inu" });
  const failed = await app.post("/mcp/chat", { question: QUESTION });
  const [first, ...others] = linesOf(app).filter(({ event }) => event === "http.failed");
  expect(first).toMatchObject({ code: "upstream", reason: expect.not.stringMatching(/shiba/i) });
  expect([first?.requestId, unsure.status]).toEqual([unsure.headers.get("x-request-id"), 502]);
  const reason = "The LLM gateway refused this service's key";
  const requestId = failed.headers.get("x-request-id");
  expect(others).toEqual([{ level: "warn", event: "http.failed", requestId, code: "upstream", reason }]);
});

test("the local stack's console shows the id of a failed request, and the reason beside it", () => {
  const shown: string[] = [];
  const end = captureLogs(
    (line) => shown.push(line),
    () => Date.UTC(2026, 0, 5, 9),
  );
  log.warn("http.failed", { requestId: "r-1", code: "upstream", reason: "The gateway is down" });
  for (const status of [200, 502])
    log.info("http", { requestId: "r-1", method: "GET", path: "/mcp/market", status, ms: 3 });
  end();
  expect(shown).toEqual([
    '09:00:00 warn http.failed requestId=r-1 code=upstream reason="The gateway is down"',
    "09:00:00 http GET /mcp/market 200 3 ms",
    "09:00:00 http GET /mcp/market 502 3 ms requestId=r-1",
  ]);
});

test("work that a request began can be followed by the request's id", async ({ app }) => {
  const { headers } = await app.get("/mcp/market");
  const requestId = headers.get("x-request-id");
  const begun = linesOf(app).find((line) => line.event === "refresh.begun" && line.key === "market:");
  expect(begun).toMatchObject({ requestId });
  expect(linesOf(app)).toContainEqual({
    level: "info",
    event: "refresh.done",
    key: "market:",
  });
  const shift = await app.post("/mcp/research/start", { userId: "a-user-to-follow" });
  expect(linesOf(app)).toContainEqual({
    level: "info",
    event: "research.started",
    requestId: shift.headers.get("x-request-id"),
    shiftId: shift.body.jobId,
  });
});
