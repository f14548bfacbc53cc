import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/budget";
import { deadlines } from "../lib/deadlines";
import { AppError } from "../lib/errors";
import { providerAction } from "../lib/providerCalls";
import { failRefresh } from "../lib/refreshes";
import { vTurn } from "../lib/renewals";
import { iso } from "../lib/time";
import { gatherBrief } from "./material";
import type { Subject } from "./model";
import { collectNow } from "./observations";
import { refreshKey, vSubject } from "./results";
import type { ReportKind } from "./shapes";
import { writeSnapshot } from "./snapshot";
import { writeOwedResult } from "./writer";

/** Where research is written: the reports of shifts, and what is asked for on demand. */

const OCCASIONS: Record<ReportKind, string> = {
  interim1: "Interim report 1 of an 8-hour research shift, 2.5 hours in",
  interim2: "Interim report 2 of an 8-hour research shift, 5 hours in",
  final: "Final report of an 8-hour research shift",
};

/** Writes the report from its evidence. */
export const writeReport = providerAction({
  args: { synthesisId: v.id("syntheses") },
  returns: v.null(),
  handler: async (ctx, { synthesisId }) => {
    const task = await ctx.runQuery(internal.research.syntheses.task, { synthesisId });
    if (task === null) return null;
    const { kind, focus, observations, startedAt } = task;
    const brief = await gatherBrief(ctx, { focus, observations, startedAt });
    if (brief.sources.length === 0) throw new AppError("upstream", "No source could be collected");
    const report = { occasion: OCCASIONS[kind], focus, nowIso: iso(Date.now()), brief };
    const written = await writeOwedResult(ctx, report, { turnMs: deadlines.llmScheduled, payer: "shift" });
    await ctx.runMutation(internal.research.syntheses.store, { synthesisId, ...written });
    return null;
  },
});

/** Writes the result and stores it, or why there is none. A source that is slower is collected to its end behind it. */
export const writeResult = providerAction({
  args: { ...vSubject, ...vTurn },
  returns: v.null(),
  handler: async (ctx, work) => {
    const shared = await ctx.runMutation(internal.research.results.take, work);
    if (shared === null) return null;
    await Promise.all([collectNow(ctx, shared), writeFrom(ctx, shared.observationId, work)]);
    return null;
  },
});

async function writeFrom(
  ctx: ActionCtx,
  observationId: Id<"observations">,
  { attempt, payer, ...subject }: Subject & { attempt: number; payer: Payer },
): Promise<void> {
  try {
    const occasion = "On-demand research snapshot";
    const { result, model, sources } = await writeSnapshot(ctx, {
      ...subject,
      observationId,
      occasion,
      wanted: "soon",
      payer,
    });
    const stored = { ...subject, attempt, model, result, sources };
    await ctx.runMutation(internal.research.results.store, stored);
  } catch (error) {
    await failRefresh(ctx, refreshKey(subject), attempt, error);
  }
}
