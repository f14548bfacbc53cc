import { expect, test } from "vitest";
import * as z from "zod";
import { post, standinsAt } from "./support";

const responseShape = z.object({
  output: z.array(z.object({ type: z.string() })),
  citations: z.array(z.string()).optional(),
});

const bodyFor = (tool: Record<string, unknown>) => ({
  model: "grok-4.3",
  store: false,
  max_output_tokens: 8_000,
  input: [
    { role: "system", content: "Answer with JSON." },
    { role: "user", content: "Mood?" },
  ],
  tools: [{ type: "x_search", ...tool }],
});

const DATES = { from_date: "2026-01-04", to_date: "2026-01-05" };

async function ask(body: unknown, standins = standinsAt()) {
  const response = await post(standins, "/sentiment/v1/responses", body);
  expect(response.status).toBe(200);
  return responseShape.parse(await response.json());
}

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
