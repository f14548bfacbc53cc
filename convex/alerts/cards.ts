import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatSignedPercent, typeset } from "../lib/text/numbers";
import { formatDateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import type { Alert, Condition, Observation } from "./tables";
import {
  describe,
  formatHours,
  HOW_TO_SAY,
  formatCondition,
  describeMovement,
  describeObservation,
} from "./grammar";

/** The messenger's cards of alerts. Only their buttons set or end an alert; a typed “yes” does not. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
const buildTapButton = (what: "set" | "once" | "off", text: string, { _id }: Alert): Button => ({
  text,
  command: `alert ${what} ${_id}`,
});
const buildAgainButton = (condition: Condition, text: string): Button => ({
  text,
  command: `alert ${formatCondition(condition)}`,
});

/** A question about ambiguous words, with a button for each possible meaning. */
export type Doubt = { say: string; meant?: readonly Condition[] };

export function buildDoubtCard({ say, meant = [] }: Doubt): AlertCard {
  return {
    answer: [[say], ...(meant.length === 0 ? [[HOW_TO_SAY]] : [])],
    buttons: meant.map((one) => [buildAgainButton(one, typeset(formatCondition(one)))]),
  };
}

/** The present value of an alert's subject, at most an hour old, and whether the condition holds. */
export type Present = { latest: Observation | null; holds: boolean };

/** The proposal: the condition as it was read and the present value, with buttons to set it. */
export function buildProposalCard(alert: Alert, { latest, holds }: Present): AlertCard {
  const { state, condition, once, until } = alert;
  const text = describe(condition);
  if (state === "active")
    return {
      answer: [[{ bold: "🔔 You have that alert already" }, `\n${text}`]],
      buttons: [[buildTapButton("off", "Off", alert), MY_ALERTS]],
    };
  const now =
    condition.kind === "digest" ? describeClock(condition) : latest && describeObservation(condition, latest);
  return {
    answer: [
      [
        { bold: `❔ ${text}` },
        now === null ? "" : `\nNow: ${now}`,
        holds ? "\nAlready true now; I'll tell you the next time." : "",
        once === true ? "\nI'll tell you once." : "",
        until === undefined ? "" : `\nIt ends on ${formatDateTime(until)}.`,
      ],
      ["Right? Nothing is set until you tap Set."],
    ],
    buttons: [
      [
        buildTapButton("set", "Set", alert),
        ...(condition.kind === "digest" ? [] : [buildTapButton("once", "Only once", alert)]),
        buildTapButton("off", "No", alert),
      ],
    ],
  };
}

function describeClock({ timeZone }: Extract<Condition, { kind: "digest" }>): string {
  const clock = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return `${new Intl.DateTimeFormat("en-GB", clock).format(Date.now())} there`;
}

export function buildConfirmedCard(alert: Alert): AlertCard {
  const { expiresAt, condition, once } = alert;
  const often = once ? "I'll tell you once." : "I'll tell you each time it happens, at most hourly.";
  const until = expiresAt === undefined ? "" : ` It ends on ${formatDateTime(expiresAt)}.`;
  return {
    answer: [
      [{ bold: "🔔 Alert set" }, `\n${describe(condition)}`],
      [`${condition.kind === "digest" ? "You get it every day." : often}${until}`],
    ],
    buttons: [[buildTapButton("off", "Off", alert), MY_ALERTS]],
  };
}

/** An alert that was switched off, or never set. */
export function buildEndedCard({ condition, confirmedAt }: Alert): AlertCard {
  const what = confirmedAt === undefined ? "Not set" : "Off";
  return { answer: [[`${what}: ${describe(condition)}.`]], buttons: [[MY_ALERTS]] };
}

/** An alert that has expired. */
export function buildExpiredCard({ condition }: Alert): AlertCard {
  return {
    answer: [[{ bold: "⏳ An alert has ended" }, `\n${describe(condition)}`]],
    buttons: [[buildAgainButton(condition, "Set again")]],
  };
}

/** All alerts of a user, each with its button: Off for an active one, Set for a proposal. */
export function buildListCard(alerts: readonly Alert[]): AlertCard {
  const of = (state: Alert["state"]) => alerts.filter((one) => one.state === state);
  const line = ({ condition, fired, once }: Alert) =>
    `\n• ${describe(condition)}${once ? ", once" : ""}${fired === 0 ? "" : `, fired ${fired === 1 ? "once" : `${fired} times`}`}`;
  const [active, proposed, off] = [of("active"), of("proposed"), of("off")];
  const none =
    "You have no active alert. Ask for one in your own words, such as: tell me when BTC is above 100,000";
  const button = (what: "off" | "set", name: string) => (alert: Alert) => [
    buildTapButton(what, `${name}: ${shortenAlert(alert)}`, alert),
  ];
  return {
    answer: [
      active.length === 0 ? [none] : [{ bold: "🔔 Your alerts" }, ...active.map(line)],
      ...(proposed.length === 0 ? [] : [[{ bold: "Not set: tap to set" }, ...proposed.map(line)]]),
      ...(off.length === 0 ? [] : [[{ bold: "Off" }, ...off.map(line)]]),
    ],
    buttons: [...active.map(button("off", "Off")), ...proposed.map(button("set", "Set"))],
  };
}

/** The longest label of a button, in characters, which is about what a phone shows. */
const SHORT = 34;

function shortenAlert({ condition }: Alert): string {
  const text = describe(condition);
  return text.length <= SHORT ? text : typeset(formatCondition(condition));
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
  const wish = `Your alert: ${describe(condition)}.`;
  if (condition.kind === "flow") {
    const link = { words: "Its transaction", href: source };
    return [
      [
        { bold: `🔔 ${describeMovement(condition, observation)}` },
        `\n${formatDateTime(observedAt)} · `,
        link,
      ],
      [wish],
    ];
  }
  if (move === null || condition.kind === "digest")
    return [[{ bold: `🔔 ${describeObservation(condition, observation)}` }], [wish]];
  const { priceUsd, percent, windowHours } = move;
  const now = formatDollars(priceUsd);
  const moved =
    percent === null
      ? `🔔 ${condition.token}: ${now}`
      : `${percent < 0 ? "🔴" : "🟢"} ${condition.token} ${formatSignedPercent(percent)} in ${formatHours(windowHours)}: ${now} (was ${formatDollars(priceUsd / (1 + percent / 100))})`;
  return [[{ bold: moved }], [`${wish}\n${formatDateTime(observedAt)} (${getSourceName(source)})`]];
}

/** The buttons below a firing. */
export function buildFiredButtons(alert: Alert): Button[][] {
  const { condition, once } = alert;
  if (once) return [[buildAgainButton(condition, "Set again")]];
  if (condition.kind === "digest") return [[buildTapButton("off", "Off", alert)]];
  return [
    [
      buildTapButton("off", "Off", alert),
      { text: "Why", command: `ask Why has ${condition.token} moved today?` },
    ],
  ];
}
