import type { QueryCtx } from "../_generated/server";
import { formatBigUsd } from "../lib/text/numbers";
import { DAY, formatDateTime } from "../lib/time";
import type { Paragraph, Span } from "../messenger/format";
import { ALERT_TYPES, COINS, isCoin } from "./coins";
import { listLatestAlerts } from "./model";
import type { AlertType, MovementDirection, PublicAlert } from "./tables";

/** The messenger's card of whale alerts. */

/** A kind of alert in two words. */
export const KIND_NAMES: Record<AlertType, string> = {
  cex_inflow: "To exchanges",
  cex_outflow: "From exchanges",
  large_transfer: "Large transfers",
  smart_money: "Smart money",
};
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
const MARKS: Record<MovementDirection, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };

/** Shown unless the caller says otherwise, of all kinds together; the rest is counted. */
const SHOWN = 30;

/**
 * A block for each type with alerts; what does not fit is counted.
 * @param card.hours They are of so many hours until `at`, epoch ms.
 * @param card.alerts In any order: the measured ones come first, the larger before others.
 * @param card.most How many are shown.
 */
export function buildAlertCard(card: {
  hours: number;
  at: number;
  alerts: readonly CardAlert[];
  most?: number;
}): Paragraph[] {
  const { hours, at, alerts, most = SHOWN } = card;
  const window = `Last ${hours === 1 ? "hour" : `${hours} hours`}`;
  const rank = ({ source }: CardAlert) => (source === "measured" ? 0 : 1);
  const ranked = alerts.toSorted((a, b) => rank(a) - rank(b) || b.amount - a.amount);
  const listed = ranked.slice(0, most);
  const more = Math.max(0, alerts.length - most);
  const blocks = ALERT_TYPES.map((type): Paragraph => {
    const ofType = listed.filter(({ alertType }) => alertType === type);
    return ofType.length === 0 ? [] : [{ bold: TITLES[type] }, ...ofType.flatMap(formatLine)];
  });
  return [
    [{ bold: "🐋 Whale alerts" }, `\n${window} · ${formatDateTime(at)}`],
    ...(alerts.length === 0 ? [["No large movement was seen."]] : blocks.filter(({ length }) => length > 0)),
    ...(more > 0 ? [[`… and ${more} more`]] : []),
  ];
}

type CardAlert = Pick<
  PublicAlert,
  "token" | "alertType" | "amount" | "direction" | "description" | "txHash" | "verified" | "source" | "chain"
>;

/** Where a transaction can be looked at: by its chain, else by the form of its hash. */
export function getExplorerUrl(chain: string | undefined, txHash: string): string {
  if (chain === "base") return `https://basescan.org/tx/${txHash}`;
  if (chain === "ethereum") return `https://etherscan.io/tx/${txHash}`;
  // Blockscan knows the chains of the EVM.
  if (txHash.startsWith("0x")) return `https://blockscan.com/tx/${txHash}`;
  return txHash.length === 64 ? `https://mempool.space/tx/${txHash}` : `https://solscan.io/tx/${txHash}`;
}

/** `ETH: $365M left exchanges`. */
export function formatNews({
  token,
  amount,
  alertType,
}: Pick<CardAlert, "token" | "amount" | "alertType">): string {
  return `${token}: ${formatBigUsd(amount)} ${MOVED[alertType]}`;
}

/** The additional information in a description; `null` for one that only repeats the sum. */
export function getAddedDescription({ description }: Pick<CardAlert, "description">): string | null {
  return /\$ ?\d/.test(description) ? null : description;
}

function formatLine(alert: CardAlert): Span[] {
  const { direction, txHash, verified, source } = alert;
  const added = getAddedDescription(alert);
  const transaction: Span[] = [];
  if (txHash !== undefined)
    transaction.push(" · ", {
      words: `tx ${txHash.slice(0, 8)}…${txHash.slice(-4)}`,
      href: getExplorerUrl(alert.chain, txHash),
    });
  const mark = source === "measured" ? " ✓ measured" : verified ? " ✓ on chain" : "";
  const teller = source === "measured" ? "" : " · agent-reported";
  return [
    `\n${MARKS[direction]} `,
    { bold: formatNews(alert) },
    added === null ? "" : ` · ${added}`,
    ...transaction,
    `${mark}${teller}`,
  ];
}

/** The largest movements in a user's daily digest, and how many alerts are searched for them. */
const [IN_DIGEST, LOOK_AT] = [3, 200];

/** The part of a user's daily digest about measured movements. */
export async function buildWhalesDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const largest = (await listLatestAlerts(ctx, now - DAY, LOOK_AT))
    .filter(({ movement }) => movement !== undefined)
    .toSorted((a, b) => b.amount - a.amount)
    .slice(0, IN_DIGEST);
  const lines = largest.map(
    ({ token, ...alert }) =>
      `\n${formatNews({ ...alert, token: isCoin(token) ? COINS[token].name : token })}`,
  );
  return [
    { bold: "Largest movements on Base in 24 hours" },
    ...(lines.length === 0 ? ["\nNone was measured."] : lines),
  ];
}
