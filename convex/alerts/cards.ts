import { typeset } from "../lib/text/numbers";
import { dateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { lineOf } from "./language/wordings";
import type { Alert } from "./model";

/** Alerts in the messenger. Only buttons set, change or end an alert; words that are typed later do not. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

export const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
export const offButton = ({ alertId }: Pick<Alert, "alertId">): Button => ({
  text: "Off",
  command: `alert off ${alertId}`,
});

/** How to change it: the line, to be sent with another number. */
export function changeCard(alert: Alert): AlertCard {
  return {
    answer: [
      [{ bold: alert.words }],
      ["Send it again with your changes: ", { command: "alert" }, ` ${lineOf(alert.condition)}`],
    ],
    buttons: [
      [
        { text: "Set as it is", command: `alert set ${alert.alertId}` },
        { text: "No", command: `alert no ${alert.alertId}` },
      ],
    ],
  };
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

/** An alert that is muted for a while. */
export function mutedCard(alert: Alert, until: number): AlertCard {
  return {
    answer: [[`🔕 Muted until ${dateTime(until)}: ${alert.words}.`]],
    buttons: [[{ text: "Unmute", command: `alert unmute ${alert.alertId}` }, offButton(alert)]],
  };
}

/** An alert that has ended, or was never set. */
export function endedCard({ words, confirmedAt }: Alert): AlertCard {
  return { answer: [[`${confirmedAt === null ? "Not set" : "Off"}: ${words}.`]], buttons: [[MY_ALERTS]] };
}

/** All alerts of a user, each with a button for what can be done with it. */
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
    { text: `${name}: ${shortOf(alert)}`, command: `alert ${what} ${alert.alertId}` },
  ];
  return { answer, buttons: [...active.map(button("off", "Off")), ...proposed.map(button("set", "Set"))] };
}

/** The longest words of a button, in characters: a phone shows about as many. */
const SHORT = 34;

function shortOf({ words, condition }: Alert): string {
  return words.length <= SHORT ? words : typeset(lineOf(condition));
}

export function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
