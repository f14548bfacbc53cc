import { dateTime } from "../lib/time";
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
const MARKS: Record<Direction, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };

/** The largest are shown, of all kinds together; what is beyond is counted. */
const SHOWN = 30;

/** @param alerts In any order; each block shows its largest first. */
export function alertCard(card: {
  hours: number;
  /** Epoch ms. */
  at: number;
  alerts: readonly Shown[];
  /** Which of them, from 1: where they come on pages. */
  page?: { number: number; size: number };
}): Paragraph[] {
  const { hours, at, alerts } = card;
  const { number, size } = card.page ?? { number: 1, size: SHOWN };
  const window = `Last ${hours === 1 ? "hour" : `${hours} hours`} · ${dateTime(at)}`;
  const largest = alerts.toSorted((a, b) => b.amount - a.amount).slice((number - 1) * size, number * size);
  const more = Math.max(0, alerts.length - number * size);
  const types = ALERT_TYPES.filter(
    (type) => number === 1 || largest.some(({ alertType }) => alertType === type),
  );
  return [
    [{ bold: "🐋 Whale alerts" }, `\n${window}`],
    ...types.map((type) =>
      block(
        type,
        largest.filter(({ alertType }) => alertType === type),
        alerts.some(({ alertType }) => alertType === type),
      ),
    ),
    ...(more > 0 ? [[`… and ${more} smaller ${more === 1 ? "one" : "ones"}`]] : []),
  ];
}

type Shown = Pick<
  PublicAlert,
  "token" | "alertType" | "amount" | "direction" | "description" | "txHash" | "verified" | "source"
>;

function block(type: AlertType, largest: readonly Shown[], isAny: boolean): Paragraph {
  if (largest.length === 0) return [{ bold: TITLES[type] }, isAny ? "\nOnly smaller ones" : "\nNone seen"];
  return [{ bold: TITLES[type] }, ...largest.flatMap(line)];
}

function line({ direction, token, amount, description, txHash, verified, source }: Shown): Span[] {
  const transaction = txHash === undefined ? "" : ` · tx ${txHash.slice(0, 8)}…${txHash.slice(-4)}`;
  const proof = source === "measured" ? " ✓ measured" : verified ? " ✓ on chain" : "";
  const teller = source === "measured" ? "" : " · agent-reported";
  return [
    `\n${MARKS[direction]} `,
    { bold: `${token} ${shortUsd(amount)}` },
    ` · ${description}${transaction}${proof}${teller}`,
  ];
}

const UNITS = [
  { from: 1e9, letter: "B" },
  { from: 1e6, letter: "M" },
  { from: 1e3, letter: "K" },
];

/** `$4.2M`, `$310K`, `$25`. */
function shortUsd(amount: number): string {
  // A figure that rounds up to a thousand of its unit belongs to the next one.
  const unit = UNITS.find(({ from }) => amount >= from * 0.9995);
  if (unit === undefined) return `$${Math.round(amount)}`;
  const figure = Number((amount / unit.from).toPrecision(3));
  return `$${figure}${unit.letter}`;
}
