import type { Doc } from "../_generated/dataModel";
import { sourceName } from "../lib/publicSources";
import { signed, typeset } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { dateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { LEAST_FLOW_USD, REPLAYED_DAYS, type Condition } from "./grammar";
import type { Replay } from "./history";
import { alertOf, type Alert } from "./model";
import type { Observation } from "./tables";
import { describe, HOW_TO_SAY, lineOf, observed } from "./words";

/** Alerts in the messenger. Only buttons set, change or end an alert; words that are typed later do not. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
const tapOf = (what: string, text: string, { alertId }: Pick<Alert, "alertId">): Button => ({
  text,
  command: `alert ${what} ${alertId}`,
});
const times = (count: number): string => (count === 1 ? "once" : `${count} times`);

/** The question if words leave something open: each possible meaning is a button. */
export type Doubt = { say: string; meant?: readonly Condition[] };

export function openCard({ say, meant = [] }: Doubt): AlertCard {
  return {
    answer: [[say], ...(meant.length === 0 ? [[HOW_TO_SAY]] : [])],
    buttons: meant.map((one) => [{ text: typeset(lineOf(one)), command: `alert ${lineOf(one)}` }]),
  };
}

/** What was understood, the value now, and when the alert would have fired, with buttons to set or change it. */
export function proposalCard({ alert, replay }: { alert: Alert; replay: Replay }): AlertCard {
  const { words, state, readBy, condition } = alert;
  if (state === "active")
    return {
      answer: [[{ bold: "🔔 You have that alert already" }, `\n${words}`]],
      buttons: [[tapOf("off", "Off", alert), MY_ALERTS]],
    };
  const near = nearby(condition).map(([text, other]) => ({ text, command: `alert ${lineOf(other)}` }));
  const once = condition.kind === "digest" ? [] : [tapOf("once", "Only once", alert)];
  return {
    answer: [
      [{ bold: `❔ ${words}` }, ...nowLines(condition, replay)],
      replayLines(condition, replay),
      [readBy === "model" ? "I read that from your words. " : "", "Right? Nothing is set until you tap Set."],
    ],
    buttons: [
      [tapOf("set", "Set", alert), ...near],
      [...once, tapOf("change", "Change", alert), tapOf("no", "No", alert)],
    ],
  };
}

/** The same a little lower and a little higher. */
function nearby(condition: Condition): [string, Condition][] {
  const rounded = (value: number) => Number(value.toPrecision(5));
  const steps = (by: number, of: (factor: number) => Condition): [string, Condition][] => [
    [signed(-by, 0), of(1 - by / 100)],
    [signed(by, 0), of(1 + by / 100)],
  ];
  switch (condition.kind) {
    case "price":
      return steps(1, (by) => ({ ...condition, levelUsd: rounded(condition.levelUsd * by) }));
    case "change": {
      const { percent } = condition;
      const by = (points: number): [string, Condition] => [
        signed(points, 0),
        { ...condition, percent: rounded(percent + points) },
      ];
      return percent <= 1 || percent >= 99 ? [] : [by(-1), by(1)];
    }
    case "funding":
      return steps(10, (by) => ({ ...condition, percentPerHour: rounded(condition.percentPerHour * by) }));
    case "flow":
      return condition.overUsd * 0.9 < LEAST_FLOW_USD
        ? []
        : steps(10, (by) => ({ ...condition, overUsd: rounded(condition.overUsd * by) }));
    case "digest":
      return [];
  }
}

function nowLines(condition: Condition, { latest, holds }: Replay): string[] {
  if (condition.kind === "digest") {
    const { timeZone } = condition;
    const clock = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
    return [`\nThere it is ${new Intl.DateTimeFormat("en-GB", clock).format(Date.now())} now.`];
  }
  if (latest === null) return [];
  const now = `\nNow: ${observed(condition, latest)}`;
  return holds ? [now, "\nAlready true now; I'll tell you the next time."] : [now];
}

/** How many of the past times a card names. */
const SHOWN = 5;

function replayLines(condition: Condition, { knownSince, fired }: Replay): Paragraph {
  if (knownSince === null) return ["Nothing is stored from the last days to say when it would have fired."];
  if (condition.kind === "digest")
    return [`It would have come ${times(fired.length)} in ${REPLAYED_DAYS} days.`];
  const since = `Since ${dateTime(knownSince)}`;
  if (fired.length === 0) return [`${since} it would not have fired.`];
  const latest = fired.slice(-SHOWN).map((one) => `\n${observed(condition, one)}`);
  const rest = fired.length > SHOWN ? " The last ones:" : "";
  return [`${since} it would have fired ${times(fired.length)}.${rest}`, ...latest];
}

/** How to change it: the line, to be sent with another number. */
export function changeCard(alert: Alert): AlertCard {
  const again: Paragraph = [
    "Send it again with your changes: ",
    { command: "alert" },
    ` ${lineOf(alert.condition)}`,
  ];
  return {
    answer: [[{ bold: alert.words }], again],
    buttons: [[tapOf("set", "Set as it is", alert), tapOf("no", "No", alert)]],
  };
}

export function confirmedCard(alert: Alert): AlertCard {
  const { number, words, expiresAt, condition, once } = alert;
  const often = once ? "I'll tell you once." : "I'll tell you each time it happens, at most hourly.";
  const until = expiresAt === null ? "" : ` It ends on ${dateTime(expiresAt)}.`;
  return {
    answer: [
      [{ bold: `🔔 Alert ${number} is on` }, `\n${words}`],
      [`${condition.kind === "digest" ? "You get it every day." : often}${until}`],
    ],
    buttons: [[tapOf("off", "Off", alert), MY_ALERTS]],
  };
}

/** An alert that is muted for a while. */
export function mutedCard(alert: Alert, until: number): AlertCard {
  return {
    answer: [[`🔕 Muted until ${dateTime(until)}: ${alert.words}.`]],
    buttons: [[tapOf("unmute", "Unmute", alert), tapOf("off", "Off", alert)]],
  };
}

/** An alert that has been switched off, or was never set. */
export function endedCard({ words, confirmedAt }: Alert): AlertCard {
  return { answer: [[`${confirmedAt === null ? "Not set" : "Off"}: ${words}.`]], buttons: [[MY_ALERTS]] };
}

/** An alert whose time is over. */
export function expiredCard({ number, condition }: Doc<"alerts">): AlertCard {
  return {
    answer: [[{ bold: `⏳ Alert ${number} has ended` }, `\n${describe(condition)}`]],
    buttons: [[{ text: "Set again", command: `alert ${lineOf(condition)}` }]],
  };
}

/** All alerts of a user, each with a button for what can be done with it. */
export function listCard(alerts: readonly Alert[]): AlertCard {
  const of = (state: Alert["state"]) => alerts.filter((one) => one.state === state);
  const line = ({ number, words, fired, once }: Alert) =>
    `\n${number}. ${words}${once ? ", once" : ""}${fired === 0 ? "" : `, fired ${times(fired)}`}`;
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

function shortOf({ words, condition }: Alert): string {
  return words.length <= SHORT ? words : typeset(lineOf(condition));
}

/** What a price is, and what it was some time before. */
export type Move = { priceUsd: number; before: { priceUsd: number; span: string } | null };

/** The card of a firing: first the news, then the condition. */
export function firingCard(condition: Condition, observation: Observation, move: Move | null): Paragraph[] {
  const { observedAt, source } = observation;
  const wish = `Your alert: ${describe(condition)}.`;
  if (move === null || condition.kind === "digest")
    return [[{ bold: `🔔 ${observed(condition, observation)}` }], [wish]];
  const { priceUsd, before } = move;
  const now = dollars(priceUsd);
  const change = before === null ? 0 : (priceUsd / before.priceUsd - 1) * 100;
  const moved =
    before === null
      ? `🔔 ${condition.token}: ${now}`
      : `${change < 0 ? "🔴" : "🟢"} ${condition.token} ${signed(change)} in ${before.span}: ${now} (was ${dollars(before.priceUsd)})`;
  return [[{ bold: moved }], [`${wish}\n${dateTime(observedAt)} (${sourceName(source)})`]];
}

/** @param parts Each from the room that knows it. */
export function digestCard(
  { time, timeZone }: Extract<Condition, { kind: "digest" }>,
  parts: readonly Paragraph[],
): Paragraph[] {
  return [[{ bold: `🗞 Digest, ${time} ${timeZone}` }], ...parts];
}

/** What can be done with an alert that has fired. */
export function firedButtons(row: Doc<"alerts">): Button[][] {
  const alert = alertOf(row);
  if (alert.once) return [[{ text: "Set again", command: `alert ${lineOf(row.condition)}` }]];
  const off = tapOf("off", "Off", alert);
  if (row.condition.kind === "digest") return [[off]];
  return [[off, tapOf("mute", "Mute 24 h", alert), { text: "Why", command: `why ${row._id}` }]];
}
