import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatDollars } from "../lib/text/numbers";
import { MINUTE } from "../lib/time";
import { awaitRefreshes } from "../platform/refreshes";
import { AppError, getErrorData } from "../lib/errors";
import { deadlines } from "../platform/outside/deadlines";
import { takeUsage } from "../platform/outside/calls";
import { defineWorker } from "../platform/worker";
import { resolveFocus } from "../market/listing";
import { getStoredResult } from "../research/model";
import { readPortfolio } from "../wallets/holdings";
import { WALLET_TOKENS } from "../wallets/tokens";
import { getPrice } from "./service";

/** One look at research for a person: reads it, or begins it and waits, as everybody who asks at that hour. */

/** On-demand results are fresh for this long. */
const FRESH_MS = 15 * MINUTE;

export const writeBrief = defineWorker({ alertId: v.id("alerts") }, async (ctx, { alertId, job }) => {
  const found = await ctx.runQuery(internal.alerts.briefs.readBriefed, { alertId });
  if (found === null) return "over";
  const { userId, token } = found;
  const focus = await resolveFocus(ctx, token);
  const { fetchedAt, result } = await research(ctx, focus, userId);
  const held = await describeHeld(ctx, userId, token);
  await ctx.runMutation(internal.alerts.briefs.tellBrief, {
    ...{ alertId, job, fetchedAt, outlook: result.marketOutlook, summary: result.shortSummary },
    priceUsd: await getPrice(ctx, token),
    ...(held === null ? {} : { held }),
    usage: takeUsage(),
  });
  return undefined;
});

/** The fresh result on a focus. @throws AppError `upstream`, `rate_limited` */
async function research(ctx: ActionCtx, focus: string, userId: string) {
  const stored = await getStoredResult(ctx, focus);
  if (stored !== null && Date.now() - stored.fetchedAt < FRESH_MS) return stored;
  const caller = { userId, address: null, signedIn: true };
  const key: string = await ctx.runMutation(internal.research.reports.startResearch, { focus, caller });
  const end = AbortSignal.timeout(3 * deadlines.llmScheduled);
  const [outcome = null] = await awaitRefreshes(ctx, [key], end);
  const renewed = await getStoredResult(ctx, focus);
  if (outcome !== null && outcome.error === undefined && renewed !== null) return renewed;
  throw new AppError("upstream", outcome?.error ?? "The research did not come in time");
}

/** What the wallet holds of a coin: `0.5 ETH ($1,500)`; `null` without any, or while the chain does not answer. */
async function describeHeld(ctx: ActionCtx, userId: string, token: string): Promise<string | null> {
  const query = { userId, kind: "custody" as const };
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, query);
  if (wallet === null || (token !== "BTC" && token !== "ETH")) return null;
  try {
    const { balances } = await readPortfolio(ctx, wallet, false);
    const held = balances.filter((one) => WALLET_TOKENS[one.token].feed === token && one.raw !== "0");
    const words = held.map(({ balance, valueUsd, token: symbol }) => {
      return `${balance} ${symbol}${valueUsd === null ? "" : ` (${formatDollars(valueUsd)})`}`;
    });
    return words.length === 0 ? null : words.join(", ");
  } catch (error) {
    if (getErrorData(error) === null) throw error;
    return null;
  }
}
