import * as z from "zod";
import { wireSchema } from "../../convex/lib/answers";
import { AppError } from "../../convex/lib/errors";
import { completeStructured, type Question } from "../../convex/providers/models/structure";
import { createStandins, type Fault } from "../../scripts/standins/index";
import { random, type Random } from "../../scripts/standins/random";
import { schemaProblem } from "../../scripts/standins/llm";
import { STYLES, styled } from "./styles";
import { questions, type Ask } from "./wireQuestions";

/**
 * Answers of every kind for every question that the service asks the gateway: right ones in many spellings, unusable
 * ones, ones that are cut off, and failures. Each answer is used as it was meant, or the call ends in the documented
 * error: `halfUsed` tells which did neither.
 */

export type Wired = {
  question: string;
  /** Why strict mode would refuse its schema; `null` when it would not. */
  schemaProblem: string | null;
  answers: number;
  used: number;
  refused: number;
  halfUsed: string[];
};

const START = Date.UTC(2026, 0, 5, 9);
const STEP_MS = 37 * 60_000;
const PROVIDERS = "http://providers.invalid";

/** @param answers How many calls each question is put through. */
export async function fuzzWire(answers: number, seed: string): Promise<Wired[]> {
  const results: Wired[] = [];
  await questions((name, ask) => fuzzOne(name, ask, answers, seed).then((one) => void results.push(one)));
  return results;
}

async function fuzzOne<Shape extends z.ZodType>(
  name: string,
  ask: Ask<Shape>,
  answers: number,
  seed: string,
): Promise<Wired> {
  const first = ask(START, createStandins({ seed, now: () => START }).market);
  const result: Wired = {
    question: name,
    schemaProblem: schemaProblem(first.name, wireSchema(first.shape)),
    answers,
    used: 0,
    refused: 0,
    halfUsed: [],
  };
  for (let count = 0; count < answers; count++) {
    const outcome = await play(ask, count, `${seed} ${name} ${count}`);
    if (outcome === "used" || outcome === "refused") result[outcome]++;
    else result.halfUsed.push(`${count}: ${outcome}`);
  }
  return result;
}

/** What the gateway does to one request, and what that means for the call. */
type Step = { fault: Fault; meaning: "right" | "wrong" | "cut" | "failure" };

/** One call with a few answers in a row. @returns How it ended, or what was wrong with how it ended. */
async function play<Shape extends z.ZodType>(ask: Ask<Shape>, count: number, seed: string): Promise<string> {
  const at = START + count * STEP_MS;
  const chance = random(seed);
  const standins = createStandins({ seed, now: () => at });
  const question = ask(at, standins.market);
  const truth = await rightAnswer(standins, question);
  const expected = JSON.stringify(question.shape.parse(truth));
  const steps = Array.from({ length: chance.whole(1, 4) }, () => step(truth, question, chance));
  for (const { fault } of steps) standins.fail("llm", fault);
  standins.forget();
  const meant = meaningOf(steps);

  const told = await call(standins, question);
  const sent = standins.sent("llm").length;
  const story = `${steps.map(({ fault, meaning }) => `${meaning} ${JSON.stringify(fault).slice(0, 300)}`).join(" | ")}`;
  if (sent !== meant.requests) return `${sent} requests instead of ${meant.requests} after ${story}`;
  if ("value" in told) {
    if (!meant.used) return `used what was not usable: ${story}`;
    return JSON.stringify(told.value) === expected ? "used" : `used another value than was sent: ${story}`;
  }
  if (meant.used) return `${told.error} after ${story}`;
  return /^The LLM gateway /.test(told.error) ? "refused" : `an undocumented error: ${told.error}`;
}

type Standins = ReturnType<typeof createStandins>;

async function call<Shape extends z.ZodType>(
  standins: Standins,
  question: Question<Shape>,
): Promise<{ value: unknown } | { error: string }> {
  const fetchBefore = globalThis.fetch;
  globalThis.fetch = (input, init) => standins.handle(new Request(input, init));
  try {
    const { value } = await completeStructured(question, {
      payer: "service",
      timeoutMs: 60_000,
      attempts: 1,
    });
    return { value };
  } catch (error) {
    if (error instanceof AppError && error.data.code === "upstream") return { error: error.message };
    return { error: `unexpected: ${String(error)}` };
  } finally {
    globalThis.fetch = fetchBefore;
  }
}

/** What the calls of a sequence of answers must come to: a cut answer is asked for again, an unusable one is sent back. */
function meaningOf(steps: readonly Step[]): { used: boolean; requests: number } {
  let requests = 0;
  const next = () => steps[requests++]?.meaning ?? "right";
  const turn = () => {
    const first = next();
    if (first !== "cut") return first;
    const second = next();
    return second === "cut" ? "failure" : second;
  };
  const first = turn();
  const last = first === "wrong" ? turn() : first;
  return { used: last === "right", requests };
}

