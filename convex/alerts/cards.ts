import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatPercent, formatSignedPercent, typeset } from "../lib/text/numbers";
import { formatDate, formatDateTime, MINUTE } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { EXPLORER } from "../wallets/model";
import { describeOrder, ON_PAPER } from "../wallets/orders/cards";
import type { Order } from "../wallets/orders/model";
import {
  describeMovement,
  describeObservation,
  formatCondition,
  formatHours,
  FUNDING_HOURS,
  isMeasured,
  isTimed,
} from "./conditions";
import type { Alert, Condition, Observation, StandingOrder, TimedCondition } from "./tables";
import { describeStandingOrder, describeTotal, getEnd, isLimit, isStandingOrder } from "./terms";
import type { Clarification } from "./words";

/** The messenger's cards of alerts and standing orders. Only their buttons set or end one; a typed “yes” does not. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };

/** What a button does to an alert. */
type Tap = "set" | "once" | "off" | "mute" | "skip" | "rotate" | "again";
const buildTap = (what: Tap, text: string, row: Alert): Button => ({
  text,
  // Passes over that time, and over no other if it is tapped again.
  command: `alert ${what} ${row._id}${what === "skip" ? ` ${row.readyAt.toString(36)}` : ""}`,
});
const buildOff = (row: Alert, before = ""): Button =>
  buildTap("off", `${before}${isStandingOrder(row) ? "Stop" : "Off"}`, row);
const listSkips = (row: Alert, before = ""): Button[] =>
  row.condition.kind === "clock" ? [buildTap("skip", `${before}Skip next`, row)] : [];

