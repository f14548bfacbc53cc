import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { formatUnits } from "../../lib/money/amounts";
import { dateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import type { TransactionRequest } from "../transactions/tables";
import { TOKENS, type Symbol } from "../tokens";
import type { Standing } from "./approvals";
import type { Wish } from "./tables";

/** What an owner is asked, from decoded terms: no word of it is the caller's. */

/** What a rehearsal has found, for the card. */
export const vFound = v.object({
  valueUsd: v.union(v.number(), v.null()),
  /** In ETH. */
  mostFeeEth: v.union(v.string(), v.null()),
  /** Of a swap: how much less than what is sold its quote is worth by the feeds. */
  costBps: v.union(v.number(), v.null()),
  buyAmount: v.optional(v.string()),
});
export type Found = Infer<typeof vFound>;

/** What is known of a recipient from the user's own sends. */
export type Recipient = { knownSince: number | null; looksLike: string | null };

type Facts = { found: Found | null; recipient: Recipient | null; movedUsd: string | null };

function amountOf(amount: string, token: Symbol): string {
  return `${formatUnits(BigInt(amount), TOKENS[token].decimals)} ${token}`;
}

/** What is wanted, in one line. */
function wishWords(wish: Wish): string {
  if (wish.kind === "order") return orderWords(wish.request, wish.minBuyAmount);
  const chat = wish.chatId === null ? "no chat of its own" : `the chat ${wish.chatId ?? "that is set"}`;
  const bot =
    wish.sealedBotToken === undefined
      ? "the bot that is set"
      : wish.sealedBotToken === null
        ? "the service's bot"
        : "another bot";
  return `Your cards: to ${chat}, by ${bot}`;
}

function orderWords(request: TransactionRequest, least: string | undefined): string {
  if (request.kind === "send") return `Send ${amountOf(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound = least === undefined ? "" : `, for at least ${amountOf(least, toToken)}`;
  return `Swap ${amountOf(amount, fromToken)} to ${toToken}${bound}`;
}

/** The question. @param from The address of the wallet that would pay. */
export function questionCard(wish: Wish, facts: Facts, expiresAt: number): Paragraph[] {
  return [
    [{ bold: "🔐 Your approval is asked for" }],
    [wishWords(wish)],
    ...(wish.kind === "order" ? orderLines(wish.request, facts) : []),
    [
      `Somebody who knows your userId has asked for this. Nothing moves without your tap, until ${dateTime(expiresAt)}.`,
    ],
  ];
}

function orderLines(request: TransactionRequest, { found, recipient, movedUsd }: Facts): Paragraph[] {
  const lines: string[] = [];
  if (request.kind === "send") lines.push(`To ${request.toAddress}`, recipientWords(recipient));
  if (found !== null) {
    const { valueUsd, costBps, mostFeeEth } = found;
    lines.push(valueUsd === null ? "There is no live price for it." : `Worth ${valueUsd.toFixed(2)} USD`);
    if (costBps !== null) lines.push(`By the price feeds it costs ${(costBps / 100).toFixed(2)} %`);
    if (mostFeeEth !== null) lines.push(`Network fees: at most ${mostFeeEth} ETH`);
  }
  if (movedUsd !== null) lines.push(`Moved in the last 24 hours: ${movedUsd} USD`);
  return lines.map((line) => [line]);
}

function recipientWords(recipient: Recipient | null): string {
  if (recipient?.looksLike !== null && recipient?.looksLike !== undefined)
    return `⚠️ New, and made to look like ${recipient.looksLike}, which you have sent to before`;
  if (recipient?.knownSince === null || recipient === null) return "⚠️ New: you have never sent to it";
  return `Known: you have sent to it since ${dateTime(recipient.knownSince)}`;
}

export function questionButtons(id: string): Button[][] {
  return [
    [
      { text: "✅ Approve", command: `approve ${id}` },
      { text: "✖ Refuse", command: `refuse ${id}` },
    ],
    [
      { text: "🧊 Freeze", command: "freeze" },
      { text: "Block 24 h", command: "block" },
    ],
  ];
}

const ENDED: Record<Exclude<Standing, "awaiting_approval">, string> = {
  approved: "✅ Approved",
  refused: "✖ Refused",
  failed: "⚠️ Approved, and not begun",
  expired: "⌛ Too late: nothing was moved",
  void: "🚫 Void, as your rules or your link have changed since: nothing was moved",
  undelivered: "🚫 Void: nothing was moved",
};

/** In the place of the question. */
export function decidedCard({ wish, error }: Doc<"approvals">, standing: Standing): Paragraph[] {
  if (standing === "awaiting_approval") return [];
  return [[{ bold: ENDED[standing] }], [wishWords(wish)], ...(error === undefined ? [] : [[error]])];
}
