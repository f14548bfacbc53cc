import { expect } from "vitest";
import * as z from "zod";
import { test } from "../support/app";

/** The social sentiment model thinks before it writes, and what it thinks counts as output. */

const requestShape = z.object({
  max_output_tokens: z.number(),
  reasoning: z.object({ effort: z.string() }),
});

const missing = (reason: string): unknown =>
  expect.arrayContaining([
    expect.objectContaining({ collector: "sentiment", reason: expect.stringContaining(reason) }),
  ]);

test("it is given room to think, with little effort, and what it cites is kept", async ({ app }) => {
  await app.post("/mcp/research", { token: "BTC" });
  const [request] = app.standins.sent("sentiment").map(({ body }) => requestShape.parse(body));
  expect(request?.max_output_tokens).toBeGreaterThanOrEqual(8_000);
  expect(request?.reasoning.effort).toBe("low");
  const [observation] = await app.rows("observations");
  expect(observation?.sentiment).toMatchObject({
    degraded: false,
    citations: [expect.stringMatching(/^https:/), expect.any(String), expect.any(String)],
  });
});

test("scores are read on a scale of 1 to 10, and on no other", async ({ app }) => {
  const SCORES = [
    ["BTC", [0.7, 0.2, 1], "fractions of one"],
    ["ETH", [70, 20, 100], "hundreds"],
    ["SOL", [-1, 5], "below nothing"],
    ["DOGE", [7, 2, 10], null],
    ["LINK", [0, 6.5, 9], null],
  ] as const;
  for (const [token, scores, wrong] of SCORES) {
    const said = { sentiment: "neutral", narrative: "People talk." };
    const tokens = scores.map((buzz, i) => ({ token: `T${i}`, buzz, ...said }));
    const content = JSON.stringify({ overall: "Calm.", tokens });
    app.standins.clear();
    app.standins.fail("sentiment", { mode: "reply", content });
    const { body } = await app.post("/mcp/research", { token });
    const observation = (await app.rows("observations")).find(({ focus }) => focus === token);
    expect([token, observation?.sentiment?.tokens.map(({ buzz }) => buzz)]).toEqual([
      token,
      wrong === null ? scores.map((score) => Math.max(1, Math.round(score))) : undefined,
    ]);
    if (wrong !== null)
      expect(body.result).toMatchObject({ missing: missing("buzz must be on a scale of 1 to 10") });
  }
});

test("an answer that it could not complete is no reading, and says why", async ({ app }) => {
  const text = '{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}';
  app.standins.fail("sentiment", { mode: "garbage", text });
  const { body } = await app.post("/mcp/research", { token: "BTC" });
  const error = "The sentiment model sent an answer that was cut off at its limit";
  expect(body.result).toMatchObject({ missing: missing(error) });
});
