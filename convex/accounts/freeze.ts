import type { MutationCtx } from "../_generated/server";
import { endStandingOrders } from "../alerts/model";
import type { StandingOrder } from "../alerts/tables";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import {
  findAccount,
  parseMessengerLogin,
  type Changes,
  changeRules,
  listKeysOfAccount,
  isFrozen,
  RELAXATION_MS,
  saveAccount,
} from "../identity/model";
import { withdrawCode } from "../messenger/model";
import { FREEZE, notifyEverywhere } from "../messenger/notices";

/** Freezes, and the notices to an account's channels. Steps of their caller's mutation. */

/**
 * Stops all signing for an account's wallets, cancels its pending relaxations, and notifies its channels. Freezing a frozen
 * account repeats all three.
 * @param by A compromised chat must not block recovery: a freeze from a chat cancels only a change of login that its owner
 * has asked for.
 */
export async function freezeAccount(ctx: MutationCtx, userId: string, by: "login" | "chat"): Promise<void> {
  const row = await findAccount(ctx, userId);
  const claim = by === "chat" && row?.claim?.asked !== true ? { claim: row?.claim } : {};
  await withdrawCode(ctx, userId, "login");
  await cancelPendingRelaxations(ctx, userId, { frozenAt: Date.now(), thawsAt: undefined, ...claim });
  await endStandingOrders(ctx, userId, "the account was frozen");
  const byChat = parseMessengerLogin(row?.login) !== null;
  await announce(ctx, userId, [
    "🧊 Your account is frozen",
    "From now on nothing is signed for its wallets, no matter who asks. Transactions that were sent to the chain before may still be mined.",
    byChat
      ? [{ command: "unfreeze" }, " in your chat with the bot ends it, two hours later."]
      : "To end it, sign in to the web application. It ends two hours later.",
  ]);
}

/** Changes the rules, and cancels every pending relaxation. */
export async function cancelPendingRelaxations(
  ctx: MutationCtx,
  userId: string,
  changes: Changes,
): Promise<void> {
  const now = Date.now();
  const row = await findAccount(ctx, userId);
  const counts = ({ countsFrom }: { countsFrom: number }) => countsFrom <= now;
  await revokeKeys(ctx, userId, now);
  await changeRules(ctx, userId, {
    limits: row?.limits?.filter(counts),
    recipients: row?.recipients?.filter(counts),
    paper: row?.paper === undefined ? undefined : { since: row.paper.since },
    // A claim of a free account loosens nothing of an owner's.
    claim: row?.login === undefined ? row?.claim : undefined,
    ...changes,
  });
}

/** Revokes an account's keys, or those that count only after a moment. */
export async function revokeKeys(ctx: MutationCtx, userId: string, after = -1): Promise<void> {
  const revokedAt = Date.now();
  const revoked = (await listKeysOfAccount(ctx, userId)).filter(({ countsFrom }) => countsFrom > after);
  for (const { _id } of revoked) await ctx.db.patch("keys", _id, { revokedAt });
  const isTheirs = ({ order }: StandingOrder) => revoked.some(({ _id }) => _id === order.keyId);
  if (revoked.length > 0) await endStandingOrders(ctx, userId, "the key that set it was revoked", isTheirs);
}

/**
 * Ends a freeze, two hours from now. A freeze meanwhile stands. Earlier permissions stay void.
 * @returns The end of the freeze, epoch ms.
 * @throws AppError `conflict` if nothing is frozen.
 */
export async function unfreezeAccount(ctx: MutationCtx, userId: string): Promise<number> {
  const now = Date.now();
  const row = await findAccount(ctx, userId);
  if (!isFrozen(row, now))
    throw new AppError("conflict", "Your account is not frozen: there is nothing to end");
  if (row?.thawsAt !== undefined) return row.thawsAt;
  const thawsAt = now + RELAXATION_MS;
  await saveAccount(ctx, userId, { thawsAt });
  const title = "☀️ Your account will not be frozen any more";
  await announce(ctx, userId, [title, "Two hours from now its wallets sign again.", NOT_YOU]);
  return thawsAt;
}

export const NOT_YOU = "If that was not you, freeze your account before then.";

/** A title and paragraphs. */
export type AccountNotice = [string, ...(string | (string | { code: string } | { command: string })[])[]];

/** Notifies every channel of an account, with a button that freezes it unless it is frozen. */
export async function announce(
  ctx: MutationCtx,
  userId: string,
  [title, ...body]: AccountNotice,
): Promise<void> {
  const row = await findAccount(ctx, userId);
  log.info("account.changed", { account: row?._id, title });
  const paragraphs = [[{ bold: title }], ...body.map((one) => (typeof one === "string" ? [one] : one))];
  const buttons = row?.frozenAt !== undefined && row.thawsAt === undefined ? undefined : FREEZE;
  await notifyEverywhere(ctx, { userId, kind: "account", paragraphs, buttons });
}
