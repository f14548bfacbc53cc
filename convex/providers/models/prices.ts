import { getSetting } from "../../lib/env";

/** Prices of the providers' calls, from their public lists of August 2026, without discounts for cached prompts. */

/**
 * USD per million tokens (which equals millionths of a USD per token), by the start of the model's name; the first match
 * counts.
 */
const TOKEN_PRICES: readonly (readonly [start: string, input: number, output: number])[] = [
  ["claude-haiku", 1, 5],
  ["claude-sonnet", 3, 15],
  ["claude-opus", 5, 25],
  ["gemini-3-flash", 0.5, 3],
  ["gemini", 2, 12],
  ["gpt-5-mini", 0.25, 2],
  ["gpt-5-nano", 0.05, 0.4],
  ["gpt-5", 1.75, 14],
  ["grok-4.3", 1.25, 2.5],
  ["grok", 2, 6],
  ["deepseek", 0.6, 1.7],
  ["qwen", 0.6, 3.6],
  ["kimi", 0.6, 3],
];
/** A model that is not in the table counts as an expensive one. */
const UNKNOWN_PRICE = { input: 5, output: 25 };

/** A post that the sentiment model's search fetches: 5 USD per thousand. */
const POST_MICROS = 5_000;
/** The estimate for a sentiment answer without usage: five posts, and 4,000 tokens each way. */
export const USUAL_SENTIMENT_MICROS = 40_000;
/** A prompt of the agent API, which publishes no price: estimated from its plan. */
export const AGENT_PROMPT_MICROS = 50_000;

/** Few texts have more than one token per three characters. */
const CHARS_PER_TOKEN = 3;

/** Tokens of a call. */
export type Usage = { input: number; output: number };

/** The most that a completion may cost: the longest allowed answer to a prompt of so many characters. */
export function maxCompletionCost(model: string, promptChars: number, maxTokens: number): number {
  return getTokensCost(model, { input: Math.ceil(promptChars / CHARS_PER_TOKEN), output: maxTokens });
}

/** The cost of an answer of the sentiment model, by its usage and the posts it fetched. */
export function getSentimentCost(usage: Usage, posts: number): number {
  return getTokensCost(getSetting("SENTIMENT_MODEL"), usage) + posts * POST_MICROS;
}

/** The cost of a call, in millionths of a USD. */
export function getTokensCost(model: string, usage: Usage): number {
  const bare = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const listed = TOKEN_PRICES.find(([start]) => bare.startsWith(start));
  const [, input, output] = listed ?? ["", UNKNOWN_PRICE.input, UNKNOWN_PRICE.output];
  return Math.ceil(usage.input * input + usage.output * output);
}
