import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import { buildRestatementQuestion } from "../../convex/alerts/restating";
import { parseAnswer, toWireSchema } from "../../convex/figures/answers";
import { buildSnapshotQuestion, createTokenCheck, buildTokenQuestion } from "../../convex/market/questions";
import type { StructuredQuestion } from "../../convex/providers/models/structure";
import { buildOnchainQuestion, buildSynthesisQuestion } from "../../convex/research/writing/prompts";
import { buildReviewIndex, buildReviewQuestion, buildSignalQuestion } from "../../convex/signals/prompts";
import { computeTotals } from "../../convex/signals/record";
import { createStandins } from "../../scripts/standins/index";
import { findSchemaProblem } from "../../scripts/standins/llm";

/** Every question that the service asks the gateway for JSON: its schema, and what counts as an answer. */

const AT = Date.UTC(2026, 0, 5, 9);
const iso = new Date(AT).toISOString();
const standins = createStandins({ seed: "tests", now: () => AT });

/** Calls `use` with each question in turn. */
async function questions(
  use: <Shape extends z.ZodType>(question: StructuredQuestion<Shape>) => Promise<void>,
) {
  await use(buildSnapshotQuestion(iso, "BTC 100000 USD"));
  const question = "How is SOL doing?";
  const check = createTokenCheck(question, [], new Map(), AT);
  await use(buildTokenQuestion({ question, nowIso: iso, live: null, searched: [] }, check));
  await use(buildOnchainQuestion("ETH", iso));
  // The wire is measured here, not what the figures say.
  const evidence = "Market as of now: Bitcoin $104500 (+1 %)\nOn-chain signals: none could be collected.";
  await use(
    buildSynthesisQuestion({ occasion: "Final report", focus: "BTC", nowIso: iso, evidence }, () => null),
  );
  await use(buildRestatementQuestion("ping me when bitcoin loses a twentieth"));
  const priceUsd = standins.market.coin("BTC", AT).price;
  await use(
    buildSignalQuestion({
      hours: [],
      funding: null,
      token: "BTC",
      nowMs: AT,
      price: { priceUsd, source: "coinbase", observedAt: AT },
      costBps: 15,
      record: { wins: 0, losses: 0, reliability: null },
    }),
  );
  await use(
    buildReviewQuestion(
      "Review of the day 2026-01-05 (UTC).",
      buildReviewIndex([], computeTotals([]), AT),
      AT,
    ),
  );
}

/** What the stand-in answers to a question. */
async function rightAnswer({ name, system, user, shape }: StructuredQuestion<z.ZodType>): Promise<unknown> {
  const messages = [
    { role: "system", content: system },
    { role: "user", content: user },
  ];
  const format = { type: "json_schema", json_schema: { name, schema: toWireSchema(shape), strict: true } };
  const answer = await standins.handle(
    new Request("http://providers.invalid/llm/v1/chat/completions", {
      method: "POST",
      headers: { Authorization: "Bearer any" },
      body: JSON.stringify({ model: "any", messages, response_format: format }),
    }),
  );
  const content = /"content":("(?:[^"\\]|\\.)*")/.exec(await answer.text())?.[1] ?? '""';
  return JSON.parse(String(JSON.parse(content)));
}

/** The value with each of its parts in turn gone, or put in a way that nobody can read; never a part that may be null. */
function broken(value: unknown, shape: z.core.$ZodType): unknown[] {
  if (shape instanceof z.ZodNullable) return broken(value, shape.unwrap());
  if (shape instanceof z.ZodArray && Array.isArray(value) && value.length > 0) {
    const items: unknown[] = value;
    return broken(items.at(-1), shape.element).map((last) => [...items.slice(0, -1), last]);
  }
  if (shape instanceof z.ZodObject && typeof value === "object" && value !== null)
    return Object.entries<z.core.$ZodType>(shape.shape).flatMap(([name, part]) =>
      part instanceof z.ZodNullable
        ? []
        : [
            ...broken(new Map<string, unknown>(Object.entries(value)).get(name), part).map((inner) => ({
              ...value,
              [name]: inner,
            })),
            Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)),
          ],
    );
  if (shape instanceof z.ZodNumber) return ["about 5", "1,234M", "5 ETH", "1-2M", {}, null];
  return shape instanceof z.ZodEnum ? ["sideways", "", 7, null, {}] : [{}, [], null, "", "  "];
}

test("every question has a schema that strict mode takes; its answer is read as meant or not at all", async () => {
  await questions(async ({ name, shape, ...question }) => {
    expect([name, findSchemaProblem(name, toWireSchema(shape))]).toEqual([name, null]);
    const right = await rightAnswer({ name, shape, ...question, demands: () => null, mend: () => null });
    const value = shape.parse(right);
    const read = (one: string) => parseAnswer(shape, one, "");
    const text = JSON.stringify(right);
    expect([name, read(text)]).toEqual([name, { value }]);
    const cut = [0.1, 0.5, 0.9].map((part) => text.slice(0, Math.floor(text.length * part)));
    const wrong = [...broken(right, shape), [right, right]].map((one) => JSON.stringify(one));
    for (const one of [...cut, ...wrong, "I cannot know what happens on the chain."])
      expect([name, one, read(one)]).toEqual([name, one, { problem: expect.any(String) }]);
  });
});

test("no question is left out", async () => {
  let asked = 0;
  await questions(() => Promise.resolve(void asked++));
  const directory = new URL("../../convex/", import.meta.url);
  const files = (await readdir(directory, { recursive: true })).filter(
    (name) => name.endsWith(".ts") && !name.startsWith("_generated"),
  );
  const sources = await Promise.all(files.map((name) => readFile(new URL(name, directory), "utf8")));
  expect(asked).toBe(sources.join("\n").match(/satisfies StructuredQuestion</g)?.length);
});
