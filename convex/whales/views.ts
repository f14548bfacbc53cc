import * as z from "zod";
import type { Doc } from "../_generated/dataModel";
import { wholeNumberOr } from "../lib/input";
import { ALERT_TYPES, DIRECTIONS, movement } from "./shapes";
import type { PublicAlert } from "./tables";

/** Alerts as callers see them. */

export const publicAlertShape = z.object({
  token: z.string(),
  alertType: z.enum(ALERT_TYPES),
  amount: z.number().positive().describe("USD"),
  direction: z.enum(DIRECTIONS),
  description: z.string(),
  source: z
    .enum(["measured", "agent-reported"])
    .describe("Measured: the service read it on Base itself. Agent-reported: a language model says so."),
  chain: z.string().optional().describe("Such as base or ethereum; absent where the agent named none"),
  occurredAt: z
    .number()
    .optional()
    .describe("Epoch milliseconds: when it moved; a measured one's block time"),
  detectedAt: z.number().describe("Epoch milliseconds: when the service learnt of it"),
  messengerSent: z.boolean().describe("The hourly card with this alert was delivered."),
  txHash: z.string().optional(),
  verified: z
    .boolean()
    .describe(
      "The service has read the transaction on Base: it succeeded, when the alert says, and moved the token and the amount that the alert names.",
    ),
  movement: movement.optional().describe("Of a measured one: what was read of it"),
});

export function publicAlert(alert: Doc<"whaleAlerts">): PublicAlert {
  const { token, alertType, amount, direction, description, detectedAt, messengerSent, verified } = alert;
  const { chain, occurredAt, txHash, movement: read } = alert;
  return {
    ...{ token, alertType, amount, direction, description },
    source: sourceOf(alert),
    ...(chain === undefined ? {} : { chain }),
    ...(occurredAt === undefined ? {} : { occurredAt }),
    ...{ detectedAt, messengerSent },
    ...(txHash === undefined ? {} : { txHash }),
    verified,
    ...(read === undefined ? {} : { movement: read }),
  };
}

function sourceOf({ movement: read }: Pick<Doc<"whaleAlerts">, "movement">): PublicAlert["source"] {
  return read === undefined ? "agent-reported" : "measured";
}

const MAX_HOURS = 168;
const DEFAULT_HOURS = 6;

/** The window of whale alerts. */
export const hours = wholeNumberOr(DEFAULT_HOURS, 1, MAX_HOURS).describe(
  `How many hours to look back, 1 to ${MAX_HOURS}; ${DEFAULT_HOURS} when left out.`,
);
