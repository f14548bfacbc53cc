import type { ActionCtx } from "../../_generated/server";
import type { Fact } from "../../evidence/tables";
import { payerOf } from "../../lib/budget/payers";
import { optional } from "../../lib/env";
import { failureOf } from "../../lib/errors";
import type { Caller } from "../../lib/limits/callers";
import { charge } from "../../lib/limits/charges";
import { deadlines } from "../../lib/outside/deadlines";
import { disagreement, type Doubt } from "./agreement";
import { readLine, type Line } from "./lines";
import { EXAMPLES, HOW_TO_SAY } from "./wordings";

/** Reads a line of the grammar from a person's words in any language, and adds nothing to them. For actions. */

export type Reading =
  | { kind: "line"; line: Line; readBy: "grammar" | "model" }
  /** They ask for an alert, but leave something open. */
  | ({ kind: "open" } & Doubt)
  /** They ask for no alert. */
  | { kind: "none" }
  /** They could not be read: there is no model, or it failed. */
  | { kind: "unread" };

/** The answer to words that ask for no alert. */
export const SAID = {
  none: HOW_TO_SAY,
  unread: `No language model answers just now, so I can read alerts only in these words: ${EXAMPLES.join(" · ")}.`,
} as const;

/**
 * @param isCounted Whether the model's call is counted already.
 * @param facts Of the lists of the market, with the names of coins.
 * @throws AppError `rate_limited`
 */
export async function readWords(
  ctx: ActionCtx,
  words: string,
  { caller, isCounted, facts }: { caller: Caller; isCounted: boolean; facts: readonly Fact[] },
): Promise<Reading> {
  const own = readLine(words);
  if (own !== null) return checked(own, words, facts, "grammar");
  const restated = await restate(ctx, words, caller, isCounted);
  if (restated === null) return { kind: "unread" };
  const { line, ask } = restated;
  const read = line === null ? null : readLine(line);
  if (read !== null) return checked(read, words, facts, "model");
  if (line === null && ask === null) return { kind: "none" };
  return { kind: "open", say: ask ?? "I could not read that." };
}

function checked(line: Line, words: string, facts: readonly Fact[], readBy: "grammar" | "model"): Reading {
  const doubt = disagreement(line, words, facts);
  return doubt === null ? { kind: "line", line, readBy } : { kind: "open", ...doubt };
}

/** The model's restatement of the words; `null` if there is no model, or if it fails. */
async function restate(ctx: ActionCtx, words: string, caller: Caller, isCounted: boolean) {
  if (optional("LLM_GATEWAY_API_KEY") === undefined) return null;
  if (!isCounted) await charge(ctx, "chat", caller);
  const { completeStructured } = await import("../../providers/models/structure");
  const { restatementQuestion } = await import("./prompts");
  const patience = { turnMs: deadlines.alertWords, attempts: 1, payer: payerOf(caller) };
  try {
    return (await completeStructured(ctx, restatementQuestion(words), patience)).value;
  } catch (error) {
    if (failureOf(error)?.code !== "upstream") throw error;
    return null;
  }
}
