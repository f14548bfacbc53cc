import { expect, test } from "vitest";
import * as z from "zod";
import { sentimentShape } from "../../convex/research/writing/prompts";
import { post, standinsAt } from "./support";

const responseShape = z.object({
  model: z.string(),
  output: z.array(
    z.object({
      type: z.string(),
      name: z.string().optional(),
      content: z.array(z.object({ text: z.string(), annotations: z.array(z.unknown()) })).optional(),
    }),
  ),
  citations: z.array(z.string()).optional(),
});

const bodyFor = (tool: Record<string, unknown>, question = "Mood?") => ({
  model: "grok-4.3",
  store: false,
  max_output_tokens: 8_000,
  input: [
    { role: "system", content: "Answer with JSON." },
    { role: "user", content: question },
  ],
  tools: [{ type: "x_search", ...tool }],
});

const DATES = { from_date: "2026-01-04", to_date: "2026-01-05" };

async function ask(body: unknown, standins = standinsAt()) {
  const response = await post(standins, "/sentiment/v1/responses", body);
  expect(response.status).toBe(200);
  return responseShape.parse(await response.json());
}

test("searches, cites, and answers in the service's shape with the focus first", async () => {
  const answer = await ask(bodyFor(DATES, "Mood?\nFocus token: WIF"));
  expect(answer.model).toBe("simulated-grok-4.3");
  expect(answer.output.map(({ type }) => type)).toEqual(["reasoning", "custom_tool_call", "message"]);
  expect(answer.citations).toHaveLength(3);
  const message = answer.output[2]?.content?.[0];
  expect(message?.annotations).toHaveLength(3);
  const { tokens } = sentimentShape.parse(JSON.parse(message?.text ?? ""));
  expect(tokens.length).toBeGreaterThanOrEqual(5);
  expect(tokens.length).toBeLessThanOrEqual(8);
  expect(tokens[0]?.token).toBe("WIF");
  expect(new Set(tokens.map(({ token }) => token)).size).toBe(tokens.length);
});

test("malformed dates pass silently and give an uncited answer, as does the fault", async () => {
  const malformed = [
    { from_date: "yesterday" },
    { ...DATES, to_date: "2026-02-30" },
    { ...DATES, to_date: "2025-01-01" },
  ];
  for (const dates of malformed) {
    const answer = await ask(bodyFor(dates));
    expect(answer.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    expect(answer.citations).toBeUndefined();
  }
  const standins = standinsAt();
  standins.fail("sentiment", { mode: "uncited", times: 1 });
  expect((await ask(bodyFor(DATES), standins)).citations).toBeUndefined();
  expect((await ask(bodyFor(DATES), standins)).citations).toHaveLength(3);
});

test("refuses without a key, and a malformed body", async () => {
  const standins = standinsAt();
  const keyless = await post(standins, "/sentiment/v1/responses", bodyFor(DATES), { headers: {} });
  expect(keyless.status).toBe(401);
  expect(await keyless.json()).toHaveProperty("code", "unauthenticated");
  expect((await post(standins, "/sentiment/responses", { model: "m" })).status).toBe(400);
});
