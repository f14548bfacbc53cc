import { createFunctionHandle, type WithoutSystemFields } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { defineMutation, defineCron } from "../platform/changes";
import { getAgentApiUrl, isSet, getOptional } from "../lib/env";
import { log } from "../lib/log";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { queryBy } from "../platform/records";
import { HOUR } from "../lib/time";
import { broadcast } from "../messenger/subscriptions";
import { enqueueOwnCard } from "../messenger/model";
import { buildAlertCard } from "./cards";
import {
  findProgress,
  listLatestAlerts,
  rankTokens,
  storeMeasured,
  storeReported,
  sumFlows,
  toPublicWhaleAlert,
} from "./model";
import { vMeasured, vPublicAlert, vReported } from "./tables";

/**
 * The flow of alerts: one question to the agent an hour, the chain block by block, and one card an hour with everything new.
 */

/** Claims the present hour and schedules its question. For the cron; does nothing if the hour is taken. */
export const startHour = defineCron("look for whales", async (ctx) => {
  const now = Date.now();
  const hour = Math.floor(now / HOUR) * HOUR;
  if (((await findProgress(ctx))?.hour ?? 0) >= hour) return;
  if (getOptional("LLM_GATEWAY_API_KEY") !== undefined && getAgentApiUrl() !== null) {
    await storeHourResult(ctx, { hour });
    await ctx.scheduler.runAfter(0, internal.whales.actions.askForAlerts, {});
    return;
  }
  log.info("whales.skipped", { reason: "the agent API is not configured" });
  await queueHourCard(ctx, now);
});

/** Ends an hour's question: stores its alerts and sends the hour's card. */
export const finishHour = defineMutation(
  {
    alerts: v.array(vReported.extend({ verified: v.boolean() })),
    /** For the operator: why there is no list of alerts; `null` if there is one. */
    reason: v.union(v.string(), v.null()),
    usage: vProviderUsage,
  },
  async (ctx, { alerts, reason, usage }) => {
    await flushUsage(ctx, usage);
    const now = Date.now();
    await storeReported(ctx, alerts, now);
    if (reason !== null) log.warn("whales.no answer", { reason });
    await storeHourResult(ctx, { endedAt: now });
    await queueHourCard(ctx, now);
  },
);

async function storeHourResult(
  ctx: MutationCtx,
  change: Partial<WithoutSystemFields<Doc<"whaleProgress">>>,
): Promise<void> {
  const row = await findProgress(ctx);
  if (row === null) await ctx.db.insert("whaleProgress", change);
  else await ctx.db.patch("whaleProgress", row._id, change);
}

/** The last block that was read; `null` before the first run. */
export const vLastBlock = v.union(v.number(), v.null());

/** Starts a run of `followChain`. Of two concurrent runs one finds its blocks already read, and ends. */
export async function beginFollowing(ctx: MutationCtx): Promise<void> {
  // Without its own RPC the service does not follow the chain: the public one is not meant for it.
  if (!isSet("CHAIN_RPC_URL")) return;
  const from = (await findProgress(ctx))?.block ?? null;
  await ctx.scheduler.runAfter(0, internal.whales.actions.followChain, { from });
}

/**
 * Goes on from a block, and stores what was measured up to another.
 * @returns Whether that was the last block: if not, another run was faster, and nothing happens.
 */
export const advanceBlocks = internalMutation({
  args: { from: vLastBlock, to: v.number(), alerts: v.array(vMeasured), usage: vProviderUsage },
  returns: v.boolean(),
  handler: async (ctx, { from, to, alerts, usage }) => {
    await flushUsage(ctx, usage);
    if (((await findProgress(ctx))?.block ?? null) !== from) return false;
    await storeMeasured(ctx, alerts, Date.now());
    await storeHourResult(ctx, { block: to });
    return true;
  },
});

/** How many alerts of a card are read; more wait for the next one. */
const MOST = 200;
/** The lines of the card. */
const LINES = 10;

