import type { Fact } from "../evidence/tables";
import { sayingOf } from "../evidence/wordings";
import { signed, typeset } from "../lib/text/numbers";
import { dateTime } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { MY_ALERTS, offButton, times, type AlertCard } from "./cards";
import type { Proposed } from "./desk";
import { REPLAYED_DAYS } from "./history/rules";
import type { Doubt } from "./language/agreement";
import type { Condition } from "./language/conditions";
import { LEAST_FLOW_USD } from "./language/grammar";
import { HOW_TO_SAY, lineOf } from "./language/wordings";
import type { Alert } from "./model";
import { observed } from "./language/sentences";

/** Cards about alerts that only actions make: what was read from words, and why an alert has fired. */

const SHOWN = 5;

/** What was understood, the value now, and when the alert would have fired, with buttons to set or change it. */
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
  const steps = (by: number, of: (factor: number) => Condition): [string, Condition][] => [
    [signed(-by, 0), of(1 - by / 100)],
    [signed(by, 0), of(1 + by / 100)],
  ];
  switch (condition.kind) {
    case "price":
      return steps(1, (by) => ({ ...condition, levelUsd: near(condition.levelUsd, by) }));
    case "change": {
      const to = (percent: number) => ({ ...condition, percent: Number(percent.toPrecision(5)) });
      const { percent } = condition;
      return percent <= 1 || percent >= 99
        ? []
        : [
            [signed(-1, 0), to(percent - 1)],
            [signed(1, 0), to(percent + 1)],
          ];
    }
    case "funding":
      return steps(10, (by) => ({ ...condition, percentPerHour: near(condition.percentPerHour, by) }));
    case "flow":
      return condition.overUsd * 0.9 < LEAST_FLOW_USD
        ? []
        : steps(10, (by) => ({ ...condition, overUsd: near(condition.overUsd, by) }));
    case "digest":
      return [];
  }
}

/** The question if words leave something open: each possible meaning is a button. */
export function openCard({ say, meant = [] }: Doubt): AlertCard {
  const answer: Paragraph[] = [[say], ...(meant.length === 0 ? [[HOW_TO_SAY]] : [])];
  return {
    answer,
    buttons: meant.map((one) => [{ text: typeset(lineOf(one)), command: `alert ${lineOf(one)}` }]),
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

/** The facts of the hour in which an alert fired, each with its source. */
export function whyCard(facts: readonly Fact[]): Paragraph[] {
  if (facts.length === 0) return [["Nothing was collected in that hour that says why."]];
  const lines = facts.flatMap((fact): Paragraph => [
    `\n${sayingOf(fact)} `,
    { words: fact.source, href: fact.url },
  ]);
  return [[{ bold: "What was known in that hour" }, ...lines]];
}
