import type { Doc } from "../../_generated/dataModel";
import { formatUnits } from "../../lib/money/amounts";
import { usd } from "../../lib/text/numbers";
import { dateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import type { Found, Request } from "../tables";
import { TOKENS, type Symbol } from "../tokens";
import type { Recipient } from "./limits";

type Order = Doc<"orders">;

/** Cards about orders, made from decoded terms: they contain no word of the caller's. */

type Facts = {
  found: Found;
  expiresAt: number;
  /** `null` for a swap. */
  recipient: Recipient | null;
  /** What its address is made to look like, in words. */
  lookAlike: string | null;
  /** What is left in 24 hours for an order like this, decimal USD. */
  leftUsd: string;
  payer: Pick<Doc<"wallets">, "kind" | "address">;
  /** Who has asked, in words; `null`: the owner, in their chat. */
  asker: string | null;
};

export function questionCard(row: Order, facts: Facts): Paragraph[] {
  const { found, expiresAt, recipient, lookAlike, leftUsd, payer, asker } = facts;
  const { request } = row;
  const ends = [
    `From your ${payer.kind} wallet ${payer.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(recipient === null ? [] : [recipientWords(recipient, lookAlike)]),
  ];
  const { valueUsd, costBps, mostFeeEth } = found;
  const lines = [
    valueUsd === null
      ? "⚠️ There is no live price for it: no limit counts what it moves"
      : `Worth ${valueUsd.toFixed(2)} USD`,
    ...(costBps === null
      ? []
      : [`By the price feeds it costs at most ${(Math.max(0, costBps) / 100).toFixed(2)} %`]),
    ...(mostFeeEth === null ? [] : [`Network fees: at most ${feeWords(mostFeeEth, row.etherPrice)}`]),
    `Left for today: ${usd(Number(leftUsd))} USD`,
  ];
  const [title, asked] =
    asker === null
      ? ["🔐 Your order", ""]
      : ["🔐 Your approval is asked for", `${asker} has asked for this. `];
  return [
    [{ bold: title }, `\n${requestWords(request, row.minBuyAmount)}`],
    [ends.join("\n")],
    [lines.join("\n")],
    [`${asked}Nothing moves without your tap, until ${dateTime(expiresAt)}.`],
  ];
}

export function questionButtons(id: string): Button[][] {
  return [
    [
      { text: "✅ Approve", command: `approve ${id}` },
      { text: "✖ Refuse", command: `refuse ${id}` },
    ],
    [{ text: "🧊 Freeze", command: "freeze" }],
  ];
}

function amountOf(amount: string, token: Symbol): string {
  return `${formatUnits(BigInt(amount), TOKENS[token].decimals)} ${token}`;
}

/** An order in one line, without its recipient. */
function requestWords(request: Request, least?: string): string {
  if (request.kind === "send") return `Send ${amountOf(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound = least === undefined ? "" : `, for at least ${amountOf(least, toToken)}`;
  return `Swap ${amountOf(amount, fromToken)} to ${toToken}${bound}`;
}

function feeWords(eth: string, etherPrice: string): string {
  if (etherPrice === "0") return `${eth} ETH`;
  return `${(Number(eth) * Number(formatUnits(BigInt(etherPrice), 6))).toFixed(2)} USD (${eth} ETH)`;
}

/** What an owner's card says about a recipient: nothing that others could have influenced. */
function recipientWords(recipient: Recipient, lookAlike: string | null): string {
  if (recipient.kind === "own") return `Your own ${recipient.wallet} wallet`;
  if (recipient.kind === "listed") return `On your list since ${dateTime(recipient.since)}`;
  if (lookAlike !== null) return `⚠️ New, and made to look like ${lookAlike}`;
  return recipient.countsFrom === null
    ? "⚠️ New: it is not on your list"
    : `⚠️ New: on your list it counts from ${dateTime(recipient.countsFrom)}`;
}

/** Which of the addresses that an owner knows another is made to look like, in words; `null` if none. */
export function lookAlikeIn(
  known: readonly { address: string; what: string }[],
  other: string,
): string | null {
  const alike = known.find(({ address }) => address !== other && ends(address) === ends(other));
  return alike === undefined ? null : `${alike.address}, ${alike.what}`;
}

/** The characters of an address that people compare. */
function ends(address: string): string {
  const digits = address.slice(2).toLowerCase();
  return digits.slice(0, 4) + digits.slice(-4);
}

const ENDED = {
  refused: "✖ Refused",
  expired: "⌛ Too late: nothing was moved",
  void: "🚫 Void, as your rules or your link have changed since: nothing was moved",
};

/** The card that replaces the question. */
export function decidedCard({ request, minBuyAmount, error, ...row }: Order): Paragraph[] {
  const what = requestWords(request, minBuyAmount);
  const how = row.question?.end;
  if (how !== undefined) return [[{ bold: ENDED[how] }], [what]];
  // The limits of this moment did not let it begin.
  if (row.state === "failed" && row.txHash === undefined)
    return [[{ bold: "⚠️ Approved, and not begun" }], [what], ...(error === undefined ? [] : [[error]])];
  return [[{ bold: "✅ Approved" }], [what]];
}

/** Failures that only operators and programs understand; all are of orders that have moved nothing. */
const TECHNICAL = /\bRPC\b|\boperator\b|Internal error|sealed secret/;
const NOT_NOW = "It could not be carried out just now: nothing was moved";

/**
 * What an order has come to.
 * @param fault What is wrong with it; `null` if nothing is.
 * @param key The name of the key that ordered it.
 */
export function endCard(row: Order, fault: string | null, key: string | undefined): Paragraph[] {
  const { request, bought, txHash, address, question } = row;
  const arrived =
    request.kind === "swap" && bought !== undefined ? [`Arrived: ${amountOf(bought, request.toToken)}`] : [];
  const lines = [
    requestWords(request),
    `From ${address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(fault === null ? arrived : [TECHNICAL.test(fault) ? NOT_NOW : fault]),
    ...(question === undefined
      ? [`Ordered ${wayOf(row, key)}. If that was not you, freeze your account.`]
      : []),
  ];
  const short = `Transaction ${txHash?.slice(0, 8)}…${txHash?.slice(-4)}`;
  const link = { words: short, href: `https://basescan.org/tx/${txHash}` };
  return [
    [{ bold: fault === null ? "✅ Done" : "⚠️ Not done" }, ...lines.map((line) => `\n${line}`)],
    ...(txHash === undefined ? [] : [[link]]),
  ];
}

/** How an order came that nobody was asked about, in words for its owner. */
function wayOf({ by, keyId }: Order, key: string | undefined): string {
  if (by === "post") return "by a post of yours";
  return keyId === undefined ? "with your token" : `with your key ${key ?? "that is gone"}`;
}
