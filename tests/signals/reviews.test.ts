import { describe, expect } from "vitest";
import { createApp, type App } from "../support/app";
import { buy, decided, EIGHT, issued, test } from "./support";

/** What a model writes about the signals: results are the record's, and every other figure is left out or marked. */

const BOAST =
  "9 of 10 trades beat chance, and readers made $500,000. The desk won 1 and lost 1. Profit of 12 % is certain.";

describe("a day's review", () => {
  const review = async (app: App, content: string) => {
    app.standins.fail("llm", {
      mode: "reply",
      content: JSON.stringify({ review: content }),
      schema: "signal_review",
    });
    const { body } = await app.get("/mcp/signals/recap");
    return body;
  };

  test("loses the sentences whose figures the record does not have", async ({ app }) => {
    await decided(app);
    const body = await review(app, BOAST);
    expect(JSON.stringify(body)).not.toMatch(/500,000|9 of 10|12 %/);
    const asked = app.standins.sent("llm").filter(({ schema }) => schema === "signal_review");
    expect(asked).toHaveLength(2);
    expect(JSON.stringify(asked[1]?.body)).toContain("500,000");
  });

  test("prints the record's results in the place of slots", async ({ app }) => {
    await decided(app);
    const body = await review(app, "The desk won {f1} and lost {f2}, a result of {f7} after costs.");
    expect(body.review).toMatch(/^The desk won 1 and lost 1, a result of −0\.30\u202F% after costs\.$/);
  });

  test("says what the record says where nothing is left", async ({ app }) => {
    await decided(app);
    const body = await review(app, "Readers made $500,000.");
    expect(body.review).toBe("Wins 1, losses 1, expired 0.");
  });

  test.each([
    "Profit is certain.",
    "This method beats the market, and you cannot lose with it.",
    "Nobody has ever lost money here. 稳赚不赔。 Buy now!",
    "The desk won {f1}, and profit is guaranteed.",
    "With {f1} won, every trade of tomorrow will win.",
  ])("keeps nothing that no fact bears, nor a promise beside one: %s", async (words) => {
    const app = createApp({ now: EIGHT });
    await decided(app);
    const body = await review(app, `The desk won {f1} and lost {f2}. ${words}`);
    expect(body.review).toBe("The desk won 1 and lost 1.");
  });
});

test("a signal's reasoning has what was measured as measured, and the rest marked", async ({ app }) => {
  const reasoning =
    "The price of $100 holds. Liquidations of $340 million ended last night. It aims for $101.";
  await issued(app, { ...buy, reasoning });
  const { body } = await app.get("/mcp/signals/latest?token=BTC");
  const text = JSON.stringify(body);
  expect(text).toContain("$340 million [model]");
  expect(text).not.toMatch(/\$100[^"]{0,12} \[model\]/);
});
