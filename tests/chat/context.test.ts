import { describe, expect } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { creditDeposit } from "../../convex/credits/model";
import { lastTurns } from "../../convex/chat/runs";
import { type App, test } from "../support/app";
import { browserOf } from "../support/browser";
import { insertAlerts } from "../support/rows/signalRows";

/** What chat knows beside the market, and what it remembers. */

const bodyShape = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });
function lastConversation(app: App) {
  const chats = app.standins.sent("llm").filter(({ schema }) => schema === undefined);
  return bodyShape.parse(chats.at(-1)?.body).messages;
}

test("chat knows the day's signals and the last large movements, unverified ones marked", async ({ app }) => {
  const now = Date.now();
  const description = "A fund sent ETH to an exchange.";
  await insertAlerts(app, [
    { alertType: "cex_inflow", amount: 5_000_000, direction: "bearish", description },
  ]);
  await app.t.run(async (ctx) => {
    await ctx.db.insert("signals", {
      token: "BTC",
      day: "2026-01-05",
      signal: "BUY",
      entry: 100_000,
      tp1: 101_000,
      tp2: 102_000,
      sl: 99_000,
      confidence: 60,
      reasoning: "Because.",
      status: "PENDING",
      generatedAt: now,
      expiresAt: now + 6 * 3_600_000,
      ...{ model: "m", promptVersion: "signal-4", costBps: 15 },
      price: { usd: 100_000, source: "coinbase", observedAt: now },
    });
  });
  await app.post("/mcp/chat", { question: "Was gibt es Neues?" });
  const system = lastConversation(app)[0]?.content ?? "";
  expect(system).toMatch(/BTC BUY at \$100000, targets \$101000 and \$102000/);
  expect(system).toMatch(/ETH cex_inflow, \$5000000.*not verified on chain/);
  expect(system).toContain("Answer in the language of the user's last message");
});

describe("a long history", () => {
  test("of hundreds of turns is cut, not refused", async ({ app }) => {
    const messages = Array.from({ length: 300 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `turn ${index} ${"x".repeat(200)}`,
    }));
    const { status } = await app.post("/mcp/chat", { question: "and now?", messages });
    expect(status).toBe(200);
    const turns = lastConversation(app).slice(1, -1);
    expect(turns.at(-1)?.content).toContain("turn 299 ");
    expect(turns.length).toBeGreaterThan(50);
    expect(turns.length).toBeLessThan(200);
  });

  test("keeps the end of a turn that is too long by itself", () => {
    const [only] = lastTurns([{ role: "user", content: `${"a".repeat(50)}🚀end` }], 5);
    expect(only?.content).toBe("…🚀end");
  });
});

test("a paid run goes on from the runs before it, and pays for them", async ({ app }) => {
  const alice = browserOf(app, "alice");
  const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
  await app.t.run((ctx) => creditDeposit(ctx, { userId, amount: 1_000, key: "given", source: "usdc" }));
  await alice.mutation(api.chat.runs.start, { question: "My favourite coin is SOL." });
  await app.settle();
  await alice.mutation(api.chat.runs.start, { question: "Show me my private key" });
  await app.settle();
  await alice.mutation(api.chat.runs.start, { question: "How is my favourite coin?" });
  await app.settle();
  const said = lastConversation(app).slice(1);
  expect(said.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(said[0]?.content).toBe("My favourite coin is SOL.");
});
