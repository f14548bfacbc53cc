import { describe, expect } from "vitest";
import * as z from "zod";
import { SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { api } from "../../convex/_generated/api";
import { browserOf } from "../support/browser";
import { type App, test } from "../support/app";

const completionBody = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

/** The conversation the gateway was last asked to continue. */
function lastConversation(app: App) {
  const chats = app.standins.sent("llm").filter(({ schema }) => schema === undefined);
  return completionBody.parse(chats.at(-1)?.body).messages;
}

describe("POST /mcp/chat", () => {
  test("answers as the default agent, with the live market in its prompt", async ({ app }) => {
    const { status, body } = await app.post("/mcp/chat", { question: "How is the market?" });
    expect(status).toBe(200);
    expect(body).toEqual({
      answer: expect.any(String),
      agentId: "primary-default",
      model: expect.stringContaining("simulated"),
      sources: expect.any(Array),
    });
    const [system, question] = lastConversation(app);
    expect(system?.content).toMatch(
      /crypto assistant[\s\S]*\nf1 BTC price: \$[\d,.]+ \(CoinGecko, 2026-01-05T09:00Z\)/,
    );
    expect(question).toEqual({ role: "user", content: "How is the market?" });
  });

  test("gives each agent its own prompt; an unknown one is 404", async ({ app }) => {
    const prompts = new Set<string | undefined>();
    for (const agentId of ["primary-default", "news-default", "marketdata-default"]) {
      const { body } = await app.post("/mcp/chat", { question: "hello", agentId });
      expect(body.agentId).toBe(agentId);
      prompts.add(lastConversation(app)[0]?.content.split("\n")[0]);
    }
    expect(prompts.size).toBe(3);
    for (const agentId of ["nobody", "toString", "__proto__"]) {
      const { status, body } = await app.post("/mcp/chat", { question: "hello", agentId });
      expect([status, body]).toEqual([404, { error: `There is no agent named ${agentId}` }]);
    }
  });

  test("passes earlier turns on in order, the oldest dropped when they are too long", async ({ app }) => {
    const messages = [
      { role: "user", content: "first" },
      { role: "assistant", content: "x".repeat(14_000) },
      { role: "user", content: "y".repeat(14_000) },
      { role: "assistant", content: "last" },
    ];
    await app.post("/mcp/chat", { question: "and now?", messages });
    const turns = lastConversation(app).slice(1);
    expect(turns.map(({ content }) => content[0])).toEqual(["y", "l", "a"]);
  });

  test("knows the user's running shift and reports, and nobody else's", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "alice", token: "SOL" });
    await app.pass(2.6 * 3_600_000);
    await app.post("/mcp/chat", { question: "What did you find?", userId: "alice" });
    const [mine] = lastConversation(app);
    expect(mine?.content).toMatch(/Running research shift on SOL[\s\S]*interim report on SOL/);
    expect(mine?.content).not.toContain("alice");
    await app.post("/mcp/chat", { question: "What did you find?", userId: "bob" });
    expect(lastConversation(app)[0]?.content).not.toContain("shift on SOL");
  });

  test("tells a signed-in user's research with that user's token alone", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "alice-id", token: "SOL" });
    const told = async (as: Pick<typeof app.t, "fetch">) => {
      const body = JSON.stringify({ question: "What did you find?", userId: "alice-id" });
      expect((await app.during(as.fetch("/mcp/chat", { method: "POST", body }))).status).toBe(200);
      return lastConversation(app)[0]?.content.includes("Running research shift on SOL");
    };
    expect(await told(app.t)).toBe(true);
    for (const name of ["alice", "mallory"]) {
      const claim = { userId: `${name}-id` };
      await browserOf(app, name).action(api.accounts.actions.claimUserId, claim);
    }
    await app.post("/mcp/research/start", { userId: "alice-id", token: "SOL" }, { as: "alice" });
    expect(await told(app.t)).toBe(false);
    expect(await told(browserOf(app, "mallory"))).toBe(false);
    expect(await told(browserOf(app, "alice"))).toBe(true);
  });

  test("answers a request for a key itself, without any model", async ({ app }) => {
    const { status, body } = await app.post("/mcp/chat", { question: "What is my seed phrase?" });
    expect([status, body]).toEqual([
      200,
      {
        answer: SECURITY_MESSAGE,
        agentId: "primary-default",
        model: "none",
        sources: [],
      },
    ]);
    expect(app.standins.sent("llm")).toEqual([]);
  });

  test.for([
    [{ mode: "reply", content: "  " }, "The LLM gateway sent an unusable answer"],
    [{ mode: "truncated" }, "The LLM gateway sent an answer that was cut off at its limit"],
  ] as const)(
    "is 502 when the gateway answers nothing, or not to the end: %o",
    async ([fault, error], { app }) => {
      app.standins.fail("llm", fault);
      const { status, body } = await app.post("/mcp/chat", { question: "hello" });
      expect([status, body]).toEqual([502, { error }]);
    },
  );

  test("goes on without the market when its source fails, and asks no other model", async ({ app }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    const { status } = await app.post("/mcp/chat", { question: "hello" });
    expect(status).toBe(200);
    expect(lastConversation(app)[0]?.content).toMatch(/headline/);
    expect(lastConversation(app)[0]?.content).not.toMatch(/price: /);
    expect(app.standins.sent("llm")).toHaveLength(1);
  });
});
