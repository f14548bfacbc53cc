import { getSetting } from "../../lib/env";

/**
 * Costs of the providers' calls in millionths of a USD, by their public price lists of August 2026. Discounts for cached
 * prompts are ignored.
 */

/** USD per million tokens, which is millionths of a USD per token, by prefix of the model's name. The first match wins. */
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
/** The price of a model that is not in the table: a high one, so that the day's budget is not overspent. */
const UNKNOWN_PRICE = { input: 5, output: 25 };

/** The price of a post that the sentiment model's search fetches: 5 USD per thousand. */
const POST_MICROS = 5_000;
/** The estimate for a sentiment answer that reports no usage: five posts, and 4,000 tokens each way. */
export const USUAL_SENTIMENT_MICROS = 40_000;
/** The estimate for a prompt of the agent API, which publishes no price, from its plan. */
export const AGENT_PROMPT_MICROS = 50_000;

/** An upper estimate: few texts have more than one token per three characters. */
const CHARS_PER_TOKEN = 3;

/** Token counts of a call. */
export type Usage = { input: number; output: number };

/** The maximum cost of a completion: of its prompt by its characters, and of the longest allowed answer. */
export function computeMostCost(model: string, promptChars: number, maxTokens: number): number {
  return getTokensCost(model, { input: Math.ceil(promptChars / CHARS_PER_TOKEN), output: maxTokens });
}

/** The cost of a sentiment answer: of its tokens and of the posts that its search fetched. */
export function getSentimentCost(usage: Usage, posts: number): number {
  return getTokensCost(getSetting("SENTIMENT_MODEL"), usage) + posts * POST_MICROS;
}

/** The cost of a model's tokens, in millionths of a USD. */
export function getTokensCost(model: string, usage: Usage): number {
  const bare = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const listed = TOKEN_PRICES.find(([start]) => bare.startsWith(start));
  const [, input, output] = listed ?? ["", UNKNOWN_PRICE.input, UNKNOWN_PRICE.output];
  return Math.ceil(usage.input * input + usage.output * output);
}
