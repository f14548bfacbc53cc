import { v, type Infer } from "convex/values";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { defineMutation } from "../../platform/changes";
import { MINUTE, NEVER, SECOND } from "../../lib/time";
import { findSigningRefusal, requireLive } from "../model";
import { vOrderRow, type GasRequest } from "../tables";
import { buildFailure, finalizeOrder } from "./ending";
import {
  ensureServiceAccount,
  findBlockingOrder,
  isEnded,
  openServiceOrder,
  reopenServiceOrder,
  requireOrder,
  type Order,
} from "./model";

/** The steps of a gas order from its authorization to its end, each one deciding transaction. */

const EXPIRED = "The exchange could not be made in time: nothing was moved";
/** When the end is looked at once more: a reorg may have removed the deciding block. */
const LOOK_BACK_MS = MINUTE;

/**
 * Stores a signed authorization together with the relayer's order that uses it: from then on it blocks the wallet.
 * @returns `false` if the order has ended, or it is another order's turn: the signature is void and leaves nowhere.
 * @throws AppError as `findSigningRefusal`.
 */
export const storeAuthorization = internalMutation({
  args: {
    orderId: v.id("orders"),
    relayer: v.string(),
    validBefore: v.number(),
    signature: v.string(),
    call: v.object({ to: v.string(), data: v.string(), value: v.string() }),
  },
  returns: v.boolean(),
  handler: async (ctx, { orderId, relayer, call, ...signed }) => {
    const row = await requireOrder(ctx, orderId);
    requireLive(row);
    if (row.state !== "prepared") return false;
    const now = Date.now();
    const refusal = await findSigningRefusal(ctx, row, now);
    if (refusal !== null) throw refusal;
    if ((await findBlockingOrder(ctx, row)) !== null) return false;
    const serviceId = await openServiceOrder(ctx, "relayer", relayer, { kind: "refuel", ...call });
    const exchange = { ...signed, serviceId };
    await ctx.db.patch("orders", orderId, { state: "signed", exchange, nextCheckAt: now + 20 * SECOND });
    return true;
  },
});

const vExchangeStep = v.union(
  /** The relayer has signed its half. */
  v.object({ kind: v.literal("sent"), txHash: v.string() }),
  v.object({ kind: v.literal("done"), txHash: v.string() }),
  /** The authorization has ended unused. */
  v.object({ kind: v.literal("expired") }),
  /** The relayer has signed nothing, and tries again. */
  v.object({ kind: v.literal("again") }),
  /**
   * Somebody else has used the authorization: the relayer has the USDC, and gives the ether alone. `halfId`: its order
   * that has failed for good.
   */
  v.object({ kind: v.literal("fallback"), halfId: v.id("orders"), relayer: v.string() }),
  /** It has ended as it has. */
  v.object({ kind: v.literal("left") }),
);
export type ExchangeStep = Infer<typeof vExchangeStep>;

/** Moves a gas order to its next state; a late or repeated step changes nothing. @returns The order afterwards. */
export const advanceExchange = internalMutation({
  args: { orderId: v.id("orders"), step: vExchangeStep },
  returns: vOrderRow,
  handler: async (ctx, { orderId, step }) => {
    const row = await requireOrder(ctx, orderId);
    const { exchange, request, state, txHash } = row;
    if (exchange === undefined || request.kind !== "gas") return row;
    const half = await requireOrder(ctx, exchange.fallbackId ?? exchange.serviceId);
    const isOver = isEnded(row);
    // A dropped block has taken the end back, or a node has said that the authorization was not used.
    const isRevived = half.state === "failed" && (state === "confirmed" || step.kind === "fallback");
    if (step.kind === "left" || (step.kind === "done" && state === "confirmed" && txHash === step.txHash)) {
      if (isOver) await ctx.db.patch("orders", orderId, { nextCheckAt: NEVER });
    } else if (step.kind === "done") {
      const further = { txHash: step.txHash, nextCheckAt: Date.now() + LOOK_BACK_MS };
      if (half.state === "confirmed") await finalizeOrder(ctx, row, { state: "confirmed" }, further);
    } else if (!isOver || isRevived) {
      if (isOver)
        await ctx.db.patch("orders", orderId, {
          ...{ state: "signed", error: undefined, errorCode: undefined, endedAt: undefined },
        });
      await stepOn(ctx, row, { exchange, request, half }, step);
    }
    return requireOrder(ctx, orderId);
  },
});

/** @param about.half The relayer's newest order of the exchange. */
async function stepOn(
  ctx: MutationCtx,
  { _id, address, txHash }: Order,
  about: { exchange: NonNullable<Order["exchange"]>; request: GasRequest; half: Order },
  step: Exclude<ExchangeStep, { kind: "done" | "left" }>,
): Promise<void> {
  const { exchange, request, half } = about;
  if (step.kind === "sent") {
    if (txHash !== step.txHash) await ctx.db.patch("orders", _id, { txHash: step.txHash });
  } else if (half.state !== "failed") return;
  else if (step.kind === "expired") {
    const freed = { idempotencyKey: undefined, txHash: undefined, countedAt: undefined };
    const row = await requireOrder(ctx, _id);
    await finalizeOrder(ctx, row, buildFailure(EXPIRED), {
      ...freed,
      nextCheckAt: Date.now() + LOOK_BACK_MS,
    });
  } else if (step.kind === "again") await reopenServiceOrder(ctx, half);
  else if (half._id === step.halfId) {
    const isSame = exchange.fallbackId !== undefined && half.address === step.relayer;
    if (isSame && (await reopenServiceOrder(ctx, half))) return;
    const payment = { kind: "refuel" as const, to: address, data: "0x", value: request.ether };
    const fallbackId = await openServiceOrder(ctx, "relayer", step.relayer, payment);
    await ctx.db.patch("orders", _id, { exchange: { ...exchange, fallbackId } });
  }
}

/** Notes whether the relayer has too little ether to give, for the operator. */
export const noteTank = defineMutation(
  { relayer: v.string(), isLow: v.boolean() },
  async (ctx, { relayer, isLow }) => {
    const { _id, lowSince } = await ensureServiceAccount(ctx, "relayer", relayer);
    if (isLow !== (lowSince !== undefined))
      await ctx.db.patch("wallets", _id, { lowSince: isLow ? Date.now() : undefined });
  },
);
