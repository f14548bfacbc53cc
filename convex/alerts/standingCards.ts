import { formatDate, formatDateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { EXPLORER } from "../wallets/model";
import type { Order } from "../wallets/orders/model";
import { describeOrder, ON_PAPER } from "../wallets/orders/cards";
import type { Standing } from "./tables";
import { describeStanding, describeTotal, isLimit } from "./standingTerms";

/** The cards of standing orders. Their words are made from decoded terms, and only a tap sets one. */

export type StandingCard = { answer: Paragraph[]; buttons: Button[][] };

const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
const buildButton = (what: string, text: string, { _id }: Pick<Standing, "_id">): Button => ({
  text,
  command: `alert ${what} ${_id}`,
});
export const buildStopButton = (row: Standing, text = "Stop") => buildButton("stop", text, row);
export const buildStandButton = (row: Standing, text = "Set") => buildButton("stand", text, row);
/** Proposes one that has ended again. */
export const buildRepeatButton = (row: Standing, text = "Set again") => buildButton("again", text, row);
/** Passes over its next time, and over no other if it is tapped again. */
export const buildSkipButton = (row: Standing, text = "Skip next"): Button => ({
  text,
  command: `alert skip ${row._id} ${row.readyAt.toString(36)}`,
});

/** How the cards of an account on paper begin. */
const mark = ({ order }: Standing): string => (order.paper === true ? ON_PAPER : "");

/** The total, the end and the bound. @param end Epoch ms. */
function listTerms(row: Standing, now: number, end: number): string {
  const { condition, order } = row;
  const bound =
    condition.kind === "price"
      ? isLimit(condition, order.swap)
        ? `\nIt fills at that level or better, less ${order.swap.slippageBps / 100} % slippage, or not at all.`
        : "\nOnce there, it fills at the market's price."
      : "";
  return `\n${describeTotal(row, now, end)}, until ${formatDate(end)}.${bound}`;
}

export function buildStandingProposal(row: Standing, now: number, end: number): StandingCard {
  if (row.state === "active")
    return {
      answer: [
        [{ bold: `${mark(row)}🔁 You have that standing order already` }, `\n${describeStanding(row)}`],
      ],
      buttons: [[buildStopButton(row), MY_ALERTS]],
    };
  return {
    answer: [
      [{ bold: `${mark(row)}❔ ${describeStanding(row)}` }, listTerms(row, now, end)],
      ["Nothing is set until you tap Set. Each order then goes without another tap, within your limits."],
    ],
    buttons: [[buildStandButton(row), buildStopButton(row, "No")]],
  };
}

/** @param address What stands for the address that triggers it, where it is shown. */
export function buildStandingSet(row: Standing, now: number, address: Paragraph = []): StandingCard {
  const { condition, readyAt, expiresAt = now } = row;
  const next = condition.kind === "clock" ? `\nFirst: ${formatDateTime(readyAt)}.` : "";
  return {
    answer: [
      [
        { bold: `${mark(row)}🔁 Standing order set` },
        `\n${describeStanding(row)}${listTerms(row, now, expiresAt)}${next}`,
      ],
      ...(address.length === 0 ? [] : [address]),
    ],
    buttons: [
      [
        buildStopButton(row),
        ...(condition.kind === "clock" ? [buildSkipButton(row)] : []),
        ...(condition.kind === "call" ? [buildButton("rotate", "New address", row)] : []),
        MY_ALERTS,
      ],
    ],
  };
}

/** One that was stopped, or never set. */
export function buildStandingEnded(row: Standing): StandingCard {
  const what = row.confirmedAt === undefined ? "Not set" : "Stopped";
  return { answer: [[`${what}: ${describeStanding(row)}.`]], buttons: [[MY_ALERTS]] };
}

export function buildSkippedCard(row: Standing): StandingCard {
  return {
    answer: [[{ bold: "⏭ Skipped" }, `\n${describeStanding(row)}\nNext: ${formatDateTime(row.readyAt)}.`]],
    buttons: [[buildStopButton(row), MY_ALERTS]],
  };
}

/** @param why Half a sentence. */
export function buildEndedOrdersCard(rows: readonly Standing[], why: string): Paragraph[] {
  const title = rows.length === 1 ? "⏹ Your standing order has ended" : "⏹ Your standing orders have ended";
  return [[{ bold: title }, ...rows.map((row) => `\n${describeStanding(row)}`)], [`Because ${why}.`]];
}

const TITLES = {
  done: "✅ Standing order done",
  refused: "⚠️ Standing order refused",
  missed: "⏭ Standing order missed",
};

/** The card of a firing's outcome. @param row As it stands afterwards. @param told.at Epoch ms: when it was due. */
export function buildOutcomeCard(
  row: Standing,
  told: { outcome: keyof typeof TITLES; reason: string | undefined; order: Order | null; at: number },
): { paragraphs: Paragraph[]; buttons: Button[][] } {
  const { outcome, reason, order, at } = told;
  const { state, condition, readyAt, endReason } = row;
  const txHash = order?.paper === true ? undefined : order?.txHash;
  const isActive = state === "active";
  const next = condition.kind === "clock" ? `Next: ${formatDateTime(readyAt)}.` : "It stays set.";
  const end =
    condition.kind === "price" && outcome === "done" ? "" : `It has ended: ${endReason ?? "stopped"}.`;
  const after = isActive ? next : end;
  const late = outcome === "missed" ? ` It was due on ${formatDateTime(at)} and is not caught up.` : "";
  const moved = order !== null && outcome === "done" ? describeOrder(order.request, order.bought) : null;
  return {
    paragraphs: [
      [
        { bold: `${mark(row)}${TITLES[outcome]}${moved === null ? "" : `: ${moved}`}` },
        `\n${describeStanding(row)}`,
        ...(reason === undefined ? [] : [`\n${reason}.${late}`]),
        after === "" ? "" : `\n${after}`,
      ],
      ...(txHash === undefined ? [] : [[{ words: "Its transaction", href: EXPLORER + txHash }]]),
    ],
    buttons: isActive
      ? [[buildStopButton(row), ...(condition.kind === "clock" ? [buildSkipButton(row)] : [])]]
      : outcome === "done"
        ? []
        : [[buildRepeatButton(row)]],
  };
}
