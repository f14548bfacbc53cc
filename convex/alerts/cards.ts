import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatPercent, formatSignedPercent, typeset } from "../lib/text/numbers";
import { formatDate, formatDateTime, MINUTE } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { MARKS } from "../research/writing/result";
import { buildRepeatButton, buildSkipButton, buildStandButton, buildStopButton } from "./standingCards";
import { describeStanding, isStanding } from "./standingTerms";
import type { Alert, Condition, Observation, TimedCondition } from "./tables";
import {
  describe,
  FUNDING_HOURS,
  formatHours,
  HOW_TO_SAY,
  isTimed,
  formatCondition,
  describeMovement,
  describeObservation,
} from "./grammar";

/** The messenger's cards of alerts. Only their buttons set or end an alert; a typed “yes” does not. */

export type AlertCard = { answer: Paragraph[]; buttons: Button[][] };

const MY_ALERTS: Button = { text: "My alerts", command: "alerts" };
const buildTapButton = (
  what: "set" | "once" | "off" | "mute" | "unmute" | "edit",
  text: string,
  { _id }: Alert,
): Button => ({
  text,
  command: `alert ${what} ${_id}`,
});
const buildAgainButton = (condition: Condition, text: string): Button => ({
  text,
  command: `alert ${formatCondition(condition)}`,
});

/** The most bytes of a button's command. */
const LONGEST_COMMAND = 64;
/** Sets alerts with these conditions by one tap, to fire `once` or always; `null` for more than a button can carry. */
function buildOnButton(text: string, conditions: readonly Condition[], once = false): Button | null {
  const command = `alert ${once ? "only" : "on"} ${conditions.map((one) => formatCondition(one)).join("; ")}`;
  return command.length > LONGEST_COMMAND ? null : { text, command };
}

/** A question about ambiguous words, with a button for each possible meaning. */
export type Doubt = { say: string; meant?: readonly Condition[] };

export function buildDoubtCard({ say, meant = [] }: Doubt): AlertCard {
  return {
    answer: [[say], ...(meant.length === 0 ? [[HOW_TO_SAY]] : [])],
    buttons:
      meant.every(({ kind }) => kind === "change") && meant.length > 2
        ? [meant.map((one) => buildAgainButton(one, one.kind === "change" ? `${one.windowHours} h` : ""))]
        : meant.map((one) => [
            buildAgainButton(one, `${meant.length === 1 ? "Yes: " : ""}${typeset(formatCondition(one))}`),
          ]),
  };
}

/** The present value of an alert's subject, at most an hour old, and whether the condition holds. */
export type Present = { latest: Observation | null; holds: boolean };

/** The proposal: the condition as it was read and the present value, with buttons to set it. */
export function buildProposalCard(alert: Alert, present: Present): AlertCard {
  const { state, condition } = alert;
  const text = describe(condition);
  if (state === "active")
    return {
      answer: [[{ bold: "🔔 You have that alert already" }, `\n${text}`]],
      buttons: [[buildTapButton("off", "Off", alert), MY_ALERTS]],
    };
  const instead = alert.replaces === undefined ? "" : " It takes the place of the alert that you edit.";
  return {
    answer: [buildProposalLines(alert, present), [`Right?${instead} Nothing is set until you tap Set.`]],
    buttons: [
      [
        buildTapButton("set", "Set", alert),
        ...(isTimed(condition) ? [] : [buildTapButton("once", "Only once", alert)]),
        buildTapButton("off", "No", alert),
      ],
    ],
  };
}

function buildProposalLines({ condition, once, until }: Alert, { latest, holds }: Present): Paragraph {
  const now = isTimed(condition)
    ? describeClock(condition)
    : latest && describeObservation(condition, latest);
  return [
    { bold: `❔ ${describe(condition)}` },
    now === null ? "" : `\nNow: ${now}`,
    holds ? "\nAlready true now; I'll tell you the next time." : "",
    once === true ? "\nI'll tell you once." : "",
    until === undefined ? "" : `\nIt ends on ${formatDateTime(until)}.`,
  ];
}

function describeClock({ timeZone }: TimedCondition): string {
  const clock = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return `${new Intl.DateTimeFormat("en-GB", clock).format(Date.now())} there`;
}

