import { dateTime } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import type { Proposed } from "./desk";
import type { Alert } from "./model";
import { REPLAYED_DAYS } from "./history/rules";
import { observed } from "./words";

/** Alerts in the messenger. */

const SHOWN = 5;

/** What was understood, when it would have fired, and how to say yes. */
export function proposalCard({ alert, replay }: Proposed): Paragraph[] {
  const { number, words, state, readBy } = alert;
  if (state === "active") return [[{ bold: `🔔 Alert ${number} is that already` }, `\n${words}`]];
  return [
    [{ bold: `❔ Alert ${number}: is this right?` }, `\n${words}`, ...nowLines(alert, replay)],
    ...(readBy === "model" ? [["A model has read your words. Look at coin, direction and number."]] : []),
    replayLines(alert, replay),
    ["It is off until you say yes: ", { command: "alert" }, ` yes ${number}`],
  ];
}

function nowLines({ condition }: Alert, { latest, holds }: Proposed["replay"]): string[] {
  if (latest === null) return [];
  const now = `\nNow: ${observed(condition, latest)}`;
  return holds ? [now, "\nThat is so already: you hear when it begins again."] : [now];
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

export function confirmedCard({ number, words, expiresAt }: Alert): Paragraph[] {
  const until = expiresAt === null ? "" : `, until ${dateTime(expiresAt)}`;
  return [
    [{ bold: `🔔 Alert ${number} is on` }, `\n${words}`],
    [
      `You hear each time this begins, at most once an hour${until}. `,
      { command: "alerts" },
      ` off ${number} ends it.`,
    ],
  ];
}

/** All of a user's. */
export function listCard(alerts: readonly Alert[]): Paragraph[] {
  const lines = (state: Alert["state"]) =>
    alerts
      .filter((one) => one.state === state)
      .map(
        ({ number, words, fired }) => `\n${number}. ${words}${fired === 0 ? "" : `, fired ${times(fired)}`}`,
      );
  const [active, proposed, off] = [lines("active"), lines("proposed"), lines("off")];
  return [
    active.length === 0
      ? ["You have no active alert. Ask for one: ", { command: "alert" }, " BTC above 100000"]
      : [{ bold: "🔔 Your alerts" }, ...active],
    ...(proposed.length === 0
      ? []
      : [
          [{ bold: "Waiting for your yes" }, ...proposed],
          ["Say yes with the number: ", { command: "alert" }, " yes 1"],
        ]),
    ...(off.length === 0 ? [] : [[{ bold: "Off" }, ...off]]),
    ...(active.length === 0 ? [] : [["Switch one off by its number: ", { command: "alerts" }, " off 1"]]),
  ];
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
