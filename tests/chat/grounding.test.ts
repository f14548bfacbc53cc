import { describe, expect } from "vitest";
import * as z from "zod";
import { type App, test } from "../support/app";

/** Figures of an answer are cited facts', or marked as the model's. */

const shape = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

function systemOf(app: App): string {
  const asked = app.standins.sent("llm").findLast(({ schema }) => schema === undefined);
  return shape.parse(asked?.body).messages[0]?.content ?? "";
}

describe("an answer in chat", () => {
  test("cites the facts of its prompt, and names their sources", async ({ app }) => {
    const { body } = await app.post("/mcp/chat", { question: "How is DOGE?" });
    expect(systemOf(app)).toMatch(/^f\d+ DOGE price: \$[\d.]+ \(CoinGecko, 2026-01-05T09:00Z\)$/m);
    expect(body.answer).toMatch(/Bitcoin at \$1\d\d,\d{3}(?:\.\d\d)? \[1\] \(\+[\d.]+\u202F% \[2\]\)/);
    expect(body.answer).toMatch(
      /Dogecoin at \$[\d.]+ \[\d\][^]*\n\nSources: \[1\] CoinGecko, \[2\] CoinGecko/,
    );
    expect(body).toMatchObject({
      sources: expect.arrayContaining([
        expect.objectContaining({ name: "CoinGecko", url: "https://www.coingecko.com/en/coins/dogecoin" }),
      ]),
    });
  });

  test("has each figure marked that no fact has", async ({ app }) => {
    const content =
      "Bitcoin is at $42,000 [f1]. It leads. Ether gained 77 % this week.\n- Nothing else moved.";
    app.standins.fail("llm", { mode: "reply", content, schema: "chat" });
    const { body } = await app.post("/mcp/chat", { question: "How is the market?" });
    expect(body.answer).toEqual(
      expect.stringMatching(
        /^Bitcoin is at \$42,000 \[model\] \[1\]\. It leads\. Ether gained 77 % \[model\] this week\.\n- Nothing else moved\.\n\nSources: \[1\] CoinGecko$/,
      ),
    );
  });

  test("of the news agent rests on headlines with their sources", async ({ app }) => {
    await app.post("/mcp/chat", { question: "What is new?", agentId: "news-default" });
    expect(systemOf(app)).toMatch(/^f\d+ Market headline: “.+” \(\S+, 2026-01-05T/m);
    expect(app.standins.sent("coindesk")).toHaveLength(1);
    await app.post("/mcp/chat", { question: "And now?", agentId: "news-default" });
    expect(app.standins.sent("coindesk")).toHaveLength(1);
  });
});
