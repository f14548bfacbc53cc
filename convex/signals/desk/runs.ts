import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { cron } from "../../lib/cronRuns";
import { isSet } from "../../lib/env";
import { namedShadowArms } from "../../lib/settings";
import { AppError, messageOf } from "../../lib/errors";
import { end as endWork, open as openWork, failureHandler, vFailure, vJob } from "../../lib/work/jobs";
import { log } from "../../lib/log";
import { DAY } from "../../lib/time";
import { enqueueServiceCard } from "../../messenger/notices";
import { recentHourlyCloses } from "../../prices/model";
import { PRICED_TOKENS, vClose } from "../../prices/tables";
import { armNamed, recordNamed, rememberArm, vPromptVersion, writerOf, type Arm } from "../arms/arms";
import { completeDay, LAB, noteDay } from "../arms/days";
import { ASKING_TERMS, SLOTS, HOURS, slotAt, slotWords } from "../arms/slots";
import { publishedHead } from "../record/publication";
import { issueSignal, keepMissed, nextIssueTime } from "../record/changes";
import { signalIn, findOpenRun, findRun, findSlot, totalsOf } from "../record/model";
import {
  DAILY,
  vAsking,
  vLabToken,
  vMissed,
  vPriceAtIssue,
  vSide,
  vSignal,
  type Asking,
} from "../record/rows";
import { noOutcomes, recordOfToken, vTrackRecord } from "../statistics/calibration";
import { vProposal } from "../validators";
import { isIssueTime } from "../trade/calendar";
import { entered, TOKENS } from "../trade/rules";
import { issuedCard, picturesOf } from "../views/cards";
import { tellOfSignal } from "../views/events";

/** The work of issuing signals: what is asked for and when, what the model gets, and what becomes of its answer. */

/**
 * The daily job. Each token gets one signal a day. A run before 08:00 is late for the day before, whose signal would be
 * useless by then, so it issues nothing.
 */
export const openDay = cron("issue the day's signals", async (ctx) => {
  const now = Date.now();
  if (!isIssueTime(now)) return;
  await tellMissedDays(ctx, slotAt("daily", now));
  await open(ctx, { desk: "daily", arm: DAILY }, now);
});

/** The most days that are noted; after a longer standstill the service begins anew. */
const MOST_MISSED = 400;

/**
 * Notes days on which no signal was asked for, because the service stood still or was set back, so that no day is left
 * out silently.
 */
async function tellMissedDays(ctx: MutationCtx, today: number): Promise<void> {
  const last = await ctx.db
    .query("signalRuns")
    .withIndex("by_desk", (q) => q.eq("desk", "daily"))
    .order("desc")
    .first();
  if (last === null) return;
  for (let slot = Math.max(last.slot, today - MOST_MISSED * DAY) + DAY; slot < today; slot += DAY) {
    for (const token of TOKENS) {
      const begun = { ...{ desk: "daily" as const, arm: DAILY, slot, token }, announced: false, attempt: 0 };
      const runId = await ctx.db.insert("signalRuns", { ...begun, state: "writing" });
      await close(ctx, { ...begun, _id: runId }, "failed", "The service did not run on this day");
    }
  }
}

/**
 * The lab's hourly job: every arm of `SHADOW_ARMS` is asked in the same way as for the daily signals. The answers are
 * sent to nobody: they show which model and prompt should write the daily signals.
 */
export const openHour = cron("ask the shadow arms", async (ctx) => {
  for (const one of armsToAsk()) {
    if (await rememberArm(ctx, one)) await open(ctx, { desk: "lab", arm: one.arm }, Date.now());
    else log.error("signals.too many shadow arms", { arm: one.arm });
  }
});

/** The arms to ask. The operator has to mend a malformed setting; the cron does not fail because of it. */
function armsToAsk(): Arm[] {
  try {
    return namedShadowArms().map(armNamed);
  } catch (error) {
    log.error("signals.no shadow arms", { reason: `SHADOW_ARMS: ${messageOf(error)}` });
    return [];
  }
}

