import { internal } from "../_generated/api";
import type { MutationCtx } from "../_generated/server";
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

/** What stops an account's signatures, and what its channels are told. Steps of their caller's mutation. */

/**
 * Stops everything that would be signed for an account's wallets, cancels all that would loosen its rules and does not
 * count yet, and tells it. Freezing a frozen account does so again.
 * @param by A linked chat may be in others' hands: it cancels no change of the login, which is the way out then.
 */
export async function freezeAccount(ctx: MutationCtx, userId: string, by: "login" | "chat"): Promise<void> {
  const row = await findAccount(ctx, userId);
  const claim = by === "chat" ? { claim: row?.claim } : {};
  await cancelPendingRelaxations(ctx, userId, { frozenAt: Date.now(), thawsAt: undefined, ...claim });
  const byChat = parseMessengerLogin(row?.login) !== null;
  await announce(ctx, userId, [
    "🧊 Your account is frozen",
    "From now on nothing is signed for its wallets, no matter who asks. Transactions that were sent to the chain before may still be mined.",
    byChat
      ? [{ command: "unfreeze" }, " in your chat with the bot ends it, two hours later."]
      : "To end it, sign in to the web application. It ends two hours later.",
  ]);
}

/** Changes the rules, and cancels what would loosen them and does not count yet. */
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
    // A claim of a free account loosens nothing of an owner's.
    claim: row?.login === undefined ? row?.claim : undefined,
    ...changes,
  });
}

/** Revokes an account's keys, or those that count only after a moment. */
export async function revokeKeys(ctx: MutationCtx, userId: string, after = -1): Promise<void> {
  const revokedAt = Date.now();
  for (const { _id, countsFrom } of await listKeysOfAccount(ctx, userId))
    if (countsFrom > after) await ctx.db.patch("keys", _id, { revokedAt });
}

/**
 * Ends a freeze, two hours from now. A freeze meanwhile stands. Earlier permissions stay void.
 * @returns The end of the freeze, epoch ms.
 * @throws AppError `conflict` if nothing is frozen.
 */
export async function unfreezeAccount(ctx: MutationCtx, userId: string): Promise<number> {
  const now = Date.now();
  const row = await findAccount(ctx, userId);
  if (!isFrozen(row, now)) throw new AppError("conflict", "Your account is not frozen");
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

/** Tells what has happened to an account on every channel that it has. */
export async function announce(
  ctx: MutationCtx,
  userId: string,
  [title, ...body]: AccountNotice,
): Promise<void> {
  log.info("account.changed", { account: (await findAccount(ctx, userId))?._id, title });
  const paragraphs = [[{ bold: title }], ...body.map((one) => (typeof one === "string" ? [one] : one))];
  await ctx.runMutation(internal.messenger.notices.notifyAccount, { userId, paragraphs });
}
