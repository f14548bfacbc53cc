import { log } from "../lib/log";
import { completeStructured, type Message } from "../providers/llm";
import { countWords, demands, isShort, mend, RESULT_SCHEMA_NAME, resultShape } from "./result";
import type { Result } from "./tables";

/** Room for 600 words and their JSON, twice over. */
const MAX_TOKENS = 4_000;

/**
 * Has the gateway write a ResearchResult that keeps the contract: one repair turn, then the mechanical fixes.
 * @throws AppError `upstream`
 */
export async function writeResult(
  messages: Message[],
  timeoutMs: number,
): Promise<{ result: Result; model: string; tokensUsed: number }> {
  const { value, model, tokensUsed } = await completeStructured({
    messages,
    maxTokens: MAX_TOKENS,
    timeoutMs,
    attempts: 2,
    name: RESULT_SCHEMA_NAME,
    shape: resultShape,
    demands,
    mend,
  });
  if (isShort(value)) log.warn("research.short analysis", { words: countWords(value.fullAnalysis), model });
  return { result: value, model, tokensUsed };
}
