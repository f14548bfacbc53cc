import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type MutationCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { buildFailureHandler, completeWork, enqueueWork, vFailure, vJob } from "../platform/work";
import { HOUR } from "../lib/time";
import { enqueueOwnCard } from "../messenger/model";
import { buildBriefCard, buildNoBriefCard, buildFiredButtons, hasChanged } from "./cards";
import { BRIEFS, getNextTime } from "./grammar";
import { queryDueAlerts } from "./model";
import type { Alert } from "./tables";

/**
 * Research at a person's hour: each time is one look, whose leased work reads or begins the research that all share; one
 * mutation compares it with what was told last, and is silent without a change.
 */

const BATCH = 50;
/** A look that is later than this is skipped. */
const LATEST_MS = HOUR;
const ATTEMPTS = 3;

/** Begins the looks that are due, each once. */
export const beginBriefs = defineMutation({}, async (ctx) => {
  const now = Date.now();
  const due = await queryDueAlerts(ctx, BRIEFS, now).take(BATCH);
  for (const { _id: alertId, condition, readyAt } of due) {
    if (condition.kind !== "research") continue;
    await ctx.db.patch("alerts", alertId, { readyAt: getNextTime(condition, now) });
    if (now - readyAt > LATEST_MS) continue;
    const onFailure = buildFailureHandler(internal.alerts.briefs.storeBriefFailure, { alertId });
    const terms = { attempts: ATTEMPTS, until: readyAt + LATEST_MS, onFailure };
    await enqueueWork(ctx, internal.alerts.briefing.writeBrief, { alertId }, terms);
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.briefs.beginBriefs, {});
});

/** The coin and the user of an active alert that researches. */
export const readBriefed = internalQuery({
  args: { alertId: v.id("alerts") },
  returns: v.union(v.object({ userId: v.string(), token: v.string() }), v.null()),
  handler: async (ctx, { alertId }) => {
    const row = await ctx.db.get("alerts", alertId);
    if (row?.state !== "active" || row.condition.kind !== "research") return null;
    return { userId: row.userId, token: row.condition.token };
  },
});

/** Tells research that has changed since it was told last, and notes it. */
export const tellBrief = defineMutation(
  {
    alertId: v.id("alerts"),
    job: vJob,
    outlook: v.string(),
    summary: v.string(),
    fetchedAt: v.number(),
    priceUsd: v.union(v.number(), v.null()),
    /** What the wallet holds of the coin, in words. */
    held: v.optional(v.string()),
    usage: vProviderUsage,
  },
  async (ctx, { alertId, job, usage, ...found }) => {
    await flushUsage(ctx, usage);
    const row = await ctx.db.get("alerts", alertId);
    if (!(await completeWork(ctx, job)) || row?.state !== "active" || row.condition.kind !== "research")
      return;
    const { outlook, priceUsd } = found;
    if (row.condition.always !== true && !hasChanged(row.told, { outlook, priceUsd })) return;
    await ctx.db.patch("alerts", alertId, {
      told: { outlook, priceUsd, at: Date.now() },
      fired: row.fired + 1,
    });
    await send(ctx, row, buildBriefCard(row.condition, row.told, found));
  },
);

async function send(
  ctx: MutationCtx,
  row: Alert,
  paragraphs: ReturnType<typeof buildBriefCard>,
): Promise<void> {
  const card = { userId: row.userId, kind: "alert", topic: `alert:${row._id}`, paragraphs };
  await enqueueOwnCard(ctx, { ...card, buttons: buildFiredButtons(row) });
}

/** Tells in one line that no research came. */
export const storeBriefFailure = defineMutation(
  { alertId: v.id("alerts"), ...vFailure },
  async (ctx, { alertId, isLast }) => {
    const row = await ctx.db.get("alerts", alertId);
    if (isLast && row?.state === "active") await send(ctx, row, buildNoBriefCard(row));
  },
);
