import type { Infer } from "convex/values";
import { setting } from "../env";
import { noteSpent } from "../outside/calls";
import type { vBilled } from "../tables";
import { dayOf } from "../time";
import { isCaller } from "./budget";
import type { Payer } from "./callers";

/**
 * What a provider's call costs, in millionths of a USD. All prices are here: those of the providers' public lists in
 * August 2026, without discounts for repeated prompts.
 */

/** USD per million tokens (which equals millionths of a USD per token), by the start of the model's name; the first match counts. */
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
/** Posts that a search usually fetches. */
const USUAL_POSTS = 5;
/** Usual tokens of the sentiment model for one answer. */
const USUAL_SENTIMENT_TOKENS = { input: 4_000, output: 4_000 };
/** A prompt of the agent API, which publishes no price: estimated from its plan. */
const AGENT_PROMPT_MICROS = 50_000;

/** Few texts have more than one token per three characters. */
const CHARS_PER_TOKEN = 3;

/** Tokens of a call. */
export type Usage = { input: number; output: number };

export function completionCost(usage: Usage): number {
  return tokensCost(setting("LLM_MODEL"), usage);
}

/** The most that a completion may cost: the longest allowed answer to a prompt of so many characters. */
export function dearestCompletion(promptChars: number, maxTokens: number): number {
  return completionCost({ input: Math.ceil(promptChars / CHARS_PER_TOKEN), output: maxTokens });
}

/** The cost of an answer of the sentiment model, by its usage and the posts it fetched. */
export function sentimentCost(usage: Usage, posts: number): number {
  return tokensCost(setting("SENTIMENT_MODEL"), usage) + posts * POST_MICROS;
}

export function usualSentiment(): number {
  return sentimentCost(USUAL_SENTIMENT_TOKENS, USUAL_POSTS);
}

export function agentPromptCost(): number {
  return AGENT_PROMPT_MICROS;
}

function tokensCost(model: string, usage: Usage): number {
  const bare = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const listed = TOKEN_PRICES.find(([start]) => bare.startsWith(start));
  const [, input, output] = listed ?? ["", UNKNOWN_PRICE.input, UNKNOWN_PRICE.output];
  return Math.ceil(usage.input * input + usage.output * output);
}

/** Notes what a call has cost, in millionths of a USD: it is stored with the action's other notes. */
export function noteCost(payer: Payer, provider: Infer<typeof vBilled>, micros: number): void {
  const holders = typeof payer === "string" ? [] : payer.holders;
  noteSpent({ day: dayOf(Date.now()), provider, micros, isCallers: isCaller(payer), holders });
}
