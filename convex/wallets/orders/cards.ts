import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { formatUnits } from "../../lib/money/amounts";
import { usd } from "../../lib/text/numbers";
import { dateTime } from "../../lib/time";
import type { Button, Paragraph } from "../../messenger/format";
import { allListed, listedOf } from "../../accounts/recipients";
import { walletOf } from "../model";
import type { Found, Request } from "../tables";
import { TOKENS, type Symbol } from "../tokens";

type Order = Doc<"orders">;

/** Cards about orders, made from decoded terms: they contain no word of the caller's. */

export const STANDINGS = ["awaiting_approval", "approved", "refused", "failed", "expired", "void"] as const;
export type Standing = (typeof STANDINGS)[number];

type Facts = {
  found: Found;
  recipient: Recipient | null;
  /** What is left in 24 hours for an order like this, decimal USD. */
  leftUsd: string;
  payer: Pick<Doc<"wallets">, "kind" | "address">;
  /** Who has asked, in words; `null`: the owner, in their chat. */
  asker: string | null;
  expiresAt: number;
};

/** How an order came, in words for its owner. */
export function wayOf({ by, keyId }: Order, name: string | undefined): string {
  if (by === "post") return "by a post of yours";
  if (keyId !== undefined) return `with your key ${name ?? "that is gone"}`;
  return by === "id" ? "by your account id alone" : "with your token";
}

function amountOf(amount: string, token: Symbol): string {
  return `${formatUnits(BigInt(amount), TOKENS[token].decimals)} ${token}`;
}

/** An order in one line, without its recipient. */
export function requestWords(request: Request, least: string | undefined): string {
  if (request.kind === "send") return `Send ${amountOf(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound = least === undefined ? "" : `, for at least ${amountOf(least, toToken)}`;
  return `Swap ${amountOf(amount, fromToken)} to ${toToken}${bound}`;
}

export function questionCard(row: Order, facts: Facts): Paragraph[] {
  const { found, recipient, leftUsd, payer, asker, expiresAt } = facts;
  const { request } = row;
  const { valueUsd, costBps, mostFeeEth } = found;
  const ends = [
    `From your ${payer.kind} wallet ${payer.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    ...(recipient === null ? [] : [recipientWords(recipient)]),
  ];
  const lines = [
    valueUsd === null ? "There is no live price for it." : `Worth ${valueUsd.toFixed(2)} USD`,
    ...(costBps === null
      ? []
      : [`By the price feeds it costs at most ${(Math.max(0, costBps) / 100).toFixed(2)} %`]),
    ...(mostFeeEth === null ? [] : [`Network fees: at most ${feeWords(mostFeeEth, row.etherPrice)}`]),
    `Left for today: ${usd(Number(leftUsd))} USD`,
  ];
  return [
    [
      { bold: asker === null ? "🔐 Your order" : "🔐 Your approval is asked for" },
      `\n${requestWords(request, row.minBuyAmount)}`,
    ],
    [ends.join("\n")],
    [lines.join("\n")],
    [
      `${asker === null ? "" : `${asker} has asked for this. `}Nothing moves without your tap, until ${dateTime(expiresAt)}.`,
    ],
  ];
}

function feeWords(eth: string, etherPrice: string): string {
  if (etherPrice === "0") return `${eth} ETH`;
  return `${(Number(eth) * Number(formatUnits(BigInt(etherPrice), 6))).toFixed(2)} USD (${eth} ETH)`;
}

/** What an owner's card says about a recipient: nothing that others could have influenced. */
export type Recipient =
  | { kind: "own"; wallet: "basic" | "custody" }
  /** Epoch ms. */
  | { kind: "listed"; since: number }
  /** `countsFrom`: for one that is on the list and does not count yet. */
  | { kind: "new"; countsFrom: number | null; looksLike: { address: string; what: string } | null };

/** @param asked Other questions that are open. @returns `null` for orders that send nothing. */
export async function recipientOf(
  ctx: QueryCtx,
  { userId, request }: Order,
  asked: readonly Order[],
  now: number,
): Promise<Recipient | null> {
  if (request.kind !== "send") return null;
  const to = request.toAddress;
  const own = await Promise.all(
    (["basic", "custody"] as const).map(async (kind) => {
      const wallet = await walletOf(ctx, userId, kind);
      return wallet === null ? [] : [{ kind, address: wallet.address }];
    }),
  );
  const wallets = own.flat();
  const mine = wallets.find(({ address }) => address === to);
  if (mine !== undefined) return { kind: "own", wallet: mine.kind };
  const listed = await listedOf(ctx, userId, to);
  if (listed !== null && listed.countsFrom <= now) return { kind: "listed", since: listed.countsFrom };
  const known = [
    ...(await allListed(ctx, userId)).map(({ address }) => ({ address, what: "which is on your list" })),
    ...wallets.map(({ kind, address }) => ({ address, what: `your own ${kind} wallet` })),
    // A question about a look-alike must not cast doubt on an address that the owner knows.
    ...(listed === null ? asked : []).flatMap(({ request: other }) =>
      other.kind === "send" ? [{ address: other.toAddress, what: "about which you are asked already" }] : [],
    ),
  ];
  const alike = known.find(({ address }) => address !== to && ends(address) === ends(to));
  return { kind: "new", countsFrom: listed?.countsFrom ?? null, looksLike: alike ?? null };
}

/** The characters of an address that people compare. */
function ends(address: string): string {
  const digits = address.slice(2).toLowerCase();
  return digits.slice(0, 4) + digits.slice(-4);
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
    [{ text: "🧊 Freeze", command: "freeze" }],
  ];
}

const ENDED: Record<Exclude<Standing, "awaiting_approval">, string> = {
  approved: "✅ Approved",
  refused: "✖ Refused",
  failed: "⚠️ Approved, and not begun",
  expired: "⌛ Too late: nothing was moved",
  void: "🚫 Void, as your rules or your link have changed since: nothing was moved",
};

/** The card that replaces the question. */
export function decidedCard({ request, minBuyAmount, error }: Order, standing: Standing): Paragraph[] {
  if (standing === "awaiting_approval") return [];
  const reason = standing === "failed" && error !== undefined ? [[error]] : [];
  return [[{ bold: ENDED[standing] }], [requestWords(request, minBuyAmount)], ...reason];
}

/** Failures that only operators and programs understand; all are of orders that have moved nothing. */
const TECHNICAL = /\bRPC\b|\boperator\b|Internal error|sealed secret/;
const NOT_NOW = "It could not be carried out just now: nothing was moved";

/** What an order has come to. @param fault What is wrong with it; `null` if nothing is. */
export function endCard({ request, bought, txHash }: Order, fault: string | null): Paragraph[] {
  const arrived =
    request.kind === "send"
      ? [`To ${request.toAddress}`]
      : request.kind === "swap" && bought !== undefined
        ? [`Arrived: ${amountOf(bought, request.toToken)}`]
        : [];
  const lines = [
    requestWords(request, undefined),
    ...(fault === null ? arrived : [TECHNICAL.test(fault) ? NOT_NOW : fault]),
  ];
  const short = `Transaction ${txHash?.slice(0, 8)}…${txHash?.slice(-4)}`;
  const link = { words: short, href: `https://basescan.org/tx/${txHash}` };
  return [
    [{ bold: fault === null ? "✅ Done" : "⚠️ Not done" }, ...lines.map((line) => `\n${line}`)],
    ...(txHash === undefined ? [] : [[link]]),
  ];
}