/**
 * Opens one run for each token of a slot. Repeated or simultaneous calls still make one run, because the row is looked
 * up and written in one transaction.
 */
async function open(
  ctx: MutationCtx,
  { desk, arm }: { desk: Asking; arm: string },
  now: number,
): Promise<void> {
  const { tokens, slotMs } = SLOTS[desk];
  const { attempts, owner } = ASKING_TERMS[desk];
  const slot = slotAt(desk, now);
  for (const token of tokens) {
    const place = { desk, arm, slot, token };
    if ((await findRun(ctx, place)) !== null) continue;
    const begun = { state: "writing" as const, attempt: 1, announced: false };
    const runId = await ctx.db.insert("signalRuns", { ...place, ...begun });
    // Only with a new run: a day that is counted already is not counted again.
    await noteDay(ctx, desk === "lab" ? LAB : arm, slotAt("daily", now));
    const onFailure = failureHandler(internal.signals.desk.runs.failed, { runId });
    const terms = { place: { lane: "service" as const, owner, request: false }, until: slot + slotMs };
    await openWork(ctx, internal.signals.desk.desk.write, { runId }, { ...terms, attempts, onFailure });
  }
}

const vTask = v.object({
  desk: vAsking,
  token: vLabToken,
  closes: v.array(vClose),
  calibration: vTrackRecord,
  yesterday: v.array(vSignal),
  model: v.union(v.string(), v.null()),
  promptVersion: vPromptVersion,
  since: v.number(),
});
export type Task = Infer<typeof vTask>;

/** `null` if the run has ended. */
export const task = internalQuery({
  args: { runId: v.id("signalRuns"), now: v.number() },
  returns: v.union(vTask, v.null()),
  handler: async (ctx, { runId, now }) => {
    const run = await findOpenRun(ctx, runId);
    if (run === null) return null;
    const { desk, arm, token } = run;
    const slot = run.slot - DAY;
    const before = SLOTS[desk].tokens.map((one) => findSlot(ctx, { arm, slot, token: one }));
    const priced = PRICED_TOKENS.find((one) => one === token);
    const range = { before: now, count: HOURS };
    const writer = await writerOf(ctx, arm);
    return {
      ...{ desk, token, ...writer },
      closes: priced === undefined ? [] : await recentHourlyCloses(ctx, priced, range),
      calibration: recordOfToken(await recordOf(ctx, { arm, token, since: writer.since })),
      yesterday: (await Promise.all(before)).flatMap((row) => (row === null ? [] : [signalIn(row)])),
    };
  },
});

/** The record on a token that the model is shown: that of the arm that wrote its last signal. */
async function recordOf(
  ctx: QueryCtx,
  { arm, token, since }: Pick<Doc<"signals">, "arm" | "token"> & { since: number },
) {
  const last = await ctx.db
    .query("signals")
    .withIndex("by_token", (q) => q.eq("arm", arm).eq("token", token))
    .order("desc")
    .first();
  const isIts = last !== null && (since === 0 || (last.event ?? 0) > since);
  return isIts ? totalsOf(ctx, last.record, token) : noOutcomes();
}

/**
 * Issues the signal while its slot lasts: the row, the event, and for a daily signal the card, once no other token is
 * waited for.
 */
