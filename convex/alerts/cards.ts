import { cut } from "../lib/text/strings";
import { dateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import type { Proposed } from "./desk";
import { sayingOf } from "../evidence/wordings";
import type { Fact } from "../evidence/tables";
import type { Doubt } from "./language/agreement";
import type { Condition } from "./language/conditions";
import { LEAST_FLOW_USD } from "./language/grammar";
import { HOW_TO_SAY, lineOf } from "./language/wordings";
import type { Alert } from "./model";
import { REPLAYED_DAYS } from "./history/rules";
import { observed } from "./words";

/** Alerts in the messenger. What sets, changes or ends one is a button: no word that is typed later does. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

const SHOWN = 5;
const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
const offButton = ({ alertId }: Pick<Alert, "alertId">): Button => ({
  text: "Off",
  command: `alert off ${alertId}`,
});

/** What was understood, how things stand, and when it would have fired, with the buttons that make something of it. */
export function proposalCard({ alert, replay }: Proposed): AlertCard {
  const { alertId, words, state, readBy, condition } = alert;
  if (state === "active")
    return {
      answer: [[{ bold: "🔔 You have that alert already" }, `\n${words}`]],
      buttons: [[offButton(alert), MY_ALERTS]],
    };
  const answer = [
    [{ bold: `❔ ${words}` }, ...nowLines(alert, replay)],
    replayLines(alert, replay),
    [readBy === "model" ? "I read that from your words. " : "", "Right? Nothing is set until you tap Set."],
  ];
  return {
    answer,
    buttons: [
      [
        { text: "Set", command: `alert set ${alertId}` },
        ...nearby(condition).map(([text, other]) => ({ text, command: `alert ${lineOf(other)}` })),
      ],
      [
        { text: "Change", command: `alert change ${alertId}` },
        { text: "No", command: `alert no ${alertId}` },
      ],
    ],
  };
}

/** The same a little lower and a little higher. */
function nearby(condition: Condition): [string, Condition][] {
  const near = (value: number, factor: number) => Number((value * factor).toPrecision(5));
  const steps = (text: string, of: (factor: number) => Condition, by: number): [string, Condition][] => [
    [`−${text}`, of(1 - by)],
    [`+${text}`, of(1 + by)],
  ];
  switch (condition.kind) {
    case "price":
      return steps("1 %", (by) => ({ ...condition, levelUsd: near(condition.levelUsd, by) }), 0.01);
    case "change": {
      const to = (percent: number) => ({ ...condition, percent: Number(percent.toPrecision(5)) });
      const { percent } = condition;
      return percent <= 1 || percent >= 99
        ? []
        : [
            ["−1 %", to(percent - 1)],
            ["+1 %", to(percent + 1)],
          ];
    }
    case "funding":
      return steps(
        "10 %",
        (by) => ({ ...condition, percentPerHour: near(condition.percentPerHour, by) }),
        0.1,
      );
    case "flow":
      return condition.overUsd * 0.9 < LEAST_FLOW_USD
        ? []
        : steps("10 %", (by) => ({ ...condition, overUsd: near(condition.overUsd, by) }), 0.1);
    case "digest":
      return [];
  }
}

/** What is asked where words leave something open: each thing that may be meant is a button. */
export function openCard({ say, meant = [] }: Doubt): AlertCard {
  const answer: Paragraph[] = [[say], ...(meant.length === 0 ? [[HOW_TO_SAY]] : [])];
  return { answer, buttons: meant.map((one) => [{ text: lineOf(one), command: `alert ${lineOf(one)}` }]) };
}

/** How to say it otherwise: the line, to be sent with another number. */
export function changeCard(alert: Alert): AlertCard {
  return {
    answer: [
      [{ bold: alert.words }],
      ["Send it as you want it: ", { command: "alert" }, ` ${lineOf(alert.condition)}`],
    ],
    buttons: [
      [
        { text: "Set as it is", command: `alert set ${alert.alertId}` },
        { text: "No", command: `alert no ${alert.alertId}` },
      ],
    ],
  };
}

function nowLines({ condition }: Alert, { latest, holds }: Proposed["replay"]): string[] {
  if (condition.kind === "digest") {
    const clock = {
      timeZone: condition.timeZone,
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    } as const;
    return [`\nThere it is ${new Intl.DateTimeFormat("en-GB", clock).format(Date.now())} now.`];
  }
  if (latest === null) return [];
  const now = `\nNow: ${observed(condition, latest)}`;
  return holds ? [now, "\nAlready true now; I'll tell you the next time."] : [now];
}

function replayLines({ condition }: Alert, { knownSince, fired }: Proposed["replay"]): Paragraph {
  if (knownSince === null) return ["Nothing is stored from the last days to say when it would have fired."];
  const since = `Since ${dateTime(knownSince)}`;
  if (condition.kind === "digest")
    return [`It would have come ${times(fired.length)} in ${REPLAYED_DAYS} days.`];
  if (fired.length === 0) return [`${since} it would not have fired.`];
  const latest = fired.slice(-SHOWN).map((one) => `\n${observed(condition, one)}`);
  const rest = fired.length > SHOWN ? " The last ones:" : "";
  return [`${since} it would have fired ${times(fired.length)}.${rest}`, ...latest];
}

export function confirmedCard(alert: Alert): AlertCard {
  const { number, words, expiresAt, condition } = alert;
  const until = expiresAt === null ? "" : ` It ends on ${dateTime(expiresAt)}.`;
  const often =
    condition.kind === "digest"
      ? "You get it every day."
      : "I'll tell you each time it happens, at most hourly.";
  return {
    answer: [[{ bold: `🔔 Alert ${number} is on` }, `\n${words}`], [`${often}${until}`]],
    buttons: [[offButton(alert), MY_ALERTS]],
  };
}

/** One that says nothing for a while. */
export function mutedCard(alert: Alert, until: number): AlertCard {
  return {
    answer: [[`🔕 Muted until ${dateTime(until)}: ${alert.words}.`]],
    buttons: [[{ text: "Unmute", command: `alert unmute ${alert.alertId}` }, offButton(alert)]],
  };
}

/** The facts of the hour in which an alert fired, each with its source. */
export function whyCard(facts: readonly Fact[]): Paragraph[] {
  if (facts.length === 0) return [["Nothing was collected in that hour that says why."]];
  const lines = facts.flatMap((fact): Paragraph => [
    `\n${sayingOf(fact)} `,
    { words: fact.source, href: fact.url },
  ]);
  return [[{ bold: "What was known in that hour" }, ...lines]];
}

/** One that has ended, or was never set. */
export function endedCard({ words, confirmedAt }: Alert): AlertCard {
  return { answer: [[`${confirmedAt === null ? "Not set" : "Off"}: ${words}.`]], buttons: [[MY_ALERTS]] };
}

/** All of a user's, with a button for what can be done with each. */
export function listCard(alerts: readonly Alert[]): AlertCard {
  const of = (state: Alert["state"]) => alerts.filter((one) => one.state === state);
  const line = ({ number, words, fired }: Alert) =>
    `\n${number}. ${words}${fired === 0 ? "" : `, fired ${times(fired)}`}`;
  const [active, proposed, off] = [of("active"), of("proposed"), of("off")];
  const answer = [
    active.length === 0
      ? [
          "You have no active alert. Ask for one in your own words, such as: tell me when BTC is above 100,000",
        ]
      : [{ bold: "🔔 Your alerts" }, ...active.map(line)],
    ...(proposed.length === 0 ? [] : [[{ bold: "Not set: tap to set" }, ...proposed.map(line)]]),
    ...(off.length === 0 ? [] : [[{ bold: "Off" }, ...off.map(line)]]),
  ];
  const button = (what: "off" | "set", name: string) => (alert: Alert) => [
    { text: shortened(`${name}: ${alert.words}`), command: `alert ${what} ${alert.alertId}` },
  ];
  return { answer, buttons: [...active.map(button("off", "Off")), ...proposed.map(button("set", "Set"))] };
}

/** Of a button's words, in characters: a phone shows about as many. */
const BUTTON_LENGTH = 40;

function shortened(words: string): string {
  return words.length <= BUTTON_LENGTH ? words : `${cut(words, BUTTON_LENGTH - 1).trimEnd()}…`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