export function buildConfirmedCard(alert: Alert): AlertCard {
  const { expiresAt, condition, once, readyAt } = alert;
  const often = once ? "I'll tell you once." : "I'll tell you each time it happens, at most hourly.";
  const until = expiresAt === undefined ? "" : ` It ends on ${formatDateTime(expiresAt)}.`;
  return {
    answer: [
      [{ bold: "🔔 Alert set" }, `\n${describe(condition)}`],
      [`${isTimed(condition) ? `You get it next on ${formatDateTime(readyAt)}.` : often}${until}`],
    ],
    buttons: [[buildTapButton("off", "Off", alert), MY_ALERTS]],
  };
}

/** An alert that was switched off, or never set. */
export function buildEndedCard({ condition, confirmedAt, once }: Alert): AlertCard {
  const what = confirmedAt === undefined ? "Not set" : "Off";
  const on = confirmedAt === undefined ? null : buildOnButton("On", [condition], once);
  return {
    answer: [[`${what}: ${describe(condition)}.`]],
    buttons: [[...(on === null ? [] : [on]), MY_ALERTS]],
  };
}

/** An alert that has expired. */
export function buildExpiredCard({ condition }: Alert): AlertCard {
  return {
    answer: [[{ bold: "⏳ An alert has ended" }, `\n${describe(condition)}`]],
    buttons: [[buildAgainButton(condition, "Set again")]],
  };
}

/** The proposals of one message, with a button that sets all. */
export function buildProposalsCard(proposals: readonly { alert: Alert; present: Present }[]): AlertCard {
  const all = buildOnButton(
    "Set both",
    proposals.map(({ alert }) => alert.condition),
  );
  const each = ({ alert }: { alert: Alert }) => [buildTapButton("set", `Set ${shorten(alert)}`, alert)];
  return {
    answer: [
      ...proposals.map(({ alert, present }) => buildProposalLines(alert, present)),
      ["Right? Nothing is set until you tap."],
    ],
    buttons: [
      ...(all === null ? [] : [[{ ...all, text: proposals.length > 2 ? "Set all" : all.text }]]),
      ...proposals.map(each),
    ],
  };
}

/** The question for an alert's new level. */
export function buildEditCard({ condition }: Alert): AlertCard {
  const what = isTimed(condition) ? "time, such as 07:30" : "level, such as";
  const such =
    condition.kind === "price"
      ? ` ${formatDollars(condition.levelUsd)}`
      : condition.kind === "flow"
        ? " 20M"
        : " 5";
  return {
    answer: [
      [{ bold: `✏️ ${describe(condition)}` }],
      [`Write the new ${what}${isTimed(condition) ? "" : such}, within ten minutes.`],
    ],
    buttons: [[MY_ALERTS]],
  };
}

/** An alert or a standing order, as a sentence. */
export const describeAlert = (row: Alert): string =>
  isStanding(row) ? describeStanding(row) : describe(row.condition);

/** An alert of a list, with the present value of an active one. */
export type Listed = { alert: Alert; latest: Observation | null };

/** All alerts of a user, numbered, each with its buttons. @param now Epoch ms. @param say Stands above them. */
export function buildListCard(listed: readonly Listed[], now: number, say?: string): AlertCard {
  const numbered = listed.map((one, i) => ({ ...one, number: i + 1 }));
  const of = (state: Alert["state"]) => numbered.filter(({ alert }) => alert.state === state);
  const line = ({ number, alert, latest }: Listed & { number: number }) => {
    const { condition, fired, once, state, readyAt } = alert;
    const away = latest === null ? "" : ` · ${formatDistance(alert, latest)}`;
    const quiet =
      state === "active" && !isTimed(condition) && !isStanding(alert) && readyAt > now + MINUTE
        ? ` · quiet until ${formatDateTime(readyAt)}`
        : "";
    return `\n${number}. ${describeAlert(alert)}${away}${once ? ", once" : ""}${fired === 0 ? "" : `, fired ${fired === 1 ? "once" : `${fired} times`}`}${quiet}`;
  };
  const [active, proposed] = [of("active"), of("proposed")];
  const isOn = ({ alert }: Listed) => active.some((one) => describeAlert(one.alert) === describeAlert(alert));
  const off = of("off").filter((one) => !isOn(one));
  const none =
    "You have no active alert. Ask for one in your own words, such as: tell me when BTC is above 100,000";
  return {
    answer: [
      ...(say === undefined ? [] : [[say]]),
      active.length === 0 ? [none] : [{ bold: "🔔 Your alerts" }, ...active.map(line)],
      ...(proposed.length === 0 ? [] : [[{ bold: "Not set: tap to set" }, ...proposed.map(line)]]),
      ...(off.length === 0 ? [] : [[{ bold: "Off" }, ...off.map(line)]]),
    ],
    buttons: [
      ...active.map(({ number, alert }) =>
        isStanding(alert)
          ? [
              buildStopButton(alert, `${number} Stop`),
              ...(alert.condition.kind === "clock" ? [buildSkipButton(alert, `${number} Skip next`)] : []),
            ]
          : [
              buildTapButton("off", `${number} Off`, alert),
              buildTapButton("edit", `${number} Edit`, alert),
              ...(isTimed(alert.condition)
                ? []
                : alert.readyAt > now + MINUTE
                  ? [buildTapButton("unmute", `${number} Unmute`, alert)]
                  : [buildTapButton("mute", `${number} Mute 2 h`, alert)]),
            ],
      ),
      ...proposed.map(({ number, alert }) =>
        isStanding(alert)
          ? [buildStandButton(alert, `${number} Set`), buildStopButton(alert, `${number} No`)]
          : [buildTapButton("set", `${number} Set`, alert), buildTapButton("off", `${number} No`, alert)],
      ),
      ...off.map(({ number, alert }) => [
        isStanding(alert)
          ? buildRepeatButton(alert, `${number} On`)
          : (buildOnButton(`${number} On`, [alert.condition], alert.once) ??
            buildAgainButton(alert.condition, `${number} On`)),
      ]),
    ],
  };
}

