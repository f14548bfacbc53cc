import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { literals } from "../lib/literals";
import { formatDollars, formatSignedPercent } from "../lib/text/numbers";
import { formatDate, formatDateTime } from "../lib/time";
import { PRICED_TOKENS } from "../market/tables";
import type { Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/model";
import { defineMutation } from "../platform/changes";
import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { buildFailureHandler, completeWork, enqueueWork, vFailure, vJob } from "../platform/work";
import { MARKS } from "../research/writing/result";
import { buildSignalsDigest } from "../signals/cards";
import { areSignalsDue } from "../signals/model";
import { buildWalletDigest } from "../wallets/past/looks";
import { buildWhalesDigest } from "../whales/cards";
import { buildFiredButtons } from "./cards";
import { CLOCKS, formatCondition } from "./conditions";
import { BATCH, fireAlert, fireOrder, LATEST_MS } from "./watch";
import { queryDueAlerts } from "./model";
import { findLastObservation } from "./observations";
import { getNextTime } from "./schedule";
import type { Alert, Condition } from "./tables";
import { isStandingOrder } from "./terms";

/** What comes at its time: digests, orders, and research, which is told when it has changed. */

const BRIEF_ATTEMPTS = 3;

/** Takes up what is due by one of the clocks, each once, and sets its next time. */
export const fireDue = defineMutation({ subject: literals(...CLOCKS) }, async (ctx, { subject }) => {
  const now = Date.now();
  const due = await queryDueAlerts(ctx, subject, now).take(BATCH);
  const summarizes = due[0]?.condition.kind === "digest";
  // The day's signals are in a digest that is due with them.
  if (summarizes && (await areSignalsDue(ctx, now))) return;
  const parts = summarizes ? await buildDigest(ctx, now) : [];
  for (const alert of due) {
    const { _id: alertId, condition, readyAt, userId } = alert;
    if (!("timeZone" in condition)) continue;
    const next = getNextTime(condition, now);
    const one = { at: readyAt, observedAt: readyAt, value: 0, source: "clock" };
    if (isStandingOrder(alert)) await fireOrder(ctx, alert, one, next);
    else if (now - readyAt > LATEST_MS) await ctx.db.patch("alerts", alertId, { readyAt: next });
    else if (condition.kind === "digest") {
      const title = { bold: `🗞 Digest, ${condition.time} ${condition.timeZone}` };
      const own = await buildWalletDigest(ctx, userId, now);
      await fireAlert(ctx, alert, one, next, [[title], ...own, ...parts]);
    } else {
      await ctx.db.patch("alerts", alertId, { readyAt: next });
      const onFailure = buildFailureHandler(internal.alerts.due.storeBriefFailure, { alertId });
      const terms = { attempts: BRIEF_ATTEMPTS, until: readyAt + LATEST_MS, onFailure };
      await enqueueWork(ctx, internal.alerts.actions.writeBrief, { alertId }, terms);
    }
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.due.fireDue, { subject });
});

/** What all digests have in common. */
async function buildDigest(ctx: QueryCtx, now: number): Promise<Paragraph[]> {
  const prices = PRICED_TOKENS.map(async (token) => {
    const price = await findLastObservation(ctx, `price:${token}`, now);
    if (price === null) return `\n${token}: not known`;
    const change = await findLastObservation(ctx, `change:${token}:24`, now);
    const moved = change === null ? "" : ` (${formatSignedPercent(change.value)} in 24 hours)`;
    return `\n${token} ${formatDollars(price.value)}${moved}`;
  });
  return [
    [{ bold: "Prices" }, ...(await Promise.all(prices))],
    await buildSignalsDigest(ctx, now),
    await buildWhalesDigest(ctx, now),
  ];
}

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
    const told = { outlook, priceUsd, at: Date.now() };
    await ctx.db.patch("alerts", alertId, { told, fired: row.fired + 1 });
    await sendBrief(ctx, row, buildBriefCard(row.condition, row.told, found));
  },
);

async function sendBrief(ctx: MutationCtx, row: Alert, paragraphs: readonly Paragraph[]): Promise<void> {
  const card = { userId: row.userId, kind: "alert", topic: `alert:${row._id}`, paragraphs };
  await enqueueOwnCard(ctx, { ...card, buttons: buildFiredButtons(row) });
}

/** Tells in one line that no research came. */
export const storeBriefFailure = defineMutation(
  { alertId: v.id("alerts"), ...vFailure },
  async (ctx, { alertId, isLast }) => {
    const row = await ctx.db.get("alerts", alertId);
    if (isLast && row?.state === "active") await sendBrief(ctx, row, buildNoBriefCard(row));
  },
);

/** A change of price that counts as news, as a part of it. */
const MOVED = 0.03;
type Told = NonNullable<Alert["told"]>;
type Found = Pick<Told, "outlook" | "priceUsd">;

/** Whether research is news: another outlook, or a price that has moved by 3 %. The first always is. */
function hasChanged(told: Told | undefined, { outlook, priceUsd }: Found): boolean {
  if (told === undefined || told.outlook !== outlook) return true;
  return priceUsd !== null && told.priceUsd !== null && Math.abs(priceUsd / told.priceUsd - 1) >= MOVED;
}

const toMark = (outlook: string): string =>
  MARKS[outlook === "bullish" || outlook === "bearish" ? outlook : "neutral"];

/** Research at its hour: the change first. */
function buildBriefCard(
  { token }: Extract<Condition, { kind: "research" }>,
  told: Told | undefined,
  found: Found & { summary: string; fetchedAt: number; held?: string | undefined },
): Paragraph[] {
  const { outlook, priceUsd, summary, fetchedAt, held } = found;
  const isSame = told === undefined || told.outlook === outlook;
  const was = isSame ? "" : ` was ${toMark(told.outlook)} since ${formatDate(told.at)} ·`;
  const moved =
    told?.priceUsd == null || priceUsd === null
      ? ""
      : ` ${formatSignedPercent((priceUsd / told.priceUsd - 1) * 100)}`;
  const price = priceUsd === null ? "" : `, ${formatDollars(priceUsd)}`;
  return [
    [{ bold: `${toMark(outlook)}${was} ${token}${moved}${price}` }, `\n${formatDateTime(fetchedAt)}`],
    [summary],
    ...(held === undefined ? [] : [[`You hold ${held}.`]]),
    [{ command: `report ${token}` }, " has the whole text with its sources."],
  ];
}

function buildNoBriefCard({ condition, readyAt }: Alert): Paragraph[] {
  const next = formatDateTime(readyAt);
  return [[`${formatCondition(condition)}: none could be made today. The next is due on ${next}.`]];
}
