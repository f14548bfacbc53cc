import type { Doc } from "../../_generated/dataModel";
import { formatUnits, usdValue } from "../../lib/money/amounts";
import { usd } from "../../lib/text/numbers";
import { dateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import { EXPLORER } from "../model";
import type { Found } from "../tables";
import { TOKENS, type Symbol } from "../tokens";
import type { Recipient } from "./limits";

type Order = Doc<"orders">;

/** Cards about orders, made from decoded terms: they contain no word of the caller's. Pure. */

/** @param facts What only the moment of the question knows; `recipient` is `null` for a swap, `left` in micro-USD. */
export function questionCard(
  row: Order,
  facts: { found: Found; recipient: Recipient | null; lookAlike: string | null; left: bigint; asker: string },
): Paragraph[] {
  const { found, recipient, lookAlike, left, asker } = facts;
  const { request, value, nextCheckAt } = row;
  const ends = [
    `From your wallet ${row.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(recipient === null ? [] : [recipientWords(recipient, lookAlike)]),
  ];
  const lines = [
    value === undefined
      ? "⚠️ There is no live price for it: no limit counts what it moves"
      : `Worth ${usd(usdValue(BigInt(value)))} USD`,
    ...(found.costBps === null
      ? []
      : [`By the price feeds it costs at most ${(Math.max(0, found.costBps) / 100).toFixed(2)} %`]),
    `Network fees: at most ${feeWords(BigInt(found.feesInAll), BigInt(row.etherPrice))}`,
    `Left for today: ${usd(usdValue(left))} USD`,
  ];
  return [
    [{ bold: "🔐 Your approval is asked for" }, `\n${requestWords(row)}`],
    [ends.join("\n")],
    [lines.join("\n")],
    [`${asker} asked for this. Nothing moves without your tap, until ${dateTime(nextCheckAt)}.`],
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
function requestWords({ request, minBuyAmount }: Pick<Order, "request" | "minBuyAmount">): string {
  if (request.kind === "send") return `Send ${amountOf(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound = minBuyAmount === undefined ? "" : `, for at least ${amountOf(minBuyAmount, toToken)}`;
  return `Swap ${amountOf(amount, fromToken)} to ${toToken}${bound}`;
}

/** @param etherPrice In micro-USD; 0 without a live price. */
function feeWords(wei: bigint, etherPrice: bigint): string {
  const eth = `${formatUnits(wei, 18)} ETH`;
  return etherPrice === 0n ? eth : `${usd(usdValue((wei * etherPrice) / 10n ** 18n))} USD (${eth})`;
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

/** The card that replaces the question. */
export function decidedCard(row: Order): Paragraph[] {
  const { state, txHash, error } = row;
  if (state !== "failed" || txHash !== undefined) return [[{ bold: "✅ Approved" }], [requestWords(row)]];
  const why = error === undefined ? [] : [[error]];
  return [[{ bold: "✖ Nothing was moved" }], [requestWords(row)], ...why];
}

/** What an order has come to. @param key The name of the key that ordered it. */
export function endCard(row: Order, key: string | undefined): Paragraph[] {
  const { request, bought, txHash, address, question, error } = row;
  const arrived =
    request.kind === "swap" && bought !== undefined ? [`Arrived: ${amountOf(bought, request.toToken)}`] : [];
  const lines = [
    requestWords({ request }),
    `From ${address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(error === undefined ? arrived : [error]),
    ...(question === undefined
      ? [`Ordered ${wayOf(row, key)}. If that was not you, freeze your account.`]
      : []),
  ];
  const short = `Transaction ${txHash?.slice(0, 8)}…${txHash?.slice(-4)}`;
  return [
    [{ bold: error === undefined ? "✅ Done" : "⚠️ Not done" }, ...lines.map((line) => `\n${line}`)],
    ...(txHash === undefined ? [] : [[{ words: short, href: EXPLORER + txHash }]]),
  ];
}

/** How an order came that nobody was asked about, in words for its owner. */
function wayOf({ by, keyId }: Order, key: string | undefined): string {
  if (by === "post") return "by a post of yours";
  return keyId === undefined ? "with your token" : `with your key ${key ?? "that is gone"}`;
}
