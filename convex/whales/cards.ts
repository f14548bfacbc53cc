import { dateTime } from "../lib/time";
import type { Paragraph, Span } from "../messenger/format";
import { ALERT_TYPES } from "./prompts";
import type { AlertType, Direction, Reported } from "./tables";

/** The messenger's card of whale alerts. */

const TITLES: Record<AlertType, string> = {
  cex_inflow: "📥 Exchange inflow",
  cex_outflow: "📤 Exchange outflow",
  large_transfer: "🔗 Large on-chain move",
  smart_money: "🧠 Smart money",
};
const MARKS: Record<Direction, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };

/** Lines per block; what is beyond is counted. */
const MAX_LINES = 10;

/** @param alerts In any order; each block shows its largest first. */
export function alertCard(card: {
  hours: number;
  /** Epoch ms. */
  at: number;
  alerts: readonly (Reported & { verified: boolean })[];
}): Paragraph[] {
  const { hours, at, alerts } = card;
  const window = `Last ${hours === 1 ? "hour" : `${hours} hours`} · ${dateTime(at)}`;
  return [
    [{ bold: "🐋 Whale alerts" }, `\n${window}`],
    ...ALERT_TYPES.map((type) =>
      block(
        type,
        alerts.filter(({ alertType }) => alertType === type),
      ),
    ),
  ];
}

function block(type: AlertType, alerts: readonly (Reported & { verified: boolean })[]): Paragraph {
  if (alerts.length === 0) return [{ bold: TITLES[type] }, "\nNone seen"];
  const largest = alerts.toSorted((a, b) => b.amount - a.amount);
  const more = largest.length - MAX_LINES;
  return [
    { bold: TITLES[type] },
    ...largest.slice(0, MAX_LINES).flatMap(line),
    ...(more > 0 ? [`\n… and ${more} more`] : []),
  ];
}

function line({
  direction,
  token,
  amount,
  description,
  txHash,
  verified,
}: Reported & { verified: boolean }): Span[] {
  const transaction =
    txHash === undefined
      ? ""
      : ` · tx ${txHash.slice(0, 8)}…${txHash.slice(-4)}${verified ? " ✓ on chain" : ""}`;
  return [
    `\n${MARKS[direction]} `,
    { bold: `${token} ${shortUsd(amount)}` },
    ` · ${description}${transaction}`,
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
