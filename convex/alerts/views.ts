import * as z from "zod";
import { iso } from "../lib/time";
import { conditionShape } from "./grammar";
import type { Alert } from "./model";
import type { Replay } from "./replays";
import { REPLAYED_DAYS } from "./rules";
import type { Sink } from "./sinkRows";
import type { Observation } from "./tables";

/** Alerts and webhooks as the HTTP interface answers them. */

const moment = z.iso.datetime();

export const alertShape = z.object({
  alertId: z.string(),
  number: z.int().describe("Counts the user's alerts: what the bot calls it"),
  state: z.enum(["proposed", "active", "off"]),
  words: z.string().describe("What it waits for, as it was understood"),
  condition: conditionShape,
  readBy: z
    .enum(["grammar", "model"])
    .describe("Who read the words; what a model has read is to be looked at well"),
  createdAt: moment,
  confirmedAt: moment.nullable(),
  endedAt: moment.nullable(),
  fired: z.int().describe("How often it has fired"),
  lastFiredAt: moment.nullable(),
});

export const replayShape = z.object({
  days: z.int().describe("How far back was looked"),
  knownSince: moment.nullable().describe("Since when anything is kept of these days; null for nothing"),
  count: z.int().describe("How often it would have fired"),
  fired: z
    .array(
      z.object({
        at: moment,
        value: z.number().describe("What was observed, in the unit of the condition; 0 for a digest"),
        source: z.string(),
      }),
    )
    .describe("The last twenty times, oldest first"),
  now: z
    .object({ at: moment, value: z.number(), source: z.string() })
    .nullable()
    .describe(
      "What was last observed; null where nothing was within the hour, and for movements and digests",
    ),
  holdsNow: z
    .boolean()
    .describe("Whether the condition holds by that: then it has to end before it can begin"),
});

export const webhookShape = z.object({
  webhookId: z.string(),
  url: z.string(),
  state: z.enum(["active", "ended"]),
  createdAt: moment,
  problem: z.string().nullable().describe("Why it ended, or what the last try came to where it did not work"),
});

const SHOWN = 20;
const optionalIso = (at: number | null): string | null => (at === null ? null : iso(at));

export function shownAlert(alert: Alert): z.input<typeof alertShape> {
  const { alertId, number, state, words, readBy, createdAt, confirmedAt, endedAt, fired, lastFiredAt } =
    alert;
  return {
    ...{ alertId, number, state, words, condition: conditionShape.parse(alert.condition), readBy, fired },
    createdAt: iso(createdAt),
    confirmedAt: optionalIso(confirmedAt),
    endedAt: optionalIso(endedAt),
    lastFiredAt: optionalIso(lastFiredAt),
  };
}

export function shownReplay({ knownSince, fired, latest, holds }: Replay): z.input<typeof replayShape> {
  return {
    days: REPLAYED_DAYS,
    knownSince: optionalIso(knownSince),
    count: fired.length,
    now: latest === null ? null : shownObservation(latest),
    holdsNow: holds,
    fired: fired.slice(-SHOWN).map(shownObservation),
  };
}

function shownObservation({ observedAt, value, source }: Observation) {
  return { at: iso(observedAt), value, source };
}

export function shownSink({ createdAt, ...sink }: Sink): z.input<typeof webhookShape> {
  return { ...sink, createdAt: iso(createdAt) };
}
