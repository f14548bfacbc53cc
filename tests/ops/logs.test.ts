import { expect } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { createApp, type App, test } from "../support/app";
import { browserOf } from "../support/browser";

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
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    app.during(app.call("POST", path, { ip: IP, body: JSON.stringify(body), headers }));
  const get = (path: string) => app.during(app.call("GET", path, { ip: IP }));

  const answers = [];
  answers.push(
    await post("/user/messenger", { userId: USER, messengerBotToken: OWN_BOT, messengerChatId: "42" }),
  );
  answers.push(await post("/mcp/research/start", { userId: USER, token: "BTC" }));
  answers.push(await post("/mcp/chat", { userId: USER, question: QUESTION }));
  answers.push(await post("/mcp/token", { userId: USER, question: QUESTION }));
  answers.push(await get(`/mcp/research/status?userId=${USER}`));
  answers.push(await post("/mcp/wallet/create", { userId: USER }));
  answers.push(await get(`/mcp/wallet/balance?userId=${USER}`));
  answers.push(await post("/mcp/defi/send", { userId: USER, token: "USDC", amount: "1", toAddress: "0x0" }));
  answers.push(await post("/agent/research/paid", { userId: USER }, { "X-Payment": SECRETS.SWAP_API_KEY }));
  answers.push(await get(`/${USER}/${OWN_BOT}`));
  answers.push(await post("/mcp/chat", { userId: USER, question: 7 }));
  for (const provider of ["llm", "sentiment", "messenger"] as const) {
    app.standins.fail(provider, { mode: "status", status: 401 });
  }
  answers.push(await post("/mcp/chat", { userId: USER, question: QUESTION }));
  answers.push(await get("/mcp/market"));
  answers.push(await post("/mcp/research/start", { userId: USER }));
  await browserOf(app, "web-user").mutation(api.accounts.profile.signIn, {});
  await app.pass(10 * 60_000);
  answers.push(await post("/mcp/research/stop", { userId: USER }));
  answers.push(await get("/health"));

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
