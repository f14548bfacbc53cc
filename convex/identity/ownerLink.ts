import { getOptional } from "../lib/env";
import { internalMutation } from "../_generated/server";
import { v } from "convex/values";
import { formatDateTime } from "../lib/time";
import { saveAccount, createRandomHex, findAccount, type Account } from "./model";

/** The link by which a free id gets its owner. */

/** Why an account cannot be claimed now: its owner, a pending claim, or the week after an ended one; `null` if it can. */
export function explainTaken(row: Account | null): string | null {
  if (row?.login !== undefined) return "This userId has an owner already: choose another one";
  const { login, dueAt = 0 } = row?.claim ?? {};
  if (login !== undefined) return `Another claim of this userId is pending until ${formatDateTime(dueAt)}`;
  if (dueAt <= Date.now()) return null;
  return `A claim of this userId was ended: it can be claimed again from ${formatDateTime(dueAt)}`;
}

/**
 * A single-use link that claims a free `userId` in the service's bot. `null` if the id cannot be claimed now, or the
 * operator has not named the bot (`MESSENGER_BOT_NAME`).
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
