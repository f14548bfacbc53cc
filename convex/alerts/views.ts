import * as z from "zod";
import { iso } from "../lib/time";
import { conditionShape } from "./language/conditions";

/** Alerts as the HTTP interface answers them. */

/** Epoch ms, shown in ISO 8601. */
const moment = z.number().transform(iso).pipe(z.iso.datetime());

export const alertShape = z.object({
  alertId: z.string(),
  number: z.int().describe("Its number among the user's alerts, which the bot shows"),
  state: z.enum(["proposed", "active", "off"]),
  words: z.string().describe("Its condition in words"),
  condition: conditionShape,
  readBy: z.enum(["grammar", "model"]).describe("Who read the words"),
  createdAt: moment,
  confirmedAt: moment.nullable(),
  endedAt: moment.nullable(),
  expiresAt: moment.nullable().describe("When it ends by itself, unless it is confirmed again"),
  fired: z.int().describe("How often it has fired"),
  lastFiredAt: moment.nullable(),
});

export const replayShape = z.object({
  days: z.int().describe("How far back was looked"),
  knownSince: moment.nullable().describe("The beginning of the stored observations"),
  count: z.int().describe("How often it would have fired"),
  fired: z
    .array(
      z.object({
        at: moment,
        value: z.number().describe("In the unit of the condition; 0 for a digest"),
        source: z.string(),
      }),
    )
    .describe("The last twenty times, oldest first"),
  now: z
    .object({ at: moment, value: z.number(), source: z.string() })
    .nullable()
    .describe("The last observation; null if there is none within the hour, and for movements and digests"),
  holdsNow: z.boolean().describe("Whether the condition holds for it"),
});
