import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { cron } from "../../lib/cronRuns";
import { namedShadowArms } from "../../lib/env";
import { failureOf, messageOf } from "../../lib/errors";
import { enter, telling, vFailure } from "../../lib/lanes";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { DAY, HOUR, iso } from "../../lib/time";
import { recentHourlyCloses } from "../../prices/model";
import { findTicked } from "../../prices/sources";
import { PRICED_TOKENS, vClose } from "../../prices/tables";
import { UnusableAnswer } from "../../providers/llm";
import { recordOfToken, vTold } from "../calibration";
import { HOURS } from "../prompts";
import { askForSignal } from "../proposals";
import { entered, LAB_TOKENS } from "../rules";
import { proposalFields, vHeld, vPriceAtIssue } from "../tables";
import { armNamed, rememberArm, type Arm } from "./arms";
import { findShadow, issueShadow, keepMissed, outcomesOfToken } from "./model";
import { vLabToken } from "./tables";

/**
 * The shadow lab: every hour each arm of `SHADOW_ARMS` is asked for a signal of BTC, ETH and SOL, as the daily signals are
 * asked for. Nobody is sent one. They are there to find out which model and prompt should write the daily signals.
 */

/** An hour later the next signal is asked for: what fails twice is missed. */
const ATTEMPTS = 2;

const vReason = v.union(v.literal("refused"), v.literal("failed"), v.literal("budget"));

/**
 * The hourly job: opens one run for each arm and token. However often and however often at once it runs, there is one: the
 * row of hour, arm and token is looked for and written in one transaction.
 */
export const open = cron("ask the shadow arms", async (ctx) => {
  const hour = hourOf(Date.now());
  for (const one of armsToAsk()) {
    if (!(await rememberArm(ctx, one))) {
      log.error("signals.too many shadow arms", { arm: one.arm });
      continue;
    }
    for (const token of LAB_TOKENS) {
      const slot = { hour, arm: one.arm, token };
      if ((await findRun(ctx, slot)) !== null) continue;
      const runId = await ctx.db.insert("shadowRuns", { ...slot, state: "writing" });
      const told = telling(internal.signals.lab.issuing.failed, { runId });
      const care = { attempts: ATTEMPTS, until: hour + HOUR, told };
      const place = { lane: "service" as const, owner: "shadow signals", request: false };
      await enter(ctx, place, internal.signals.lab.issuing.write, { runId }, care);
    }
  }
});

/** The arms that are to be asked. A malformed setting is the operator's to mend, and no reason for a cron to fail. */
function armsToAsk(): Arm[] {
  try {
    return namedShadowArms().map(armNamed);
  } catch (error) {
    log.error("signals.no shadow arms", { reason: `SHADOW_ARMS: ${messageOf(error)}` });
    return [];
  }
}

/** Asks an arm, and stores its signal or why there is none. */
export const write = providerAction({
  args: { runId: v.id("shadowRuns") },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    const task = await ctx.runQuery(internal.signals.lab.issuing.task, { runId });
    if (task === null) return null;
    const { arm, ...told } = task;
    try {
      const { model, promptVersion } = armNamed(arm);
      const measured = (since: number) => findTicked(told.token, since);
      const asked = { attempts: 1, payer: "lab" as const, model };
      const { hours: _, ...proposed } = await askForSignal(ctx, { ...told, promptVersion }, measured, asked);
      await ctx.runMutation(internal.signals.lab.issuing.store, { runId, ...proposed });
    } catch (error) {
      const reason = finalReasonOf(error);
      if (reason === null) throw error;
      const why = error instanceof UnusableAnswer ? error.problem : messageOf(error);
      await ctx.runMutation(internal.signals.lab.issuing.miss, { runId, reason, error: why });
    }
    return null;
  },
});

/** Why it is of no use to try once more; `null` when it may be. */
function finalReasonOf(error: unknown): "refused" | "budget" | null {
  if (error instanceof UnusableAnswer) return "refused";
  return failureOf(error)?.code === "rate_limited" ? "budget" : null;
}

const vPast = vHeld
  .pick("signal", "entry", "tp1", "tp2", "sl", "confidence", "status", "pnlPercent")
  .extend({ token: vLabToken, day: v.string() });

