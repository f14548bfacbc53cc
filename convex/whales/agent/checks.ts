import { v, type Infer } from "convex/values";
import { parse } from "convex-helpers/validators";
import { isHash } from "viem";
import { internal } from "../../_generated/api";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { rowsDue } from "../../lib/rows";
import { MINUTE, NEVER, HOUR } from "../../lib/time";
import { readOutcomes, type Outcome } from "../../providers/chainReceipts";
import { worthOf } from "../chain/movements";
import { coinAt, isCoin } from "../coins";
import { vReported } from "../tables";
import { feedPrices, priceIn, type Prices } from "../valuing";
import { WINDOW_HOURS } from "./prompts";

/**
 * Asks the chain about the transactions that the agent's alerts name. An alert is `verified` when the transaction says the
 * same: it succeeded, when the alert says, and moved the token and about the amount. A hash of another chain never is.
 */

/** How long after each fruitless check the next one is; behind the last there is none. */
const NEXT_CHECK_MS = [MINUTE, 5 * MINUTE, 30 * MINUTE];
/** The agent is asked for so many hours, and may be late. */
const OLDEST_MS = (WINDOW_HOURS + 1) * HOUR;
/** The agent's time of a movement and its block's. */
const TIME_MS = HOUR;
/** Clocks may differ a little. */
const SKEW_MS = 5 * MINUTE;
/** Of the larger: prices move between the movement, the telling and the check. */
const AMOUNT = 0.1;
/** Transactions per round trip. */
const BATCH = 30;

/** Schedules a check when one is due. Too many do no harm: each begins by claiming. */
export async function scheduleDueChecks(ctx: MutationCtx, now: number): Promise<void> {
  const due = await rowsDue(ctx.db.query("whaleAlerts"), "checkAt", now).first();
  if (due !== null) await ctx.scheduler.runAfter(0, internal.whales.agent.checks.run, {});
}

/** Checks a batch of due transactions. When the chain cannot be asked, their next check does. */
export const run = providerAction({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const due = await ctx.runMutation(internal.whales.agent.checks.claim, {});
    const wanted = due.flatMap((alert) =>
      alert.txHash !== undefined && isHash(alert.txHash) ? [{ alert, txHash: alert.txHash }] : [],
    );
    if (wanted.length === 0) return null;
    try {
      const outcomes = await readOutcomes(wanted.map(({ txHash }) => txHash));
      const mined = wanted.flatMap(({ alert }, i) => {
        const outcome = outcomes[i] ?? null;
        return outcome === null ? [] : [{ alert, outcome }];
      });
      if (mined.length === 0) return null;
      const prices = await feedPrices();
      const checked = mined.map(({ alert, outcome }) => ({
        alertId: alert.alertId,
        verified: agrees(alert, outcome, prices),
      }));
      await ctx.runMutation(internal.whales.agent.checks.settle, { checked });
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      log.warn("whales.unchecked", { transactions: wanted.length, reason: failure.message });
    }
    return null;
  },
});

/** What an agent's alert says that the chain can say too. */
const vChecked = vReported
  .pick("token", "amount", "occurredAt", "txHash")
  .extend({ alertId: v.id("whaleAlerts"), detectedAt: v.number() });

/** Takes due checks, setting the next one of each. */
export const claim = internalMutation({
  args: {},
  returns: v.array(vChecked),
  handler: async (ctx) => {
    const now = Date.now();
    const due = await rowsDue(ctx.db.query("whaleAlerts"), "checkAt", now).take(BATCH);
    for (const { _id, checks } of due) {
      const next = NEXT_CHECK_MS[checks];
      await ctx.db.patch("whaleAlerts", _id, {
        checks: checks + 1,
        checkAt: next === undefined ? NEVER : now + next,
      });
    }
    return due.map((row) => parse(vChecked, { ...row, alertId: row._id }));
  },
});

/** Notes what the chain said. An absent transaction is not among them: it may be mined yet, or on a node that lags. */
export const settle = internalMutation({
  args: { checked: v.array(v.object({ alertId: v.id("whaleAlerts"), verified: v.boolean() })) },
  returns: v.null(),
  handler: async (ctx, { checked }) => {
    for (const { alertId, verified } of checked) {
      const row = await ctx.db.get("whaleAlerts", alertId);
      // What was measured meanwhile needs nobody's word.
      if (row === null || row.movement !== undefined) continue;
      await ctx.db.patch("whaleAlerts", alertId, { verified, checkAt: NEVER });
    }
    return null;
  },
});

/** Whether an agent tells of a transaction what the chain says of it: transaction, age, token and amount have to agree. */
function agrees(
  { token, amount, occurredAt, detectedAt }: Infer<typeof vChecked>,
  outcome: Outcome,
  prices: Prices,
): boolean {
  const { time } = outcome.block;
  if (!outcome.succeeded || !isCoin(token)) return false;
  if (time < detectedAt - OLDEST_MS || time > detectedAt + SKEW_MS) return false;
  if (occurredAt !== undefined && Math.abs(time - occurredAt) > TIME_MS) return false;
  const moved =
    token === "ETH"
      ? [outcome.payment?.amount ?? 0n]
      : outcome.transfers.filter((one) => coinAt(one.token) === token).map((one) => one.amount);
  return moved.some((quantity) => {
    const worth = worthOf({ coin: token, amount: quantity }, priceIn(prices, token).usd);
    return Math.abs(worth - amount) <= AMOUNT * Math.max(worth, amount);
  });
}
