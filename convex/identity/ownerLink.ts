import { getOptional } from "../lib/env";
import { internalMutation } from "../_generated/server";
import { v } from "convex/values";
import { formatDateTime } from "../lib/time";
import { saveAccount, createRandomHex, findAccount, type Account } from "./model";

/** The link by which a free id gets its owner. */

/** Why nobody can claim an account now: its owner, a claim that waits, or the week after one was ended; `null`: somebody can. */
export function explainTaken(row: Account | null): string | null {
  if (row?.login !== undefined) return "This userId has an owner already";
  const { login, dueAt = 0 } = row?.claim ?? {};
  if (login !== undefined) return `Another claim of this userId waits until ${formatDateTime(dueAt)}`;
  if (dueAt <= Date.now()) return null;
  return `A claim of this userId was ended: it can be claimed again from ${formatDateTime(dueAt)}`;
}

/**
 * The link by which somebody owns a free `userId` in the service's bot; it works once. `null` if the id has an owner, or
 * nobody can claim it now, or the operator has not named the bot (`MESSENGER_BOT_NAME`).
 */
export const createOwnerLink = internalMutation({
  args: { userId: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { userId }) => {
    const bot = getOptional("MESSENGER_BOT_NAME");
    const row = await findAccount(ctx, userId);
    if (bot === undefined || explainTaken(row) !== null) return null;
    const ownerCode = row?.ownerCode ?? createRandomHex(12);
    if (row?.ownerCode === undefined) await saveAccount(ctx, userId, { ownerCode });
    return `https://t.me/${bot}?start=own_${ownerCode}`;
  },
});
