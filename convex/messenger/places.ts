import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { isGuessable } from "../lib/records/ids";
import { ownerOf } from "../users/model";
import { configOf, enqueueCard } from "./model";
import type { Paragraph } from "./format";

/**
 * Former chats of a userId. Somebody who guesses a userId could set another chat for it, and then claim it unnoticed:
 * so the chats of the last 30 days are notified of both. Plain functions.
 */

/** The most that are remembered. */
const MOST_PLACES = 10;

type Config = Doc<"messengerConfigs">;

/** The former settings of a userId. All of them have a chat. */
export async function formerPlaces(ctx: QueryCtx, userId: string): Promise<Config[]> {
  return ctx.db
    .query("messengerConfigs")
    .withIndex("by_userId_and_replacedAt", (q) => q.eq("userId", userId).gt("replacedAt", 0))
    .take(MOST_PLACES);
}

/** Before the settings of a userId without an owner change: remembers its chat, and notifies it. */
export async function leavePlace(
  ctx: MutationCtx,
  userId: string,
  next: Partial<Record<"chatId" | "sealedBotToken", string | null>>,
): Promise<void> {
  if (!isGuessable(userId) || (await ownerOf(ctx, userId)) !== null) return;
  const row = await configOf(ctx, userId);
  if (row?.chatId === undefined) return;
  const stays = next.chatId === undefined || next.chatId === row.chatId;
  if (stays && next.sealedBotToken === undefined) return;
  const place = await remember(ctx, row);
  const { chatId } = row;
  await enqueueCard(ctx, { userId, chatId, place, kind: "change of chat", paragraphs: LEFT });
}

const LEFT: Paragraph[] = [
  [{ bold: "🔀 Your account has new messenger settings" }],
  [
    "Somebody who knows the account id that this chat was set for has changed its chat or its bot. Its cards may come here no more.",
  ],
  [
    "If that was not you: set this chat again, and move what its wallets hold to an account id that nobody can guess. For 30 days this chat hears when somebody claims it.",
  ],
];

/** @returns The row of the settings that end now. */
async function remember(ctx: MutationCtx, row: Config): Promise<Id<"messengerConfigs">> {
  const { _id, _creationTime, ...settings } = row;
  const now = Date.now();
  const known = await formerPlaces(ctx, row.userId);
  const same = known.find(
    ({ chatId, sealedBotToken }) => chatId === row.chatId && sealedBotToken === row.sealedBotToken,
  );
  if (same !== undefined) {
    await ctx.db.patch("messengerConfigs", same._id, { replacedAt: now, updatedAt: now });
    return same._id;
  }
  const displaced = known.length < MOST_PLACES ? undefined : leastOf(known);
  if (displaced !== undefined) await ctx.db.delete("messengerConfigs", displaced._id);
  return ctx.db.insert("messengerConfigs", { ...settings, replacedAt: now, updatedAt: now });
}

/**
 * The one to forget: among those of the setter with the most, the one that was set for the shortest time, so that
 * setting one chat after the other displaces only one's own. Of two that were set for equally long, the later one.
 */
function leastOf(places: readonly Config[]): Config | undefined {
  const setterOf = ({ setBy }: Config) => setBy?.join(" ") ?? "";
  const heldOf = ({ setAt, replacedAt, _creationTime }: Config) =>
    (replacedAt ?? 0) - (setAt ?? _creationTime);
  const countOf = (place: Config) => places.filter((one) => setterOf(one) === setterOf(place)).length;
  const most = Math.max(...places.map(countOf));
  return places
    .filter((one) => countOf(one) === most)
    .toSorted((a, b) => heldOf(a) - heldOf(b) || b._creationTime - a._creationTime)[0];
}

/** Before a claim ends the settings of a userId: a chat with a bot of its own hears of the claim by that bot. */
export async function keepPlace(ctx: MutationCtx, userId: string): Promise<void> {
  const row = await configOf(ctx, userId);
  if (row?.chatId !== undefined && row.sealedBotToken !== undefined) await remember(ctx, row);
}
