import { bigUsd } from "../lib/text/numbers";
import { dateTime, iso } from "../lib/time";
import type { Paragraph, Span } from "../messenger/format";
import { ALERT_TYPES } from "./kinds";
import type { PublicAlert } from "./shapes";
import type { AlertType, Direction } from "./tables";

/** The messenger's card of whale alerts. */

const TITLES: Record<AlertType, string> = {
  cex_inflow: "📥 Exchange inflow",
  cex_outflow: "📤 Exchange outflow",
  large_transfer: "🔗 Large on-chain move",
  smart_money: "🧠 Smart money",
};
const MOVED: Record<AlertType, string> = {
  cex_inflow: "went to exchanges",
  cex_outflow: "left exchanges",
  large_transfer: "moved",
  smart_money: "moved by smart money",
};
const MARKS: Record<Direction, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };

/** The largest are shown, of all kinds together; the rest is counted. */
const SHOWN = 30;

/** @param alerts In any order; each block shows its largest first, and empty kinds are left out. */
export function alertCard(card: {
  /** Their period, in words. */
  window: string;
  /** Epoch ms. */
  at: number;
  alerts: readonly CardAlert[];
  /** How many more there are than were given. */
  unlisted?: number;
  /** The page and its number, from 1, for paged answers. */
  page?: { number: number; size: number };
}): Paragraph[] {
  const { window, at, alerts, unlisted = 0 } = card;
  const { number, size } = card.page ?? { number: 1, size: SHOWN };
  const largest = alerts.toSorted((a, b) => b.amount - a.amount).slice((number - 1) * size, number * size);
  const more = unlisted + Math.max(0, alerts.length - number * size);
  const blocks = ALERT_TYPES.map((type): Paragraph => {
    const ofType = largest.filter(({ alertType }) => alertType === type);
    return ofType.length === 0 ? [] : [{ bold: TITLES[type] }, ...ofType.flatMap(line)];
  });
  return [
    [{ bold: "🐋 Whale alerts" }, `\n${window} · ${dateTime(at)}`],
    ...(alerts.length === 0 ? [["No large movement was seen."]] : blocks.filter(({ length }) => length > 0)),
    ...(more > 0 ? [[`… and ${more} smaller ${more === 1 ? "one" : "ones"}`]] : []),
  ];
}

/** The lines of the hourly card. */
export const LINES = 10;

/** What fits on the hourly card: the first of each kind, then the rest; measured ones first, the larger before others. */
export function digestOf<Alert extends CardAlert>(alerts: readonly Alert[]): Alert[] {
  const rank = ({ source }: Alert) => (source === "measured" ? 0 : 1);
  const sorted = alerts.toSorted((a, b) => rank(a) - rank(b) || b.amount - a.amount);
  const isFirst = (one: Alert) => sorted.find(({ alertType }) => alertType === one.alertType) === one;
  return [...sorted.filter(isFirst), ...sorted.filter((one) => !isFirst(one))].slice(0, LINES);
}

/** `Last 6 hours`, for those who asked. */
export function lastHours(hours: number): string {
  return `Last ${hours === 1 ? "hour" : `${hours} hours`}`;
}

/** For a card with news since the card before. @param since Epoch ms. */
export function newSince(since: number): string {
  return `New since ${iso(since).slice(11, 16)} UTC`;
}

type CardAlert = Pick<
  PublicAlert,
  "token" | "alertType" | "amount" | "direction" | "description" | "txHash" | "verified" | "source" | "chain"
>;

/** Where a chain's transactions can be looked at. */
const EXPLORERS: Readonly<Record<string, string>> = {
  base: "https://basescan.org/tx/",
  ethereum: "https://etherscan.io/tx/",
};

/** `ETH: $365M left exchanges`. */
export function newsOf({
  token,
  amount,
  alertType,
}: Pick<CardAlert, "token" | "amount" | "alertType">): string {
  return `${token}: ${bigUsd(amount)} ${MOVED[alertType]}`;
}

/** The additional information in a description; `null` for one that only repeats the sum. */
export function addedBy({ description }: Pick<CardAlert, "description">): string | null {
  return /\$ ?\d/.test(description) ? null : description;
}

function line(alert: CardAlert): Span[] {
  const { direction, txHash, verified, source } = alert;
  const added = addedBy(alert);
  const words = txHash === undefined ? "" : `tx ${txHash.slice(0, 8)}…${txHash.slice(-4)}`;
  const explorer = EXPLORERS[alert.chain ?? ""];
  const transaction: Span[] =
    txHash === undefined
      ? []
      : [" · ", explorer === undefined ? words : { words, href: `${explorer}${txHash}` }];
  const proof = source === "measured" ? " ✓ measured" : verified ? " ✓ on chain" : "";
  const teller = source === "measured" ? "" : " · agent-reported";
  return [
    `\n${MARKS[direction]} `,
    { bold: newsOf(alert) },
    added === null ? "" : ` · ${added}`,
    ...transaction,
    `${proof}${teller}`,
  ];
}
