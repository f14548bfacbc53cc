import { v, type Infer } from "convex/values";
import { literals } from "../../lib/literals";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { AppError } from "../../lib/errors";
import { formatUnits } from "../../lib/money/amounts";
import { approvingLink, enqueueCard, approvalFromNote } from "../../messenger/model";
import { APPROVED, verdictNow, type Permit, type Verdict } from "../../users/access";
import { liveRules } from "../../users/levels";
import { limitsOf, refusalOf } from "../limits/policies";
import { deedOf, openedWith, pauseOf } from "../transactions/model";
import {
  ASKED_MS,
  askedWith,
  openOf,
  refuseTooMany,
  requireSameWish,
  sameWish,
  standingOf,
  STANDINGS,
  unsealed,
} from "./approvals";
import { byWalletId } from "../model";
import { questionButtons, questionCard, vFound } from "./cards";
import { recipientOf } from "./recipients";
import { vWish, type OrderWish, type Wish } from "./tables";

/** Questions to owners and their state, for actions. */

const vAsked = v.object({
  approvalId: v.id("approvals"),
  status: literals(...STANDINGS),
  idempotencyKey: v.string(),
  /** Epoch ms. */
  expiresAt: v.number(),
  kind: literals("send", "swap", "delivery"),
  transactionId: v.union(v.id("transactions"), v.null()),
  error: v.union(v.string(), v.null()),
});
export type Asked = Infer<typeof vAsked>;

async function shown(ctx: QueryCtx, row: Doc<"approvals">, now: number): Promise<Asked> {
  const { _id: approvalId, wish, idempotencyKey, expiresAt, transactionId = null, error = null } = row;
  const kind = wish.kind === "delivery" ? wish.kind : wish.request.kind === "swap" ? "swap" : "send";
  const status = await standingOf(ctx, row, now);
  return { approvalId, status, idempotencyKey, expiresAt, kind, transactionId, error };
}

/**
 * An earlier question with the same key or, without a key, an open one with the same terms; `null` for a new one.
 * @throws AppError `conflict` if the key was used for something else.
 */
export const earlier = internalQuery({
  args: { userId: v.string(), wish: vWish, idempotencyKey: v.optional(v.string()), now: v.number() },
  returns: v.union(vAsked, v.null()),
  handler: async (ctx, { now, ...asked }) => {
    const row = await earlierOf(ctx, asked, now);
    return row === null ? null : shown(ctx, row, now);
  },
});

type Asking = { userId: string; wish: Wish; idempotencyKey?: string };

async function earlierOf(
  ctx: QueryCtx,
  { userId, wish, idempotencyKey }: Asking,
  now: number,
): Promise<Doc<"approvals"> | null> {
  if (idempotencyKey === undefined) {
    return (await openOf(ctx, userId, now)).find((row) => sameWish(row.wish, wish)) ?? null;
  }
  const row = await askedWith(ctx, userId, idempotencyKey);
  if (row !== null) requireSameWish(row, wish);
  return row;
}

/**
 * Asks the owner, in the transaction that decides whether to ask.
 * @throws AppError `forbidden` if nobody can be asked, `paused`, `rate_limited`, and the refusals of the limits.
 */
export const propose = internalMutation({
  args: {
    userId: v.string(),
    wish: vWish,
    idempotencyKey: v.optional(v.string()),
    found: v.union(vFound, v.null()),
    keyHash: v.optional(v.string()),
  },
  returns: vAsked,
  handler: async (ctx, { found, keyHash, ...asked }) => {
    const now = Date.now();
    const { userId, wish } = asked;
    const before = await earlierOf(ctx, asked, now);
    if (before !== null) return shown(ctx, before, now);
    const deed = wish.kind === "order" ? deedOf(wish.request) : "delivery";
    const verdict = await verdictNow(ctx, userId, deed, now, keyHash);
    const key = asked.idempotencyKey ?? `approval_${crypto.randomUUID()}`;
    const account = await approvingLink(ctx, userId, now);
    const isRefused = verdict.kind === "refused" || account === null;
    // An order with this key is the owner's, or older than the id's owner.
    if (isRefused || (await openedWith(ctx, userId, key)) !== null)
      throw new AppError(
        verdict.kind === "allowed" ? "forbidden" : verdict.code,
        (verdict.kind === "allowed" ? NOBODY_TO_ASK : verdict.message) +
          (await approvalFromNote(ctx, userId)),
      );
    const { version: policyVersion } = await liveRules(ctx, userId);
    const movedUsd = wish.kind === "order" ? await judged(ctx, userId, wish, APPROVED, now) : null;
    await refuseTooMany(ctx, userId, now);
    const question = { userId, wish, account, policyVersion, key, found, movedUsd, asker: askerIn(verdict) };
    return shown(ctx, await ask(ctx, question), now);
  },
});

