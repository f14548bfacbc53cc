import { sourceName } from "../lib/publicSources";
import { dollars, signed, typeset } from "../lib/text/numbers";
import { dateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import type { Alert } from "./model";
import type { Condition, Observation } from "./tables";
import { describe, hours, HOW_TO_SAY, lineOf, movedWords, observed } from "./grammar";

/** Alerts in the messenger. Only buttons set or end an alert; words that are typed later do not. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
const tapOf = (what: "set" | "once" | "off", text: string, { _id }: Alert): Button => ({
  text,
  command: `alert ${what} ${_id}`,
});
const again = (condition: Condition, text: string): Button => ({
  text,
  command: `alert ${lineOf(condition)}`,
});

/** The question if words leave something open: each possible meaning is a button. */
export type Doubt = { say: string; meant?: readonly Condition[] };

export function openCard({ say, meant = [] }: Doubt): AlertCard {
  return {
    answer: [[say], ...(meant.length === 0 ? [[HOW_TO_SAY]] : [])],
    buttons: meant.map((one) => [again(one, typeset(lineOf(one)))]),
  };
}

/** What an alert's condition is compared with now; `latest` is at most an hour old. */
export type Present = { latest: Observation | null; holds: boolean };

/** What was understood and the value now, with buttons to set it. */
export function proposalCard(alert: Alert, { latest, holds }: Present): AlertCard {
  const { state, condition } = alert;
  const words = describe(condition);
  if (state === "active")
    return {
      answer: [[{ bold: "🔔 You have that alert already" }, `\n${words}`]],
      buttons: [[tapOf("off", "Off", alert), MY_ALERTS]],
    };
  const now = condition.kind === "digest" ? clockLine(condition) : latest && observed(condition, latest);
  return {
    answer: [
      [
        { bold: `❔ ${words}` },
        now === null ? "" : `\nNow: ${now}`,
        holds ? "\nAlready true now; I'll tell you the next time." : "",
      ],
      ["Right? Nothing is set until you tap Set."],
    ],
    buttons: [
      [
        tapOf("set", "Set", alert),
        ...(condition.kind === "digest" ? [] : [tapOf("once", "Only once", alert)]),
        tapOf("off", "No", alert),
      ],
    ],
  };
}

function clockLine({ timeZone }: Extract<Condition, { kind: "digest" }>): string {
  const clock = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return `${new Intl.DateTimeFormat("en-GB", clock).format(Date.now())} there`;
}

export function confirmedCard(alert: Alert): AlertCard {
  const { expiresAt, condition, once } = alert;
  const often = once ? "I'll tell you once." : "I'll tell you each time it happens, at most hourly.";
  const until = expiresAt === undefined ? "" : ` It ends on ${dateTime(expiresAt)}.`;
  return {
    answer: [
      [{ bold: "🔔 Alert set" }, `\n${describe(condition)}`],
      [`${condition.kind === "digest" ? "You get it every day." : often}${until}`],
    ],
    buttons: [[tapOf("off", "Off", alert), MY_ALERTS]],
  };
}

/** An alert that has been switched off, or was never set. */
export function endedCard({ condition, confirmedAt }: Alert): AlertCard {
  const what = confirmedAt === undefined ? "Not set" : "Off";
  return { answer: [[`${what}: ${describe(condition)}.`]], buttons: [[MY_ALERTS]] };
}

/** An alert whose time is over. */
export function expiredCard({ condition }: Alert): AlertCard {
  return {
    answer: [[{ bold: "⏳ An alert has ended" }, `\n${describe(condition)}`]],
    buttons: [[again(condition, "Set again")]],
  };
}

/** All alerts of a user, each with a button for what can be done with it. */
export function listCard(alerts: readonly Alert[]): AlertCard {
  const of = (state: Alert["state"]) => alerts.filter((one) => one.state === state);
  const line = ({ condition, fired, once }: Alert) =>
    `\n• ${describe(condition)}${once ? ", once" : ""}${fired === 0 ? "" : `, fired ${fired === 1 ? "once" : `${fired} times`}`}`;
  const [active, proposed, off] = [of("active"), of("proposed"), of("off")];
  const none =
    "You have no active alert. Ask for one in your own words, such as: tell me when BTC is above 100,000";
  const button = (what: "off" | "set", name: string) => (alert: Alert) => [
    tapOf(what, `${name}: ${shortOf(alert)}`, alert),
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

/** The longest words of a button, in characters: a phone shows about as many. */
const SHORT = 34;

function shortOf({ condition }: Alert): string {
  const words = describe(condition);
  return words.length <= SHORT ? words : typeset(lineOf(condition));
}

/** What a price is, and how it has moved within some hours, if that is known. */
export type Move = { priceUsd: number; percent: number | null; windowHours: number };

/** The card of a firing: first the news, then the condition. */
export function firingCard(condition: Condition, observation: Observation, move: Move | null): Paragraph[] {
  const { observedAt, source } = observation;
  const wish = `Your alert: ${describe(condition)}.`;
  if (condition.kind === "flow") {
    const link = { words: "Its transaction", href: source };
    return [
      [{ bold: `🔔 ${movedWords(condition, observation)}` }, `\n${dateTime(observedAt)} · `, link],
      [wish],
    ];
  }
  if (move === null || condition.kind === "digest")
    return [[{ bold: `🔔 ${observed(condition, observation)}` }], [wish]];
  const { priceUsd, percent, windowHours } = move;
  const now = dollars(priceUsd);
  const moved =
    percent === null
      ? `🔔 ${condition.token}: ${now}`
      : `${percent < 0 ? "🔴" : "🟢"} ${condition.token} ${signed(percent)} in ${hours(windowHours)}: ${now} (was ${dollars(priceUsd / (1 + percent / 100))})`;
  return [[{ bold: moved }], [`${wish}\n${dateTime(observedAt)} (${sourceName(source)})`]];
}

/** What can be done with an alert that has fired. */
export function firedButtons(alert: Alert): Button[][] {
  const { condition, once } = alert;
  if (once) return [[again(condition, "Set again")]];
  if (condition.kind === "digest") return [[tapOf("off", "Off", alert)]];
  return [
    [tapOf("off", "Off", alert), { text: "Why", command: `ask Why has ${condition.token} moved today?` }],
  ];
}