/** The distance of the present value from the level: `3.2 % away, now $104,650`. */
function formatDistance({ condition, level }: Alert, { value }: Observation): string {
  if (condition.kind === "price")
    return `${formatPercent(Math.abs(level / value - 1) * 100, 1)} away, now ${formatDollars(value)}`;
  if (condition.kind === "change") return `now ${formatSignedPercent(value, 1)}`;
  return condition.kind === "funding" ? `now ${formatPercent(value * FUNDING_HOURS)}` : "";
}

const shorten = ({ condition }: Alert): string => typeset(formatCondition(condition, "$"));

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
  if (move === null || !("token" in condition))
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
  if (!("token" in condition) || isTimed(condition)) return [[buildTapButton("off", "Off", alert)]];
  return [
    [
      buildTapButton("off", "Off", alert),
      buildTapButton("mute", "Mute 2 h", alert),
      { text: "Why", command: `ask Why has ${condition.token} moved today?` },
    ],
  ];
}

/** A change of price that counts as news, as a part of it. */
const MOVED = 0.03;
type Told = NonNullable<Alert["told"]>;
type Found = Pick<Told, "outlook" | "priceUsd">;

/** Whether research is news: another outlook, or a price that has moved by 3 %. The first always is. */
export function hasChanged(told: Told | undefined, { outlook, priceUsd }: Found): boolean {
  if (told === undefined || told.outlook !== outlook) return true;
  return priceUsd !== null && told.priceUsd !== null && Math.abs(priceUsd / told.priceUsd - 1) >= MOVED;
}

const toMark = (outlook: string): string =>
  MARKS[outlook === "bullish" || outlook === "bearish" ? outlook : "neutral"];

/** Research at its hour: the change first. */
export function buildBriefCard(
  { token }: Extract<Condition, { kind: "research" }>,
  told: Told | undefined,
  found: Found & { summary: string; fetchedAt: number; held?: string | undefined },
): Paragraph[] {
  const { outlook, priceUsd, summary, fetchedAt, held } = found;
  const was =
    told === undefined || told.outlook === outlook
      ? ""
      : ` was ${toMark(told.outlook)} since ${formatDate(told.at)}`;
  const moved =
    told?.priceUsd == null || priceUsd === null
      ? ""
      : ` ${formatSignedPercent((priceUsd / told.priceUsd - 1) * 100)}`;
  const price = priceUsd === null ? "" : `, ${formatDollars(priceUsd)}`;
  return [
    [{ bold: `${toMark(outlook)}${was} · ${token}${moved}${price}` }, `\n${formatDateTime(fetchedAt)}`],
    [summary],
    ...(held === undefined ? [] : [[`You hold ${held}.`]]),
    [{ command: `report ${token}` }, " has the whole text with its sources."],
  ];
}

export function buildNoBriefCard({ condition, readyAt }: Alert): Paragraph[] {
  return [
    [`${describe(condition)}: none could be made today. The next is due on ${formatDateTime(readyAt)}.`],
  ];
}
