import type { QueryCtx } from "../../_generated/server";
import { newestOf } from "../record/chains";
import { DAILY } from "../record/tables";
import { armNamed, FIRST_PROMPT, promptNamed, type PromptVersion } from "./names";

/** What writes an arm's signals. */

export type Writer = {
  /** `null`: `LLM_MODEL`. */
  model: string | null;
  promptVersion: PromptVersion;
  /**
   * The totals that calibrate what it states, and learn from how its signals end. Another model's record does not count: a
   * promoted arm has one of its own for the daily signals that it writes.
   */
  record: string;
};

/** Of the daily signals `LLM_MODEL` with the first prompt, until the operator promotes another arm (`signals/arms/promotions`). */
export async function writerOf(ctx: QueryCtx, arm: string): Promise<Writer> {
  if (arm !== DAILY) {
    const { model, promptVersion } = armNamed(arm);
    return { model, promptVersion, record: arm };
  }
  const [promoted] = await newestOf(ctx, "promoted", 1);
  if (promoted === undefined) return { model: null, promptVersion: FIRST_PROMPT, record: DAILY };
  const { model, promptVersion } = promoted.content;
  return {
    model,
    promptVersion: promptNamed(promptVersion) ?? FIRST_PROMPT,
    record: `${DAILY}/${promoted.sequence}`,
  };
}
