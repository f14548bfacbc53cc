import { roundUnits, toUsd } from "../../lib/money/amounts";
import { FROZEN } from "../../lib/refusals";
import { formatDollars } from "../../lib/text/numbers";
import { formatDateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import { formatTokenAmount, GAS_WAY, isUserRequest, getOutgoing, linkTo } from "../model";
import type { UserRequest } from "../tables";
import { WALLET_TOKENS, type Symbol } from "../tokens";
import type { LimitCheck, Recipient } from "./limits";
import type { Order, Estimate } from "./model";

/** Cards about orders, built from decoded terms: they contain no text of the caller's. */

type Card = { paragraphs: Paragraph[]; buttons?: Button[][] };

/** Why a question has ended without an order. */
export const REFUSED = "The owner has refused this";
export const EXPIRED = "The owner has not answered within 10 minutes: order it again";
export const VOID = "The owner's rules have changed since it was asked: order it again";
/** The same in the words of the card to the owner. */
const OWN_WORDS = new Map([
  [REFUSED, "You refused it"],
  [EXPIRED, "You didn't tap in time"],
  [VOID, "Your rules have changed since it was asked"],
  [FROZEN, "You froze your account"],
]);

/** How the cards of an account on paper begin. */
export const ON_PAPER = "📝 Paper · ";
const mark = ({ paper }: Pick<Order, "paper">) => (paper === true ? ON_PAPER : "");

/** Significant digits of an amount that is bought, and of a fee. */
const DIGITS = 4;

/** @param facts Known only when the question is asked; `recipient` is `null` for a swap, sums in micro-USD. */
export function buildQuestionCard(
  row: Order,
  facts: { estimate: Estimate; lookAlike: string | null } & Omit<LimitCheck, "refusal">,
): Required<Card> {
  const { estimate, recipient, lookAlike, countedAmount, narrowest } = facts;
  const { _id, request, value, by, etherPrice, nextCheckAt } = row;
  const dollars = (micro: bigint) => formatCents(toUsd(micro));
  const { most, left } = narrowest;
  const of = `${left === most ? "" : `the ${dollars(left)} left of `}your ${dollars(most)} a day`;
  const uses =
    value === undefined
      ? "⚠️ there is no live price for it: no limit counts what it moves"
      : `uses ${countedAmount === 0n ? "nothing" : dollars(countedAmount)} of ${of}`;
  const isGas = request.kind === "gas";
  const fee = isGas ? "fees included" : `fee ≈${describeFee(BigInt(estimate.usualFee), etherPrice)}`;
  const ceiling = isGas
    ? "Once approved it cannot be recalled for ten minutes, not even by a freeze."
    : `The network fees may reach ${describeFee(BigInt(estimate.feesInAll), etherPrice)}, no more.`;
  const asker = by === "chat" ? "You" : "Somebody who knows your account id";
  const approve = { text: "✅ Approve", command: `approve ${_id}` };
  const refuse = { text: "✖ Refuse", command: `refuse ${_id}` };
  const buttons: Button[][] = [[approve, refuse], [{ text: "🧊 Freeze", command: "pause" }]];
  if (request.kind === "send" && recipient?.kind === "unlisted" && recipient.countsFrom === null)
    buttons.push([buildAddButton(request.toAddress)]);
  return {
    paragraphs: [
      [
        { bold: `${mark(row)}🔐 Your approval is asked for` },
        `\n${describeTerms(row, estimate)} · ${fee} · ${uses}`,
      ],
      [
        [
          row.paper === true ? "From your book: nothing real moves" : `From your wallet ${row.address}`,
          ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
          ...(recipient === null ? [] : [describeRecipient(recipient, lookAlike)]),
          ceiling,
        ].join("\n"),
      ],
      [`${asker} asked for this. Nothing moves without your tap, until ${formatDateTime(nextCheckAt)}.`],
    ],
    buttons,
  };
}

/** A button that lists a recipient. */
export function buildAddButton(address: string): Button {
  return { text: `Add ${shorten(address)} (counts in 2 h)`, command: `recipients add ${address}` };
}

/** `25 USDC → ≈0.00749 ETH ($24.97), at least 0.00742`: what leaves is exact, what is bought is rounded. */
function describeTerms({ request, value }: Pick<Order, "request" | "value">, estimate: Estimate): string {
  if (!isUserRequest(request)) return request.kind;
  const moved = formatMoved(request);
  if (request.kind === "send") return `${moved}${formatWorth(value)} to ${shorten(request.toAddress)}`;
  if (request.kind === "gas") return describeOrder(request);
  const { buyAmount, minBuyAmount, boughtValue } = estimate;
  if (buyAmount === undefined || minBuyAmount === undefined) return `${moved} → ${request.toToken}`;
  const least = round(minBuyAmount, request.toToken);
  return `${moved} → ≈${round(buyAmount, request.toToken)} ${request.toToken}${formatWorth(boughtValue)}, at least ${least}`;
}

function formatMoved(request: UserRequest): string {
  const { amount, token } = getOutgoing(request);
  return formatTokenAmount(amount, token);
}

function shorten(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

function formatWorth(micro: string | undefined): string {
  return micro === undefined ? "" : ` (${formatCents(toUsd(BigInt(micro)))})`;
}

function round(amount: string, token: Symbol): string {
  return roundUnits(BigInt(amount), WALLET_TOKENS[token].decimals, DIGITS);
}

/** `$24.97`, `$0.02`, `under $0.01`: a sum on a card has cents. */
function formatCents(usd: number): string {
  return usd > 0 && usd < 0.005 ? "under $0.01" : formatDollars(Number(usd.toFixed(2)));
}

/** A network fee in USD; in ETH without a live price. @param etherPrice In micro-USD. */
function describeFee(wei: bigint, etherPrice: string): string {
  const worth = (wei * BigInt(etherPrice)) / 10n ** 18n;
  return etherPrice === "0"
    ? `${roundUnits(wei, 18, DIGITS)} ETH`
    : formatCents(toUsd(worth)).replace("under ", "<");
}

/** The card's line about a recipient: nothing in it can be influenced by outsiders. */
function describeRecipient(recipient: Recipient, lookAlike: string | null): string {
  if (recipient.kind === "own") return `Your own ${recipient.wallet} wallet`;
  if (recipient.kind === "listed") return `On your list since ${formatDateTime(recipient.since)}`;
  if (lookAlike !== null) return `⚠️ New, and made to look like ${lookAlike}`;
  return recipient.countsFrom === null
    ? "⚠️ New: it is not on your list"
    : `⚠️ New: on your list it counts from ${formatDateTime(recipient.countsFrom)}`;
}

/** An order in one line. @param bought What has arrived of a swap, in digits. */
export function describeOrder(request: Order["request"], bought?: string): string {
  if (!isUserRequest(request)) return request.kind;
  if (request.kind === "send") return `${formatMoved(request)} to ${request.toAddress}`;
  if (request.kind === "gas") return `${formatMoved(request)} → ${round(request.ether, "ETH")} ETH for fees`;
  const { toToken } = request;
  const arrived = bought === undefined ? toToken : formatTokenAmount(bought, toToken);
  return `${formatMoved(request)} → ${arrived}`;
}

/** The card that replaces an answered question. */
export function buildDecidedCard(row: Order): Card {
  const { _id, state, txHash, error = "", request } = row;
  const line = `\n${describeOrder(request)}`;
  if (state !== "failed" || txHash !== undefined)
    return { paragraphs: [[{ bold: `${mark(row)}✅ Approved` }, line]] };
  const own = [...OWN_WORDS].find(([reason]) => error.startsWith(reason))?.[1];
  const paragraphs = [
    [{ bold: `${mark(row)}✖ Nothing was moved` }, line],
    ...(error === "" ? [] : [[`${own ?? error.replace(GAS_WAY, "")}.`]]),
  ];
  const again = [[{ text: "Ask again", command: `again ${_id}` }]];
  return error === EXPIRED ? { paragraphs, buttons: again } : { paragraphs };
}

/** The card of an order's outcome. @param key The name of the ordering API key. */
export function buildEndCard(row: Order, key: string | undefined): Paragraph[] {
  const { request, bought, txHash, address, question, error, etherPrice, tries, paper, paperFee } = row;
  const paid = tries.reduce((sum, one) => sum + BigInt(one.paid ?? 0), BigInt(paperFee ?? 0));
  const lines = [
    describeOrder(request, bought),
    ...(paid === 0n
      ? []
      : [`Network fee paid: ${describeFee(paid, etherPrice)} (${roundUnits(paid, 18, DIGITS)} ETH)`]),
    paper === true ? "In your book: nothing real has moved." : `From ${address}`,
    ...(error === undefined ? [] : [error.replace(GAS_WAY, "")]),
    ...(question === undefined
      ? [`Ordered ${describeOrigin(row, key)}. If that was not you, freeze your account.`]
      : []),
  ];
  const { explorerUrl } = linkTo(txHash);
  const short = `Transaction ${txHash?.slice(0, 8)}…${txHash?.slice(-4)}`;
  return [
    [
      { bold: `${mark(row)}${error === undefined ? "✅ Done" : "⚠️ Not done"}` },
      ...lines.map((line) => `\n${line}`),
    ],
    ...(explorerUrl === undefined ? [] : [[{ words: short, href: explorerUrl }]]),
  ];
}

/** The origin of an order, in words for its owner. @param key The name of the ordering API key. */
export function describeOrigin({ by, keyId, state, standingId }: Order, key: string | undefined): string {
  if (standingId !== undefined) return "by a standing order of yours";
  if (by === "post") return "by a post of yours";
  if (by === "chat") return "in your chat";
  if (by === "tap") return `with your account id${state === "asked" ? "" : ", by your tap"}`;
  if (by === "free") return "with the account id, before it had an owner";
  return keyId === undefined ? "with your token" : `with your key ${key ?? "that is gone"}`;
}