async function rightAnswer<Shape extends z.ZodType>(
  standins: Standins,
  question: Question<Shape>,
): Promise<unknown> {
  const format = { name: question.name, schema: wireSchema(question.shape), strict: true };
  const body = {
    model: "any",
    messages: [
      { role: "system", content: question.system },
      { role: "user", content: question.user },
    ],
    response_format: { type: "json_schema", json_schema: format },
  };
  const answer = await standins.handle(
    new Request(`${PROVIDERS}/llm/v1/chat/completions`, {
      method: "POST",
      headers: { Authorization: "Bearer any" },
      body: JSON.stringify(body),
    }),
  );
  const completion: unknown = await answer.json();
  return JSON.parse(contentIn(completion));
}

function contentIn(completion: unknown): string {
  const content = /"content":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(completion))?.[1];
  if (content === undefined) throw new Error(`No answer: ${JSON.stringify(completion)}`);
  return String(JSON.parse(content));
}

function step<Shape extends z.ZodType>(truth: unknown, question: Question<Shape>, chance: Random): Step {
  const reply = (content: string, meaning: Step["meaning"]): Step => ({
    fault: { mode: "reply", content, times: 1 },
    meaning,
  });
  switch (chance.pick(["right", "right", "wrong", "wrong", "wrong", "cut", "failure"] as const)) {
    case "right":
      return reply(styled(truth, chance.pick(STYLES)), "right");
    case "cut":
      return { fault: { mode: "truncated", times: 1 }, meaning: "cut" };
    case "failure":
      return { fault: chance.pick(FAILURES), meaning: "failure" };
    case "wrong":
      if (chance.between(0, 1) < 0.15) return { fault: chance.pick(EMPTY), meaning: "wrong" };
      return reply(damaged(truth, question.shape, chance), "wrong");
  }
}

const EMPTY: readonly Fault[] = [
  { mode: "reply", content: null, times: 1 },
  { mode: "reply", content: "I cannot know what happens on the chain.", times: 1 },
];

const FAILURES: readonly Fault[] = [
  { mode: "status", status: 429, times: 1 },
  { mode: "status", status: 429, retryAfter: 3, times: 1 },
  { mode: "status", status: 413, body: { error: "prompt is too long" }, times: 1 },
  { mode: "status", status: 503, body: "upstream unavailable", times: 1 },
  { mode: "garbage", times: 1 },
  { mode: "garbage", text: "{}", times: 1 },
  { mode: "drop", half: true, times: 1 },
  { mode: "drop", times: 1 },
];

/** The text of an answer that cannot be used, whatever tolerance it is read with. */
function damaged(truth: unknown, shape: z.ZodType, chance: Random): string {
  switch (chance.pick(["text", "list", "value", "value", "value", "value"] as const)) {
    case "text": {
      const text = JSON.stringify(truth);
      return text.slice(0, Math.floor(text.length * chance.between(0.1, 0.9)));
    }
    case "list":
      return JSON.stringify([truth, truth]);
    case "value":
      return JSON.stringify(broken(truth, shape, chance));
  }
}

/** The value with one part gone, renamed, or put in a way that nobody can read; never a part that may be null. */
function broken(value: unknown, shape: z.core.$ZodType, chance: Random): unknown {
  if (shape instanceof z.ZodNullable) return broken(value, shape.unwrap(), chance);
  if (shape instanceof z.ZodArray && Array.isArray(value) && value.length > 0) {
    const place = chance.whole(0, value.length - 1);
    return value.map((item: unknown, index) =>
      index === place ? broken(item, shape.element, chance) : item,
    );
  }
  if (shape instanceof z.ZodObject && typeof value === "object" && value !== null) {
    const all = Object.entries<z.core.$ZodType>(shape.shape);
    const parts = all.filter(([, part]) => !(part instanceof z.ZodNullable));
    // Where each may be null, the whole is what nobody can read.
    if (parts.length === 0) return [value, value];
    const [name, part] = chance.pick(parts);
    const entries = Object.entries(value);
    switch (chance.pick(["inside", "inside", "gone", "renamed"] as const)) {
      case "inside":
        return Object.fromEntries(
          entries.map(([key, inner]) => [key, key === name ? broken(inner, part, chance) : inner]),
        );
      case "gone":
        return Object.fromEntries(entries.filter(([key]) => key !== name));
      case "renamed":
        return Object.fromEntries(entries.map(([key, inner]) => [key === name ? "something" : key, inner]));
    }
  }
  if (shape instanceof z.ZodNumber) return chance.pick(["about 5", "1,234M", "5 ETH", "1-2M", {}, null]);
  return shape instanceof z.ZodEnum
    ? chance.pick(["sideways", "", 7, null, {}])
    : chance.pick([{}, [], null, "", "  "]);
}