/** Who asks, for the card: whoever shows a key or the owner's token is no stranger. */
function askerIn(verdict: Verdict): string {
  if (verdict.kind !== "allowed" || verdict.by === "id") return "Somebody who knows your account id";
  return verdict.key === undefined ? "Somebody with your login" : `Your key ${verdict.key.name}`;
}

const NOBODY_TO_ASK = "This order needs its owner's approval, and no messenger account is linked to ask them";

/** Whether the limits allow an order that its owner taps for. @returns The sum moved in 24 hours, decimal USD. */
export async function judged(
  ctx: QueryCtx,
  userId: string,
  { request, valueMicroUsd }: OrderWish,
  permit: Permit,
  now: number,
): Promise<string | null> {
  const limits = await limitsOf(ctx, { userId, permit, address: null, request }, now);
  const value = valueMicroUsd === undefined ? null : BigInt(valueMicroUsd);
  const refusal = pauseOf() ?? refusalOf(limits, value);
  if (refusal !== null) throw refusal;
  const moved = limits.rolling.find(({ measure }) => measure === "moved");
  return moved === undefined ? null : formatUnits(moved.used / 10_000n, 2);
}

type Question = {
  userId: string;
  wish: Wish;
  account: Doc<"messengerLinks">;
  policyVersion: number;
  key: string;
  found: Infer<typeof vFound> | null;
  movedUsd: string | null;
  /** Who asks, in words; `null`: the owner, in their chat. */
  asker: string | null;
};

/** Sends the question. */
async function ask(ctx: MutationCtx, question: Question): Promise<Doc<"approvals">> {
  const { id, paragraphs, buttons } = await write(ctx, question);
  const { userId, account } = question;
  const card = await enqueueCard(ctx, {
    ...{ userId, chatId: account.messengerId, bot: "default", kind: "approval" },
    ...{ paragraphs, buttons },
  });
  await ctx.db.patch("approvals", id, { card });
  const row = await ctx.db.get("approvals", id);
  if (row === null) throw new AppError("internal", "The approval is gone");
  return row;
}

/** Stores a question. @returns The card with it. */
export async function write(
  ctx: MutationCtx,
  { userId, wish, account, policyVersion, key: idempotencyKey, found, movedUsd, asker }: Question,
) {
  const { _id: linkId, messengerId } = account;
  const now = Date.now();
  const expiresAt = now + ASKED_MS;
  const payer = wish.kind === "order" ? await byWalletId(ctx, wish.walletId) : null;
  const recipient = await recipientOf(ctx, userId, wish, now);
  const id = await ctx.db.insert("approvals", {
    ...{ userId, linkId, messengerId, wish, idempotencyKey, policyVersion, expiresAt },
    ...(asker === null ? { begun: "chat" as const } : {}),
    state: "open",
  });
  const closing = await ctx.scheduler.runAt(expiresAt, internal.wallets.orders.proposals.close, {
    approvalId: id,
  });
  await ctx.db.patch("approvals", id, { closing });
  const paragraphs = questionCard(wish, { found, recipient, movedUsd, payer, asker }, expiresAt);
  return { id, paragraphs, buttons: questionButtons(id) };
}

/** Removes the sealed token from a question that nobody has answered. */
export const close = change({ approvalId: v.id("approvals") }, async (ctx, { approvalId }) => {
  const row = await ctx.db.get("approvals", approvalId);
  if (row?.state === "open") await ctx.db.patch("approvals", approvalId, { wish: unsealed(row.wish) });
});

/** The state of a question to an owner; `null` for an id that is not this user's. */
export const view = internalQuery({
  args: { userId: v.string(), approvalId: v.string(), now: v.number() },
  returns: v.union(vAsked, v.null()),
  handler: async (ctx, { userId, approvalId, now }) => {
    const id = ctx.db.normalizeId("approvals", approvalId);
    const row = id === null ? null : await ctx.db.get("approvals", id);
    return row?.userId === userId ? shown(ctx, row, now) : null;
  },
});
