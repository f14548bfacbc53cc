import { getOptional, getSetting } from "../../lib/env";

/**
 * Small questions, by the names of their answers' shapes: code checks their figures, or nobody reads their words as they
 * are. Reports, signals and chat are for the usual model.
 */
const SMALL: ReadonlySet<string> = new Set([
  "market_snapshot",
  "token_answer",
  "onchain_signals",
  "signal_review",
  "restatement",
  "doctor_small",
]);

/** The model that answers a question. @param name Of the shape of its answer; absent for prose. */
export function chooseModel(name: string | undefined): string {
  const small = name !== undefined && SMALL.has(name) ? getOptional("LLM_MODEL_SMALL") : undefined;
  return small ?? getSetting("LLM_MODEL");
}
