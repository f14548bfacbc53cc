import type { Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { cancel } from "../lib/work/jobs";
import { enqueueCard } from "../messenger/model";
import { mentionCard } from "./cards";
import type { MentionStatus } from "./tables";

/** `words`: the reason in words for its author, if they differ. */
export type Ending = { status: Exclude<MentionStatus, "pending">; reason?: string; words?: string };

/** Ends a pending mention and notifies its author's user, if there is one. A second ending changes nothing. */
export async function endMention(
  ctx: MutationCtx,
  mentionId: Id<"mentions">,
  { status, reason, words = reason }: Ending,
  now: number,
): Promise<void> {
  const row = await ctx.db.get("mentions", mentionId);
  if (row === null || row.status !== "pending") return;
  await ctx.db.patch("mentions", mentionId, {
    status,
    ...(reason === undefined ? {} : { reason }),
    endedAt: now,
  });
  await cancel(ctx, mentionId);
  if (row.userId === undefined) return;
  const trade = row.tradeId === undefined ? null : await ctx.db.get("trades", row.tradeId);
  await enqueueCard(ctx, {
    userId: row.userId,
    kind: "mention",
    paragraphs: mentionCard(row, { status, reason: words }, trade),
  });
}
