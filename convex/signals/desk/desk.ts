import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { failureOf, messageOf } from "../../lib/errors";
import { providerAction } from "../../lib/providerCalls";
import { UnusableAnswer } from "../../providers/llm";
import { DESKS, HOURS } from "../arms/desks";
import { tradablePrice } from "../outcomes/sight";
import type { Desk, vMissed } from "../record/tables";
import { momentumOf } from "../trade/controls";
import { dayAgo } from "./context";
import { askForSignal } from "./proposals";

/** Asks for a signal, and stores it or why there is none. */
export const write = providerAction({
  args: { runId: v.id("signalRuns") },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    const task = await ctx.runQuery(internal.signals.desk.runs.task, { runId });
    if (task === null) return null;
    const { desk, token, model, promptVersion, record } = task;
    const { turns: attempts, payer } = DESKS[desk];
    try {
      const measured = (since: number) => tradablePrice(ctx, { desk, token }, since);
      const asked = { attempts, payer, model: model ?? undefined };
      const { hours, ...proposed } = await askForSignal(ctx, task, measured, asked);
      await ctx.runMutation(internal.signals.desk.runs.store, {
        ...{ runId, ...proposed, promptVersion, record },
        momentum: momentumOf(proposed.price.usd, dayAgo(hours, Date.now())),
        missingHours: Math.max(0, HOURS - hours.length),
      });
    } catch (error) {
      const end = endOf(desk, error);
      if (end === null) throw error;
      await ctx.runMutation(internal.signals.desk.runs.end, { runId, ...end });
    }
    return null;
  },
});

/** Why it is of no use to try once more; `null` when it may be. The lab's share of a budget that is spent stays spent. */
function endOf(desk: Desk, error: unknown): { reason: Infer<typeof vMissed>; error: string } | null {
  if (error instanceof UnusableAnswer) {
    return { reason: "refused", error: `The model's signal was refused: ${error.problem}` };
  }
  const isSpent = desk === "lab" && failureOf(error)?.code === "rate_limited";
  return isSpent ? { reason: "budget", error: messageOf(error) } : null;
}
