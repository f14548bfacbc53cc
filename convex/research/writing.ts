import type { Payer } from "../lib/budget";
import { log } from "../lib/log";
import type { ActionCtx } from "../_generated/server";
import { completeStructured } from "../providers/structured";
import { synthesisQuestion, type SynthesisTask } from "./prompts";
import { countWords, isShort } from "./result";
import type { Result } from "./tables";

/**
 * Has the gateway write a ResearchResult that keeps the contract: one repair turn, then the mechanical fixes.
 * `turnMs`: for each of the two turns, in ms of real time.
 * @throws AppError `upstream`
 */
export async function writeResult(
  ctx: ActionCtx,
  task: SynthesisTask,
  { turnMs, payer }: { turnMs: number; payer: Payer },
): Promise<{ result: Result; model: string; tokensUsed: number }> {
  const patience = { turnMs, attempts: 2, payer };
  const { value, model, tokensUsed } = await completeStructured(ctx, synthesisQuestion(task), patience);
  if (isShort(value)) log.warn("research.short analysis", { words: countWords(value.fullAnalysis), model });
  return { result: value, model, tokensUsed };
}
