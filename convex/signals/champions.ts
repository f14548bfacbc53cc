import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { addOutcome, type Outcomes } from "./calibration";
import { FIRST_PROMPT, promptNamed, type PromptVersion } from "./prompts";
import type { Token } from "./rules";

/** What writes the daily signals: `LLM_MODEL` with the first prompt, until the operator promotes another arm (`signals/shadow`). */

/** The one that writes at a moment (epoch ms), or now: promoted last before it; `null` where none was. */
export async function champion(ctx: QueryCtx, time = Infinity): Promise<Doc<"signalChampions"> | null> {
  return ctx.db
    .query("signalChampions")
    .withIndex("by_since", (q) => q.lte("since", time))
    .order("desc")
    .first();
}

export function promptOf(row: Doc<"signalChampions"> | null): PromptVersion {
  return row === null ? FIRST_PROMPT : (promptNamed(row.promptVersion) ?? FIRST_PROMPT);
}

/**
 * How a decided signal ended, for the calibration of the champion that wrote it: what another one's word was worth says
 * nothing of this one's.
 */
export async function learnFrom(
  ctx: MutationCtx,
  { token, generatedAt, confidence }: { token: Token; generatedAt: number; confidence: number },
  isWin: boolean,
): Promise<void> {
  const row = await champion(ctx, generatedAt);
  if (row === null) return;
  const learned: Outcomes = addOutcome(row.outcomes[token], confidence, isWin);
  await ctx.db.patch("signalChampions", row._id, { outcomes: { ...row.outcomes, [token]: learned } });
}