/** An alert or a standing order in words. */
export function describeAlert(row: Alert): string {
  const line = isStandingOrder(row) ? describeStandingOrder(row) : formatCondition(row.condition);
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}`;
}

/** How the cards of an account on paper begin. */
const mark = ({ order }: Alert): string => (order?.paper === true ? ON_PAPER : "");

/** A question about words, with a button for each possible meaning. */
export function buildClarificationCard({ question, readings = [] }: Clarification): AlertCard {
  const buttons = readings.map((one) => {
    const line = formatCondition(one);
    return [{ text: `${readings.length === 1 ? "Yes: " : ""}${typeset(line)}`, command: `alert ${line}` }];
  });
  return { answer: [[question]], buttons };
}

/** The present value of an alert's subject, at most an hour old, and whether the condition holds. */
export type PresentValue = { latest: Observation | null; holds: boolean };

/** The proposal: what was read and the present value, or what is ordered in all, with buttons to set it. */
export function buildProposalCard(
  row: Alert,
  present: PresentValue = { latest: null, holds: false },
): AlertCard {
  const isOrder = isStandingOrder(row);
  const what = describeAlert(row);
  if (row.state === "active") {
    const title = isOrder
      ? `${mark(row)}🔁 You have that standing order already`
      : "🔔 You have that alert already";
    return { answer: [[{ bold: title }, `\n${what}`]], buttons: [[buildOff(row), MY_ALERTS]] };
  }
  const right = isOrder
    ? "Nothing is set until you tap Set. Each order then goes without another tap, within your limits."
    : "Right? Nothing is set until you tap Set.";
  return {
    answer: [
      [
        { bold: `${mark(row)}❔ ${what}` },
        ...(isOrder ? [listTerms(row, Date.now())] : listPresent(row, present)),
      ],
      [right],
    ],
    buttons: [
      [
        buildTap("set", "Set", row),
        ...(isMeasured(row.condition) && !isOrder ? [buildTap("once", "Only once", row)] : []),
        buildTap("off", "No", row),
      ],
    ],
  };
}

function listPresent({ condition, once, until }: Alert, { latest, holds }: PresentValue): string[] {
  const now = isTimed(condition)
    ? describeClock(condition)
    : latest && describeObservation(condition, latest);
  const isChange = condition.kind === "research" && condition.always !== true;
  return [
    now === null ? "" : `\nNow: ${now}`,
    isChange ? "\nI'll tell you when its outlook or its price has changed." : "",
    holds ? "\nAlready true now; I'll tell you the next time." : "",
    once === true ? "\nI'll tell you once." : "",
    until === undefined ? "" : `\nIt ends on ${formatDateTime(until)}.`,
  ];
}

function describeClock({ timeZone }: TimedCondition): string {
  const clock = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return `${new Intl.DateTimeFormat("en-GB", clock).format(Date.now())} there`;
}

/** An order's total, its end and its bound. */
function listTerms(row: StandingOrder, now: number): string {
  const { condition, order, expiresAt: end = getEnd(row, now) } = row;
  const bound =
    condition.kind === "price"
      ? isLimit(condition, order.swap)
        ? `\nIt fills at that level or better, less ${order.swap.slippageBps / 100} % slippage, or not at all.`
        : "\nOnce there, it fills at the market's price."
      : "";
  return `\n${describeTotal(row, now, end)}, until ${formatDate(end)}.${bound}`;
}

/** @param address What stands for the address that triggers it, where it is shown. */
export function buildSetCard(row: Alert, address: Paragraph = []): AlertCard {
  const { expiresAt, condition, once, readyAt } = row;
  const what = describeAlert(row);
  const isCall = condition.kind === "call";
  const buttons = [
    buildOff(row),
    ...listSkips(row),
    ...(isCall ? [buildTap("rotate", "New address", row)] : []),
    MY_ALERTS,
  ];
  if (isStandingOrder(row)) {
    const first = isTimed(condition) ? `\nFirst: ${formatDateTime(readyAt)}.` : "";
    const title = { bold: `${mark(row)}🔁 Standing order set` };
    const set = [title, `\n${what}${listTerms(row, Date.now())}${first}`];
    return { answer: address.length === 0 ? [set] : [set, address], buttons: [buttons] };
  }
  const isNews = condition.kind === "research" && condition.always !== true;
  const often = once ? "I'll tell you once." : "I'll tell you each time it happens, at most hourly.";
  const next = isTimed(condition)
    ? `${isNews ? "I look next" : "You get it next"} on ${formatDateTime(readyAt)}.`
    : often;
  const until = expiresAt === undefined ? "" : ` It ends on ${formatDateTime(expiresAt)}.`;
  return { answer: [[{ bold: "🔔 Alert set" }, `\n${what}`], [`${next}${until}`]], buttons: [buttons] };
}

/** One that its user has ended, or never set. */
export function buildOffCard(row: Alert): AlertCard {
  const isNew = row.confirmedAt === undefined;
  const what = isNew ? "Not set" : isStandingOrder(row) ? "Stopped" : "Off";
  const on = isNew || isStandingOrder(row) ? [] : [buildTap("again", "On", row)];
  return { answer: [[`${what}: ${describeAlert(row)}.`]], buttons: [[...on, MY_ALERTS]] };
}

/** Alerts that their user has not ended. @param why Half a sentence. */
export function buildEndedAlertsCard(rows: readonly Alert[], why: string): AlertCard {
  const one = rows.every(isStandingOrder) ? "standing order" : "alert";
  const title = rows.length === 1 ? `⏹ Your ${one} has ended` : `⏹ Your ${one}s have ended`;
  const lines = rows.map((row) => `\n${describeAlert(row)}`);
  return {
    answer: [[{ bold: title }, ...lines], [`Because ${why}.`]],
    buttons: rows.length === 1 ? rows.map((row) => [buildTap("again", "Set again", row)]) : [],
  };
}

export function buildSkippedCard(row: Alert): AlertCard {
  const next = `\n${describeAlert(row)}\nNext: ${formatDateTime(row.readyAt)}.`;
  return { answer: [[{ bold: "⏭ Skipped" }, next]], buttons: [[buildOff(row), MY_ALERTS]] };
}

/** An alert of a list, with the present value of an active one. */
export type Listed = { alert: Alert; latest: Observation | null };

/** All alerts of a user, numbered, each with its buttons. @param now Epoch ms. @param note Stands above them. */
export function buildListCard(listed: readonly Listed[], now: number, note?: string): AlertCard {
  const numbered = listed.map((one, i) => ({ ...one, number: i + 1 }));
  const of = (state: Alert["state"]) => numbered.filter(({ alert }) => alert.state === state);
  const line = ({ number, alert, latest }: Listed & { number: number }) => {
    const { fired, once } = alert;
    const away = latest === null ? "" : ` · ${formatDistance(alert, latest)}`;
    const isQuiet =
      alert.state === "active" &&
      isMeasured(alert.condition) &&
      !isStandingOrder(alert) &&
      alert.readyAt > now + MINUTE;
    const quiet = isQuiet ? ` · quiet until ${formatDateTime(alert.readyAt)}` : "";
    return `\n${number}. ${describeAlert(alert)}${away}${once ? ", once" : ""}${fired === 0 ? "" : `, fired ${fired === 1 ? "once" : `${fired} times`}`}${quiet}`;
  };
  const [active, proposed] = [of("active"), of("proposed")];
  const isOn = ({ alert }: Listed) => active.some((one) => describeAlert(one.alert) === describeAlert(alert));
  const off = of("off").filter((one) => !isOn(one));
  const none =
    "You have no active alert. Ask for one in your own words, such as: tell me when BTC is above 100,000";
  return {
    answer: [
      ...(note === undefined ? [] : [[note]]),
      active.length === 0 ? [none] : [{ bold: "🔔 Your alerts" }, ...active.map(line)],
      ...(proposed.length === 0 ? [] : [[{ bold: "Not set: tap to set" }, ...proposed.map(line)]]),
      ...(off.length === 0 ? [] : [[{ bold: "Off" }, ...off.map(line)]]),
    ],
    buttons: [
      ...active.map(({ number, alert }) => [
        buildOff(alert, `${number} `),
        ...listSkips(alert, `${number} `),
        ...(isMeasured(alert.condition) && !isStandingOrder(alert)
          ? [buildTap("mute", `${number} Mute 2 h`, alert)]
          : []),
      ]),
      ...proposed.map(({ number, alert }) => [
        buildTap("set", `${number} Set`, alert),
        buildTap("off", `${number} No`, alert),
      ]),
      ...off.map(({ number, alert }) => [buildTap("again", `${number} On`, alert)]),
    ],
  };
}

/** The distance of the present value from the level: `3.2 % away, now $104,650`. */
function formatDistance({ condition, level }: Alert, { value }: Observation): string {
  switch (condition.kind) {
    case "price":
      return `${formatPercent(Math.abs(level / value - 1) * 100, 1)} away, now ${formatDollars(value)}`;
    case "change":
      return `now ${formatSignedPercent(value, 1)}`;
    case "funding":
      return `now ${formatPercent(value * FUNDING_HOURS)}`;
    // Events, times and calls have no present value.
    case "flow":
    case "digest":
    case "research":
    case "clock":
    case "call":
      return "";
  }
}

/** A price, and its change within some hours; `null` if that is not known. */
export type Move = { priceUsd: number; percent: number | null; windowHours: number };

/** The card of a firing: first the news, then the condition. */
export function buildFiringCard(
  condition: Condition,
  observation: Observation,
  move: Move | null,
): Paragraph[] {
  const { observedAt, source } = observation;
  const asked = `Your alert: ${formatCondition(condition)}.`;
  if (condition.kind === "flow") {
    const link = { words: "Its transaction", href: source };
    const moved = { bold: `🔔 ${describeMovement(condition, observation)}` };
    return [[moved, `\n${formatDateTime(observedAt)} · `, link], [asked]];
  }
  if (move === null || !("token" in condition))
    return [[{ bold: `🔔 ${describeObservation(condition, observation)}` }], [asked]];
  const { priceUsd, percent, windowHours } = move;
  const now = formatDollars(priceUsd);
  const moved =
    percent === null
      ? `🔔 ${condition.token}: ${now}`
      : `${percent < 0 ? "🔴" : "🟢"} ${condition.token} ${formatSignedPercent(percent)} in ${formatHours(windowHours)}: ${now} (was ${formatDollars(priceUsd / (1 + percent / 100))})`;
  return [[{ bold: moved }], [`${asked}\n${formatDateTime(observedAt)} (${getSourceName(source)})`]];
}

/** The buttons below a firing. */
export function buildFiredButtons(alert: Alert): Button[][] {
  const { condition, once } = alert;
  if (once) return [[buildTap("again", "Set again", alert)]];
  if (!("token" in condition) || isTimed(condition)) return [[buildOff(alert)]];
  const why = { text: "Why", command: `ask Why has ${condition.token} moved today?` };
  return [[buildOff(alert), buildTap("mute", "Mute 2 h", alert), why]];
}

const TITLES = {
  done: "✅ Standing order done",
  refused: "⚠️ Standing order refused",
  missed: "⏭ Standing order missed",
};

/** The card of what became of a standing order's firing. @param row As it stands afterwards. @param told.at Epoch ms: when it was due. */
export function buildOutcomeCard(
  row: StandingOrder,
  told: { outcome: keyof typeof TITLES; reason: string | undefined; order: Order | null; at: number },
): AlertCard {
  const { outcome, reason, order, at } = told;
  const { state, condition, readyAt, endReason } = row;
  const txHash = order?.paper === true ? undefined : order?.txHash;
  const next = condition.kind === "clock" ? `Next: ${formatDateTime(readyAt)}.` : "It stays set.";
  const isFilled = condition.kind === "price" && outcome === "done";
  const end = isFilled ? "" : `It has ended: ${endReason ?? "stopped"}.`;
  const after = state === "active" ? next : end;
  const late = outcome === "missed" ? ` It was due on ${formatDateTime(at)} and is not caught up.` : "";
  const moved = order !== null && outcome === "done" ? `: ${describeOrder(order.request, order.bought)}` : "";
  return {
    answer: [
      [
        { bold: `${mark(row)}${TITLES[outcome]}${moved}` },
        `\n${describeStandingOrder(row)}`,
        ...(reason === undefined ? [] : [`\n${reason}.${late}`]),
        after === "" ? "" : `\n${after}`,
      ],
      ...(txHash === undefined ? [] : [[{ words: "Its transaction", href: EXPLORER + txHash }]]),
    ],
    buttons:
      state === "active"
        ? [[buildOff(row), ...listSkips(row)]]
        : outcome === "done"
          ? []
          : [[buildTap("again", "Set again", row)]],
  };
}
