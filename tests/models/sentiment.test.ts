import { afterEach, expect, test } from "vitest";
import * as z from "zod";
import { closeApp, createApp } from "../support/app";

/** The social sentiment model thinks before it writes, and what it thinks counts as output. */

afterEach(closeApp);

const requestShape = z.object({
  max_output_tokens: z.number(),
  reasoning: z.object({ effort: z.string() }),
});

test("it is given room to think, with little effort, and what it cites is kept", async () => {
  const app = createApp();
  await app.post("/mcp/research", { token: "BTC" });
  const [request] = app.standins.sent("sentiment").map(({ body }) => requestShape.parse(body));
  expect(request?.max_output_tokens).toBeGreaterThanOrEqual(8_000);
  expect(request?.reasoning.effort).toBe("low");
  const [observation] = await app.rows("observations");
  expect(observation?.sources.sentiment).toMatchObject({
    state: "ok",
    output: {
      degraded: false,
      citations: [expect.stringMatching(/^https:/), expect.any(String), expect.any(String)],
    },
  });
});

test("an answer that it could not complete is no reading, and says why", async () => {
  const app = createApp();
  app.standins.fail("sentiment", { mode: "truncated" });
  const { body } = await app.post("/mcp/research", { token: "BTC" });
  expect(body.result).toMatchObject({ readings: { sentiment: { state: "missing" } } });
  const [observation] = await app.rows("observations");
  expect(observation?.sources.sentiment).toMatchObject({
    state: "failed",
    error: "The sentiment model sent an answer that was cut off at its limit",
  });
});
