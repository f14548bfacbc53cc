import type { Doc } from "../_generated/dataModel";
import { formatUnits } from "../lib/money/amounts";
import type { Paragraph } from "../messenger/format";
import { EXPLORER, getOutgoing } from "../wallets/model";
import { WALLET_TOKENS } from "../wallets/tokens";
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
    [{ bold: TITLES[end.status] }, `\nPost ${tweetId} by ${author}`],
    ...(trade === null ? [] : buildTradeLines(trade)),
    ...(end.reason === undefined ? [] : [[end.reason]]),
    ...(trade?.txHash === undefined ? [] : [[{ words: "Transaction", href: EXPLORER + trade.txHash }]]),
  ];
}

function buildTradeLines({ action = "unknown", request }: Doc<"orders">): Paragraph[] {
  if (request.kind !== "send" && request.kind !== "swap") return [];
  const { token, amount } = getOutgoing(request);
  const given = `${formatUnits(BigInt(amount), WALLET_TOKENS[token].decimals)} ${token}`;
  const to = request.kind === "send" ? request.toAddress : request.toToken;
  return [[{ bold: action }, ` · ${given} → ${to}`]];
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
