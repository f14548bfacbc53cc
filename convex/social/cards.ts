import type { Doc } from "../_generated/dataModel";
import type { Paragraph } from "../messenger/format";
import { EXPLORER, isUserRequest } from "../wallets/model";
import { describeOrder, ON_PAPER } from "../wallets/orders/cards";
import type { MentionStatus } from "./tables";

/** The messenger's cards about mentions. */

const TITLES: Record<Exclude<MentionStatus, "pending">, string> = {
  processed: "✅ Your mention was executed",
  failed: "⚠️ Your mention could not be executed",
  ignored: "ℹ️ Your mention was not executed",
};

export function buildMentionCard(
  { authorHandle, authorId, tweetId }: Doc<"mentions">,
  end: { status: Exclude<MentionStatus, "pending">; reason: string | undefined },
  trade: Doc<"orders"> | null,
): Paragraph[] {
  const author = authorHandle === undefined ? `account ${authorId}` : `@${authorHandle}`;
  return [
    [
      { bold: `${trade?.paper === true ? ON_PAPER : ""}${TITLES[end.status]}` },
      `\nPost ${tweetId} by ${author}`,
    ],
    ...(trade === null ? [] : buildTradeLines(trade)),
    ...(end.reason === undefined ? [] : [[end.reason]]),
    ...(trade?.txHash === undefined || trade.paper === true
      ? []
      : [[{ words: "Transaction", href: EXPLORER + trade.txHash }]]),
  ];
}

function buildTradeLines({ action = "unknown", request }: Doc<"orders">): Paragraph[] {
  return isUserRequest(request) ? [[{ bold: action }, ` · ${describeOrder(request)}`]] : [];
}

export function buildAuthorLinkedCard(handle: string): Paragraph[] {
  return [
    [{ bold: `🔗 @${handle} is linked` }],
    ["Its mentions move nothing until you switch social trading on in the web application."],
  ];
}

/** For the account's former user. */
export function buildMovedCard(handle: string): Paragraph[] {
  return [
    [{ bold: `⚠️ @${handle} is no longer linked to you` }],
    [
      "Somebody else has proved that the account is theirs, so its mentions move nothing of yours any more. If it is yours, secure it and prove it again.",
    ],
  ];
}