export const store = change(
  {
    runId: v.id("signalRuns"),
    job: vJob,
    proposal: vProposal,
    model: v.string(),
    promptVersion: vPromptVersion,
    since: v.number(),
    price: vPriceAtIssue,
    costBps: v.number(),
    momentum: vSide,
    volatility: v.optional(v.number()),
    missingHours: v.number(),
  },
  async (ctx, { runId, job, proposal, since, ...known }) => {
    const run = await findOpenRun(ctx, runId);
    if (run === null || !(await endWork(ctx, job))) return;
    const { desk, arm, slot, token } = run;
    const { slotMs, slotName } = SLOTS[desk];
    if ((await writerOf(ctx, arm)).since !== since) {
      throw new AppError("conflict", "Another model was promoted meanwhile");
    }
    const generatedAt = await nextIssueTime(ctx, arm, Date.now());
    if (generatedAt >= slot + slotMs) {
      await close(ctx, run, "failed", `The ${slotName} was over before the signal was ready`);
      return;
    }
    const issue = entered(proposal, { priceUsd: known.price.usd, costBps: known.costBps });
    const record = recordNamed(arm, known);
    await issueSignal(ctx, { ...{ desk, arm, slot, token, generatedAt, record }, ...issue, ...known });
    await ctx.db.patch("signalRuns", runId, { state: "issued", error: undefined });
    if (desk === "daily") {
      await tellOfSignal(ctx, "signal.issued", { arm, slot, token });
      await announce(ctx, slot);
    }
  },
);

/** Ends a run without a signal, if another attempt would not help. */
export const end = change(
  { runId: v.id("signalRuns"), job: vJob, reason: vMissed, error: v.string() },
  async (ctx, { runId, job, reason, error }) => {
    const run = await findOpenRun(ctx, runId);
    if (run !== null && (await endWork(ctx, job))) await close(ctx, run, reason, error);
  },
);

/** Notes a failed attempt; the last one of the slot ends the run. */
export const failed = change(
  { runId: v.id("signalRuns"), ...vFailure },
  async (ctx, { runId, error, isLast }) => {
    const run = await findOpenRun(ctx, runId);
    if (run === null) return;
    if (isLast) {
      await close(ctx, run, "failed", error);
      return;
    }
    await ctx.db.patch("signalRuns", runId, { attempt: run.attempt + 1, error });
    if (run.desk === "daily") await announce(ctx, run.slot);
  },
);

/** Ends a run without a signal, and tells the operator why. */
async function close(
  ctx: MutationCtx,
  run: Pick<Doc<"signalRuns">, "_id" | "desk" | "arm" | "slot" | "token">,
  reason: Infer<typeof vMissed>,
  error: string,
): Promise<void> {
  const { desk, arm, slot, token } = run;
  await ctx.db.patch("signalRuns", run._id, { state: reason, error });
  const about = { arm, token, slot: slotWords(desk, slot), reason, error };
  if (desk === "daily") log.error("signals.none issued", about);
  else log.warn("signals.no shadow signal", about);
  // An arm of the lab may have been asked with a prompt that no longer exists.
  const promptVersion = desk === "lab" ? null : (await writerOf(ctx, arm)).promptVersion;
  await keepMissed(ctx, { desk, arm, slot, token, promptVersion }, reason);
  if (desk === "lab") return;
  await completeDay(ctx, slot);
  await announce(ctx, slot);
}

/**
 * Sends the day's signals that are on no card yet, and anchors them. The tokens wait for each other's first attempt, so
 * that there is usually one card; a signal that needs another attempt gets a card of its own.
 */
async function announce(ctx: MutationCtx, slot: number): Promise<void> {
  const runs = await Promise.all(TOKENS.map((token) => findRun(ctx, { arm: DAILY, slot, token })));
  if (runs.some((run) => run?.state === "writing" && run.attempt === 1)) return;
  const ready = runs.flatMap((run) => (run?.state === "issued" && !run.announced ? [run] : []));
  if (ready.length === 0) return;
  const rows = await Promise.all(ready.map((run) => findSlot(ctx, run)));
  const issued = rows.flatMap((row) => (row === null ? [] : [signalIn(row)]));
  await enqueueServiceCard(ctx, {
    kind: "trading signals",
    paragraphs: issuedCard(issued, await publishedHead(ctx)),
    picture: await picturesOf(issued),
  });
  for (const { _id } of ready) await ctx.db.patch("signalRuns", _id, { announced: true });
  // This is before anybody can know their outcomes.
  if (isSet("ANCHOR_PRIVATE_KEY")) await ctx.scheduler.runAfter(0, internal.signals.record.notary.send, {});
}