/** Queues the hour's card: the alerts that were in none yet. @param now Epoch ms. */
async function queueHourCard(ctx: MutationCtx, now: number): Promise<void> {
  const news = await queryBy(ctx.db.query("whaleAlerts"), "cardHour", 0).take(MOST);
  if (news.length === 0) return;
  for (const { _id } of news) await ctx.db.patch("whaleAlerts", _id, { cardHour: now });
  const since = Math.min(...news.map(({ detectedAt }) => detectedAt));
  const hours = Math.max(1, Math.round((now - since) / HOUR));
  const handle: string = await createFunctionHandle(internal.whales.alerts.storeHourDelivery);
  await broadcast(ctx, "whales", {
    kind: "whale alerts",
    paragraphs: buildAlertCard({ hours, at: now, alerts: news.map(toPublicWhaleAlert), most: LINES }),
    onSettled: { handle, subject: String(now) },
  });
}

/** The outbox's result for a card. */
export const storeHourDelivery = defineMutation(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent }) => {
    const rows = await queryBy(ctx.db.query("whaleAlerts"), "cardHour", Number(subject)).take(MOST);
    for (const row of rows) await ctx.db.patch("whaleAlerts", row._id, { messengerSent: sent });
  },
);

/** Alerts since a moment (epoch ms), newest first, at most `limit`, or 500. */
export const listAlertsSince = internalQuery({
  args: { since: v.number(), limit: v.optional(v.number()) },
  returns: v.array(vPublicAlert),
  handler: async (ctx, { since, limit }) =>
    (await listLatestAlerts(ctx, since, limit)).map(toPublicWhaleAlert),
});

/** The most rows that a listing looks through. */
const LOOKED_THROUGH = 500;

/**
 * A page of alerts, newest first, of one token and one kind, or of all. A page ends between two moments, because alerts of
 * one moment would otherwise be split between pages.
 * @param args.before Epoch ms.
 * @param args.since Epoch ms, a full hour: net flows are summed from it on.
 */
export const listAlertPage = internalQuery({
  args: {
    token: v.union(v.string(), v.null()),
    alertType: v.union(vReported.fields.alertType, v.null()),
    before: v.number(),
    since: v.number(),
    limit: v.number(),
  },
  returns: v.object({
    alerts: v.array(vPublicAlert),
    /** The `before` of the next page; `null` on the last one. */
    older: v.union(v.number(), v.null()),
    /** The tokens that were looked through, the most frequent first. */
    tokens: v.array(v.string()),
    /** The net flow to exchanges in USD, by the hour's start, oldest first. */
    flows: v.array(v.object({ hour: v.number(), netUsd: v.number() })),
  }),
  handler: async (ctx, { token, alertType, before, since, limit }) => {
    const read = await listLatestAlerts(ctx, 0, LOOKED_THROUGH, before);
    const endAt = read.length < LOOKED_THROUGH ? null : (read.at(-1)?.detectedAt ?? null);
    const rows = read.filter(({ detectedAt }) => endAt === null || detectedAt > endAt);
    const ofToken = rows.filter((row) => token === null || row.token === token);
    const found = ofToken.filter((row) => alertType === null || row.alertType === alertType);
    const lastAt = found[limit - 1]?.detectedAt;
    const page = lastAt === undefined ? found : found.filter(({ detectedAt }) => detectedAt >= lastAt);
    return {
      alerts: page.map(toPublicWhaleAlert),
      older: page.length < found.length ? (lastAt ?? null) : endAt === null ? null : endAt + 1,
      tokens: rankTokens(rows),
      flows: sumFlows(ofToken.filter(({ detectedAt }) => detectedAt >= since)),
    };
  },
});

/** Queues a card of the last hours' alerts for a user's messenger; `null` if it is not queued. */
export const send = internalMutation({
  args: { userId: v.string(), hours: v.number(), since: v.number() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { userId, hours, since }) => {
    const alerts = (await listLatestAlerts(ctx, since)).map(toPublicWhaleAlert);
    const paragraphs = buildAlertCard({ hours, at: Date.now(), alerts });
    return enqueueOwnCard(ctx, { userId, kind: "requested whale alerts", paragraphs });
  },
});
