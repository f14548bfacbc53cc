import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import { restatementQuestion } from "../../convex/alerts/reading";
import { readAnswer, wireSchema } from "../../convex/lib/answers";
import { snapshotQuestion, tokenCheck, tokenQuestion } from "../../convex/market/questions";
import type { Question } from "../../convex/providers/models/structure";
import { onchainQuestion, synthesisQuestion } from "../../convex/research/writing/prompts";
import { reviewLedger, reviewQuestion, signalQuestion } from "../../convex/signals/prompts";
import { standingOf } from "../../convex/signals/record";
import { createStandins } from "../../scripts/standins/index";
import { schemaProblem } from "../../scripts/standins/llm";

/** Every question that the service asks the gateway for JSON, and answers to it in the spellings of models. */

const AT = Date.UTC(2026, 0, 5, 9);
const iso = new Date(AT).toISOString();
const standins = createStandins({ seed: "tests", now: () => AT });

/** Calls `use` with each question in turn. */
async function questions(use: <Shape extends z.ZodType>(question: Question<Shape>) => Promise<void>) {
  await use(snapshotQuestion(iso, "BTC 100000 USD"));
  const question = "How is SOL doing?";
  const check = tokenCheck(question, [], new Map(), AT);
  await use(tokenQuestion({ question, nowIso: iso, live: null, searched: [] }, check));
  await use(onchainQuestion("ETH", iso));
  // The wire is measured here, not what the figures say.
  const evidence = "Market as of now: Bitcoin $104500 (+1 %)\nOn-chain signals: none could be collected.";
  await use(synthesisQuestion({ occasion: "Final report", focus: "BTC", nowIso: iso, evidence }, () => null));
  await use(restatementQuestion("ping me when bitcoin loses a twentieth"));
  const priceUsd = standins.market.coin("BTC", AT).price;
  await use(
    signalQuestion({
      hours: [],
      funding: null,
      token: "BTC",
      nowMs: AT,
      price: { priceUsd, source: "coinbase", observedAt: AT },
      costBps: 15,
      record: { wins: 0, losses: 0, reliability: null },
    }),
  );
  await use(reviewQuestion("Review of the day 2026-01-05 (UTC).", reviewLedger([], standingOf([]), AT)));
}

/** What the stand-in answers to a question. */
async function rightAnswer({ name, system, user, shape }: Question<z.ZodType>): Promise<unknown> {
  const messages = [
    { role: "system", content: system },
    { role: "user", content: user },
  ];
  const format = { type: "json_schema", json_schema: { name, schema: wireSchema(shape), strict: true } };
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

type Changes = { number?: (value: number) => unknown; key?: (key: string) => string };

function mapped(value: unknown, changes: Changes): unknown {
  if (typeof value === "number") return changes.number?.(value) ?? value;
  if (Array.isArray(value)) return value.map((item: unknown) => mapped(item, changes));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [changes.key?.(key) ?? key, mapped(inner, changes)]),
  );
}

/** `1,234.5`, `$0.5`, as people write figures. */
function dressed(value: number): string {
  const [whole = "", fraction] = String(Math.abs(value)).split(".");
  if (whole.includes("e")) return String(value);
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return `${value < 0 ? "-" : ""}$${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** `$14.5M`, `1.2bn`, if no digit is lost by it. */
function scaled(value: number): unknown {
  for (const [unit, power] of Object.entries({ T: 12, bn: 9, M: 6 })) {
    const figure = String(value / 10 ** power);
    if (value >= 10 ** power && !figure.includes("e") && Number(`${figure}e${power}`) === value)
      return `$${figure}${unit}`;
  }
  return value;
}

/** The ways in which models write the same JSON value. */
const SPELLINGS: Record<string, (value: unknown) => string> = {
  fenced: (value) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``,
  "in prose": (value) =>
    `Here it is [1]:\n\n${JSON.stringify(value)}\n\nLet me know if {anything} is unclear.`,
  "numbers as text": (value) => JSON.stringify(mapped(value, { number: String })),
  "numbers dressed": (value) => JSON.stringify(mapped(value, { number: dressed })),
  "numbers with magnitudes": (value) => JSON.stringify(mapped(value, { number: scaled })),
  "keys in camel case": (value) =>
    JSON.stringify(
      mapped(value, { key: (key) => key.replace(/_+(\w)/g, (_whole, one: string) => one.toUpperCase()) }),
    ),
  "keys in snake case": (value) =>
    JSON.stringify(mapped(value, { key: (key) => key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase() })),
  "keys in capitals": (value) => JSON.stringify(mapped(value, { key: (key) => key.toUpperCase() })),
  "with more keys": (value) => JSON.stringify({ note: "simulated", ...Object(value), extras: [{ a: 1 }] }),
  wrapped: (value) => JSON.stringify({ result: value }),
};

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
    expect([name, schemaProblem(name, wireSchema(shape))]).toEqual([name, null]);
    const right = await rightAnswer({ name, shape, ...question, demands: () => null, mend: () => null });
    const value = shape.parse(right);
    const read = (text: string) => readAnswer(shape, text, "");
    for (const [spelling, spelt] of Object.entries(SPELLINGS))
      expect([name, spelling, read(spelt(right))]).toEqual([name, spelling, { value }]);
    const text = JSON.stringify(right);
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
  expect(asked).toBe(sources.join("\n").match(/satisfies Question</g)?.length);
});
