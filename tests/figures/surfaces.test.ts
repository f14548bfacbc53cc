import { expect } from "vitest";
import { say, test as botTest } from "../bot/support";
import { agentSays, alert, watchNow } from "../whales/support";
import { test } from "../support/app";

/**
 * Every text that a model writes for readers goes through the slots: what a fact has is printed from it, and an invented
 * figure goes or is marked. Reports, chat, tokens, reviews and a signal's reasoning are told of with their rooms.
 */

const result = (fields: Record<string, unknown>) =>
  JSON.stringify({
    fullAnalysis: new Array<string>(60).fill("The desk waits for what comes next today.").join(" "),
    shortSummary: "🟢 Bitcoin {f1} after $42,000",
    marketOutlook: "bullish",
    impacts: [
      { title: "BTC at {f1}", detail: "It holds.", sentiment: "bullish", confidence: 0.5 },
      { title: "BTC at $42,000", detail: "It trades at {f1}.", sentiment: "bullish", confidence: 0.5 },
    ],
    ...fields,
  });

test("a report's summary and titles print facts, and lose what no fact has", async ({ app }) => {
  app.standins.fail("llm", { mode: "reply", content: result({}), schema: "research_result" });
  const { body } = await app.post("/mcp/research", {});
  expect(JSON.stringify(body)).not.toContain("42,000");
  expect(body.result).toMatchObject({
    shortSummary: "🟢 Outlook on the whole market: bullish",
    impacts: [
      { title: expect.stringMatching(/^BTC at \$1\d\d,\d{3}(?:\.\d\d)?$/) },
      { title: "Market", detail: expect.stringMatching(/^It trades at \$1\d\d,\d{3}(?:\.\d\d)? \[1\]\.$/) },
    ],
  });
});

test("an agent's words on whales say once, at their end, that their figures are a model's", async ({
  app,
}) => {
  const descriptions = [
    "A fund moved $4.2M to an exchange.",
    "A fund moved 1,230 ETH, its third transfer of $9.9 million.",
    "A fund moved everything it had.",
  ];
  agentSays(
    app,
    descriptions.map((description, index) => alert({ amount: 4_200_000 + index, description })),
  );
  await watchNow(app);
  const { body } = await app.get("/mcp/whale-alerts");
  expect(body.alerts).toMatchObject(
    [
      "A fund moved $4.2M to an exchange (a model's figures).",
      "A fund moved 1,230 ETH, its third transfer of $9.9 million (a model's figures).",
      "A fund moved everything it had.",
    ].map((description) => ({ description, source: "agent-reported" })),
  );
  // A card tells a sum once: words that tell one again are left out there.
  const card = app.cards().at(-1)?.text;
  expect(card).toContain(
    "ETH: $4.20M went to exchanges</b> · A fund moved everything it had. · agent-reported",
  );
  expect(card).not.toMatch(/model's|9\.9/);
});

botTest("the bot answers with printed facts, and marks what no fact has", async ({ app }) => {
  const content = "Bitcoin is at {f1}. It will reach $420,000.";
  app.standins.fail("llm", { mode: "reply", content, schema: "chat" });
  const answers = await say(app, "/ask How is Bitcoin?", { answers: 2 });
  expect(answers.at(-1)).toMatch(
    /Bitcoin is at \$1\d\d,\d{3}(?:\.\d\d)? <a href="https:\/\/www\.coingecko\.com\/[^"]+">\[1\]<\/a>\. It will reach \$420,000 \[model\]\./,
  );
});