/** What the prompt needs; `null` when the run has ended. */
export const task = internalQuery({
  args: { runId: v.id("shadowRuns") },
  returns: v.union(
    v.object({
      arm: v.string(),
      token: vLabToken,
      closes: v.array(vClose),
      calibration: vTold,
      yesterday: v.array(vPast),
    }),
    v.null(),
  ),
  handler: async (ctx, { runId }) => {
    const run = await running(ctx, runId);
    if (run === null) return null;
    const { arm, token, hour } = run;
    const before = LAB_TOKENS.map((one) => findShadow(ctx, { arm, hour: hour - DAY, token: one }));
    const priced = PRICED_TOKENS.find((one) => one === token);
    return {
      arm,
      token,
      closes:
        priced === undefined
          ? []
          : await recentHourlyCloses(ctx, priced, { before: Date.now(), count: HOURS }),
      calibration: recordOfToken(await outcomesOfToken(ctx, arm, token)),
      yesterday: (await Promise.all(before)).flatMap((row) => (row === null ? [] : [past(row)])),
    };
  },
});

function past(row: Doc<"shadowSignals">): Infer<typeof vPast> {
  const { token, hour, signal, entry, tp1, tp2, sl, confidence, status, pnlPercent = null } = row;
  const day = iso(hour).slice(0, "2026-01-05T09:00".length).replace("T", " ");
  return { token, day, signal, entry, tp1, tp2, sl, confidence, status, pnlPercent };
}

/** Issues the shadow signal, while its hour lasts. */
export const store = internalMutation({
  args: {
    runId: v.id("shadowRuns"),
    proposal: v.object(proposalFields),
    model: v.string(),
    price: vPriceAtIssue,
    costBps: v.number(),
  },
  returns: v.null(),
  handler: async (ctx, { runId, proposal, model, price, costBps }) => {
    const run = await running(ctx, runId);
    if (run === null) return null;
    const generatedAt = Date.now();
    const { hour, arm, token } = run;
    if (hourOf(generatedAt) !== hour) {
      await endWithout(ctx, run, "failed", "The hour was over before the signal was ready");
      return null;
    }
    const proposed = entered(proposal, { priceUsd: price.usd, costBps });
    const issue = { hour, arm, token, ...proposed, generatedAt, model, price, costBps };
    await issueShadow(ctx, issue, armNamed(arm).promptVersion);
    await ctx.db.patch("shadowRuns", runId, { state: "issued", error: undefined });
    return null;
  },
});

/** Ends a run without a signal that another attempt would not get either. */
export const miss = internalMutation({
  args: { runId: v.id("shadowRuns"), reason: vReason, error: v.string() },
  returns: v.null(),
  handler: async (ctx, { runId, reason, error }) => {
    const run = await running(ctx, runId);
    if (run !== null) await endWithout(ctx, run, reason, error);
    return null;
  },
});

/** Notes a failed attempt; the last one ends the run. */
export const failed = internalMutation({
  args: { runId: v.id("shadowRuns"), ...vFailure },
  returns: v.null(),
  handler: async (ctx, { runId, error, isLast }) => {
    const run = await running(ctx, runId);
    if (run === null) return null;
    if (isLast) await endWithout(ctx, run, "failed", error);
    else await ctx.db.patch("shadowRuns", runId, { error });
    return null;
  },
});

async function endWithout(
  ctx: MutationCtx,
  run: Doc<"shadowRuns">,
  reason: Infer<typeof vReason>,
  error: string,
): Promise<void> {
  const { arm, token } = run;
  await ctx.db.patch("shadowRuns", run._id, { state: "missed", error });
  log.warn("signals.no shadow signal", { arm, token, reason, error });
  await keepMissed(ctx, run, reason);
}

async function findRun(
  ctx: QueryCtx,
  { hour, arm, token }: Pick<Doc<"shadowRuns">, "hour" | "arm" | "token">,
): Promise<Doc<"shadowRuns"> | null> {
  return ctx.db
    .query("shadowRuns")
    .withIndex("by_slot", (q) => q.eq("hour", hour).eq("arm", arm).eq("token", token))
    .unique();
}

async function running(ctx: QueryCtx, runId: Id<"shadowRuns">) {
  const run = await ctx.db.get("shadowRuns", runId);
  return run?.state === "writing" ? run : null;
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR) * HOUR;
}
