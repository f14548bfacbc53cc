import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData, type ErrorData, orNull } from "../lib/errors";
import { PRICE_MOVED } from "../lib/refusals";
import { formatDollars } from "../lib/text/numbers";
import { MINUTE } from "../lib/time";
import { resolveFocus } from "../market/listing";
import { deadlines } from "../platform/outside/deadlines";
import { takeUsage } from "../platform/outside/calls";
import type { Job } from "../platform/work";
import { defineWorker } from "../platform/worker";
import { getFreshResult } from "../research/onDemand";
import { getMicroPrice, readPortfolio } from "../wallets/holdings";
import { formatShortAmount } from "../wallets/model";
import { resolveOrder } from "../wallets/orders/estimates";
import { executeOrder } from "../wallets/orders/execution";
import { WALLET_TOKENS, type Symbol } from "../wallets/tokens";
import { isReached, toWatch } from "./conditions";
import { isUnsigned, LATE, type DueFiring } from "./outcomes";
import { getPrice } from "./service";
import { computeLeast, isLimit } from "./terms";

/** The work of firings: an order that is carried out, and a look at research. */

/** Carries out a firing: opens its order at live prices, signs it and waits for its end. Safe to run twice. */

export const carryOut = defineWorker(
  { firingId: v.id("alertFirings"), triedSince: v.optional(v.number()) },
  async (ctx, { firingId, triedSince = Date.now(), job }) => {
    const due = await ctx.runQuery(internal.alerts.outcomes.readFiring, {
      firingId,
      now: Date.now(),
    });
    if (due === null) return "over";
    const failure = await open(ctx, firingId, due, job);
    await ctx.runMutation(internal.alerts.outcomes.settleFiring, {
      ...{ firingId, job, triedSince, usage: takeUsage() },
      ...(failure === null ? {} : { failure: { code: failure.code, message: failure.message } }),
    });
    return undefined;
  },
);

/** Opens the firing's order, or finds it, and carries it out. @returns Why there is none. */
async function open(
  ctx: ActionCtx,
  firingId: Id<"alertFirings">,
  due: DueFiring,
  job: Job,
): Promise<Pick<ErrorData, "code" | "message"> | null> {
  const { order, isLate } = due;
  const living = order === null || isUnsigned(order) ? null : order;
  if (living === null && isLate) return { code: "upstream", message: LATE };
  try {
    const orderId = living?._id ?? (await place(ctx, firingId, due, job));
    if (orderId !== null) await executeOrder(ctx, orderId, deadlines.transaction);
    return null;
  } catch (error) {
    const failure = getErrorData(error);
    if (failure === null) throw error;
    return failure;
  }
}

async function place(
  ctx: ActionCtx,
  firingId: Id<"alertFirings">,
  { alert }: DueFiring,
  job: Job,
): Promise<Id<"orders"> | null> {
  const { condition, order } = alert;
  const query = { userId: alert.userId, kind: "custody" as const };
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, query);
  if (wallet === null) throw new AppError("not_found", "The account has no wallet");
  const { unitWarning: _, ...resolved } = await resolveOrder(ctx, wallet, order.swap);
  const { request, value } = resolved;
  const isBound = condition.kind === "price" && isLimit(condition, order.swap);
  const least = isBound && request.kind === "swap" ? await bound(condition, request, value) : null;
  return ctx.runMutation(internal.alerts.outcomes.placeStanding, {
    ...{ firingId, job, walletId: wallet.walletId, ...resolved },
    ...(least === null ? {} : { least: least.toString() }),
  });
}

/**
 * The least that a limit order may buy.
 * @throws AppError `upstream` while the live price is not at its level any more, or not known.
 */
async function bound(
  condition: Extract<DueFiring["alert"]["condition"], { kind: "price" }>,
  swap: DueFiring["alert"]["order"]["swap"],
  value: string | undefined,
): Promise<bigint> {
  const coin: Symbol = condition.token === "BTC" ? "CBBTC" : "ETH";
  const live = Number(await getMicroPrice(coin)) / 1e6;
  if (!isReached(toWatch(condition), live)) throw new AppError("upstream", PRICE_MOVED);
  if (value === undefined) throw new AppError("upstream", "There is no live price for what it sells");
  return computeLeast(condition, swap, { value: BigInt(value), price: await getMicroPrice(swap.toToken) });
}

/** One look at research for a person: reads it, or begins it and waits, as everybody who asks at that hour. */

/** One result serves all who ask at an hour, however long their turns take. */
const RESEARCH = { patienceMs: 3 * deadlines.llmScheduled, freshMs: 15 * MINUTE };

export const writeBrief = defineWorker({ alertId: v.id("alerts") }, async (ctx, { alertId, job }) => {
  const asked = await ctx.runQuery(internal.alerts.due.readBriefed, { alertId });
  if (asked === null) return "over";
  const { userId, token } = asked;
  const focus = await resolveFocus(ctx, token);
  const found = await getFreshResult(ctx, focus, { userId, address: null, signedIn: true }, RESEARCH);
  if (found === null) throw new AppError("upstream", "The research did not come in time");
  const { fetchedAt, result } = found;
  const held = await describeHeld(ctx, userId, token);
  await ctx.runMutation(internal.alerts.due.tellBrief, {
    ...{ alertId, job, fetchedAt, outlook: result.marketOutlook, summary: result.shortSummary },
    priceUsd: await getPrice(ctx, token),
    ...(held === null ? {} : { held }),
    usage: takeUsage(),
  });
  return undefined;
});

/** What the wallet holds of a coin: `0.5 ETH ($1,500)`; `null` without any, or while the chain does not answer. */
async function describeHeld(ctx: ActionCtx, userId: string, token: string): Promise<string | null> {
  const query = { userId, kind: "custody" as const };
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, query);
  if (wallet === null || (token !== "BTC" && token !== "ETH")) return null;
  const balances = (await orNull(readPortfolio(ctx, wallet, false)))?.balances ?? [];
  const held = balances.filter((one) => WALLET_TOKENS[one.token].feed === token && one.raw !== "0");
  const words = held.map(({ balance, valueUsd, token: symbol }) => {
    return `${formatShortAmount(balance)} ${symbol}${valueUsd === null ? "" : ` (${formatDollars(valueUsd)})`}`;
  });
  return words.length === 0 ? null : words.join(", ");
}
