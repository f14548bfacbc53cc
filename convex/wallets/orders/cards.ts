import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { formatUnits } from "../../lib/money/amounts";
import { dateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import type { TransactionRequest } from "../transactions/tables";
import { TOKENS, type Symbol } from "../tokens";
import type { Recipient } from "./recipients";
import type { Standing } from "./approvals";
import type { Wish } from "./tables";

/** Cards with questions to owners, made from decoded terms: they contain no word of the caller's. */

/** The findings of a rehearsal, for the card. */
export const vFound = v.object({
  valueUsd: v.union(v.number(), v.null()),
  /** Of all its transactions, in ETH. */
  mostFeeEth: v.union(v.string(), v.null()),
  /** For a swap: how much less than the sold amount its minimum is worth by the feeds. */
  costBps: v.union(v.number(), v.null()),
});
export type Found = Infer<typeof vFound>;

type Facts = {
  found: Found | null;
  recipient: Recipient | null;
  /** In the last 24 hours, decimal USD. */
  movedUsd: string | null;
  payer: Pick<Doc<"wallets">, "kind" | "address"> | null;
  /** Who has asked, in words; `null`: the owner, in their chat. */
  asker: string | null;
};

function amountOf(amount: string, token: Symbol): string {
  return `${formatUnits(BigInt(amount), TOKENS[token].decimals)} ${token}`;
}

/** An order in one line, without its recipient. @param least The least that a swap may bring, digits. */
export function requestWords(request: TransactionRequest, least: string | undefined): string {
  if (request.kind === "send") return `Send ${amountOf(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound = least === undefined ? "" : `, for at least ${amountOf(least, toToken)}`;
  return `Swap ${amountOf(amount, fromToken)} to ${toToken}${bound}`;
}

function wishWords(wish: Wish): string {
  if (wish.kind === "order") return requestWords(wish.request, wish.minBuyAmount);
  const chat = wish.chatId === null ? "no chat of its own" : `the chat ${wish.chatId ?? "that is set"}`;
  const bot =
    wish.botTag === undefined
      ? wish.sealedBotToken === null
        ? "the service's bot"
        : "the bot that is set"
      : `the bot with the id ${wish.botId ?? "unknown"}`;
  return `Your cards: to ${chat}, by ${bot}`;
}

export function questionCard(wish: Wish, facts: Facts, expiresAt: number): Paragraph[] {
  return [
    [{ bold: facts.asker === null ? "🔐 Your order" : "🔐 Your approval is asked for" }],
    [wishWords(wish)],
    ...(wish.kind === "order" ? orderLines(wish.request, facts) : []),
    [
      `${facts.asker === null ? "" : `${facts.asker} has asked for this. `}Nothing moves without your tap, until ${dateTime(expiresAt)}.`,
    ],
  ];
}

function orderLines(request: TransactionRequest, { found, recipient, movedUsd, payer }: Facts): Paragraph[] {
  const lines: string[] = [];
  if (payer !== null) lines.push(`From your ${payer.kind} wallet ${payer.address}`);
  if (request.kind === "send") lines.push(`To ${request.toAddress}`);
  if (recipient !== null) lines.push(recipientWords(recipient));
  if (found !== null) {
    const { valueUsd, costBps, mostFeeEth } = found;
    lines.push(valueUsd === null ? "There is no live price for it." : `Worth ${valueUsd.toFixed(2)} USD`);
    if (costBps !== null)
      lines.push(`By the price feeds it costs at most ${(Math.max(0, costBps) / 100).toFixed(2)} %`);
    if (mostFeeEth !== null) lines.push(`Network fees: at most ${mostFeeEth} ETH`);
  }
  if (movedUsd !== null) lines.push(`Moved in the last 24 hours: ${movedUsd} USD`);
  return lines.map((line) => [line]);
}

function recipientWords(recipient: Recipient): string {
  if (recipient.kind === "own") return `Your own ${recipient.wallet} wallet`;
  if (recipient.kind === "listed") return `On your list since ${dateTime(recipient.since)}`;
  const { looksLike, countsFrom } = recipient;
  if (looksLike !== null) return `⚠️ New, and made to look like ${looksLike.address}, ${looksLike.what}`;
  return countsFrom === null
    ? "⚠️ New: it is not on your list"
    : `⚠️ New: on your list it counts from ${dateTime(countsFrom)}`;
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

/** The card that replaces the question. */
export function decidedCard({ wish, error }: Doc<"approvals">, standing: Standing): Paragraph[] {
  if (standing === "awaiting_approval") return [];
  return [[{ bold: ENDED[standing] }], [wishWords(wish)], ...(error === undefined ? [] : [[error]])];
}
