import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { endpoints } from "../../convex/endpoints";
import { toJsonSchema } from "../../scripts/reference/jsonSchema";
import { createApp, test } from "../support/app";
import type { CallInit } from "../support/world";
import { browserOf } from "../support/browser";

describe("bad input", () => {
  const START = "/mcp/research/start";
  const WRONG = [
    ["POST", START, '{"userId":[5]}', "userId must be a string"],
    ["POST", START, `{"userId":"${"x".repeat(129)}"}`, "userId must be at most 128 characters"],
    ["POST", START, '{"userId":"a\\u0000b"}', "userId must consist of printable characters"],
    ["POST", START, `{"userId":"a","token":"${"long ".repeat(13)}"}`, "token must be at most 60 characters"],
    ["POST", START, '{"userId":"a","token":7.5}', "token must be a string"],
    ["POST", START, '{"userId":"a","messengerChatId":"me"}', "messengerChatId must be a numeric chat id"],
    ["POST", "/mcp/defi/send", "{}", "userId, toAddress, token are required"],
    ["POST", "/mcp/chat", '{"question":"q","messages":"m"}', "messages must be an array of turns"],
    [
      "POST",
      "/mcp/chat",
      '{"question":"q","messages":[{"role":"system","content":"x"}]}',
      "messages.0.role must be",
    ],
    [
      "POST",
      "/mcp/chat",
      '{"question":"q","messages":["hello"]}',
      "messages.0 must be an object with role and content",
    ],
    ["POST", "/mcp/chat", '{"question":"q","agentId":{}}', "agentId must be a string"],
    ["GET", "/mcp/whale-alerts?hours=0.5", undefined, "hours must be a number from 1 to 168"],
    ["GET", "/mcp/whale-alerts?hours=half", undefined, "hours must be a number from 1 to 168"],
    ["POST", "/mcp/whale-alerts", '{"hours":{}}', "hours must be a number from 1 to 168"],
    ["GET", "/mcp/token", undefined, "question is required"],
    ["GET", "/mcp/research/report?token=a%07b", undefined, "token must be a token's symbol or name"],
    ["GET", "/mcp/research/report", undefined, "token or jobId is required"],
    ["POST", "/user/messenger", '{"messengerChatId":"1"}', "userId is required"],
    [
      "POST",
      "/user/messenger",
      '{"userId":"a","messengerBotToken":"short"}',
      "messengerBotToken must be 20 to 128",
    ],
  ] as const;

  test("is 400 that names it, and changes nothing", async ({ app }) => {
    for (const [method, path, body, error] of WRONG) {
      const answer = await app.call(method, path, body === undefined ? {} : { body });
      expect([path, body, answer.status, answer.body.error]).toEqual([
        ...[path, body, 400],
        expect.stringContaining(error),
      ]);
    }
    expect(await everything(app)).toEqual({});
    expect(app.standins.sent("llm")).toEqual([]);
  });

  test("no message is the schema library's own, whatever is sent in a field", async ({ app }) => {
    const values: unknown[] = [{}, [{}], ["a"], true];
    for (const { path, methods, input } of endpoints) {
      if (!methods.includes("POST")) continue;
      const fields = Object.keys(toJsonSchema(input, "input").properties ?? {});
      for (const field of fields) {
        for (const value of values) {
          const { status, body } = await app.post(path, { [field]: value });
          if (status !== 400) continue;
          expect(String(body.error)).not.toMatch(/invalid input|expected|unrecognized|too (?:big|small)/i);
        }
      }
    }
  });

  test("null is absent in every field: no endpoint says that it is the wrong kind of value", async ({
    app,
  }) => {
    for (const { path, methods, example } of endpoints) {
      if (!methods.includes("POST") || typeof example?.input !== "object") continue;
      const left = await app.post(path, {});
      for (const name of Object.keys({ ...example.input })) {
        const { body } = await app.post(path, { [name]: null });
        expect([path, name, body.error]).toEqual([path, name, left.body.error]);
      }
    }
  });
});

test("a malformed server key is named without its value", async () => {
  const app = createApp({ env: { LLM_ENDPOINT: "not an address" } });
  const { status, body } = await app.post("/mcp/chat", { question: "hello" });
  expect(status).toBe(500);
  expect(body.error).toBe(
    "LLM_ENDPOINT is not configured correctly: it must be an http(s) address without ? and #",
  );
});

describe("limits", () => {
  test("guard what costs something per user and address, with the time to come back", async ({ app }) => {
    const ask = (userId: string, ip: string) =>
      app.post("/user/messenger", { userId, messengerChatId: "1" }, { ip });
    let refused = await ask("alice", "10.0.0.1");
    let granted = 0;
    for (; refused.status === 200 && granted < 100; granted++) refused = await ask("alice", "10.0.0.2");
    expect(granted).toBeGreaterThanOrEqual(59);
    expect([refused.status, refused.body]).toEqual([
      429,
      {
        error: expect.stringMatching(
          /^Rate limit reached: 60 changes of settings in 2 minutes for this user\. Try again in \d seconds?$/,
        ),
      },
    ]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await ask("bob", "10.0.0.1")).status).toBe(200);
  });

  test("of a user are counted behind access: who may not use up nothing of theirs", async ({ app }) => {
    const { userId } = await browserOf(app, "alice").mutation(api.accounts.profile.signIn, {});
    const set = (init: CallInit) => app.post("/user/messenger", { userId, messengerChatId: "1" }, init);
    for (let n = 0; n < 70; n++) {
      const by = n % 2 === 0 ? {} : { as: "mallory" };
      expect((await set({ ip: `10.0.1.${n % 4}`, ...by })).status).toBe(403);
    }
    for (let n = 0; n < 55; n++) expect((await set({ ip: "10.0.0.9", as: "alice" })).status).toBe(200);
  });

  test("a cached read is counted against no limit, and writes nothing", async ({ app }) => {
    const ip = "10.0.0.1";
    await app.get("/mcp/market", { ip });
    const before = JSON.stringify(await everything(app));
    for (let i = 0; i < 130; i++) expect((await app.get("/mcp/market", { ip })).status).toBe(200);
    expect(JSON.stringify(await everything(app))).toBe(before);
  });
});

/** Every row of every table of the application, without empty tables. */
async function everything(app: ReturnType<typeof createApp>): Promise<Record<string, unknown[]>> {
  const tables = [
    "providerStates",
    "answers",
    "shifts",
    "observations",
    "reports",
    "agentRuns",
    "messengerConfigs",
    "messages",
  ] as const;
  const all = await Promise.all(tables.map(async (table) => [table, await app.rows(table)] as const));
  return Object.fromEntries(all.filter(([, rows]) => rows.length > 0));
}
