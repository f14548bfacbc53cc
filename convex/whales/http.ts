import * as z from "zod";
import { internal } from "../_generated/api";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { absentWhenEmpty, userId } from "../lib/input";
import { charge } from "../lib/limits";
import { HOUR } from "../lib/time";
import { awaitDelivery } from "../messenger/waiting";

const MAX_HOURS = 168;
const DEFAULT_HOURS = 6;
const HOURS_MESSAGE = `must be a whole number from 1 to ${MAX_HOURS}`;

/** A query holds text, a body a number. */
const hours = absentWhenEmpty(
  z
    .union(
      [
        z.number(),
        z
          .string()
          .trim()
          .regex(/^\d{1,4}$/)
          .transform(Number),
      ],
      HOURS_MESSAGE,
    )
    .pipe(z.int(HOURS_MESSAGE).min(1, HOURS_MESSAGE).max(MAX_HOURS, HOURS_MESSAGE)),
).describe(`How many hours to look back, 1 to ${MAX_HOURS}; ${DEFAULT_HOURS} when left out.`);

const whaleAlert = z.object({
  token: z.string(),
  alertType: z.enum(["cex_inflow", "cex_outflow", "large_transfer", "smart_money"]),
  amount: z.number().positive().describe("USD"),
  direction: z.enum(["bullish", "bearish", "neutral"]),
  description: z.string(),
  detectedAt: z.number().describe("Epoch milliseconds"),
  messengerSent: z.boolean().describe("The hourly card with this alert was delivered."),
  txHash: z.string().optional(),
  verified: z.boolean().describe("The chain has a successful transaction with this hash."),
});

const whaleAlerts: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/whale-alerts",
  summary:
    "Whale alerts of the last hours, newest first, at most 500; with `userId`, also as a card to that user's messenger.",
  needs: [],
  input: z.object({ hours, userId: absentWhenEmpty(userId) }),
  returns: z.object({
    hours: z.int(),
    count: z.int(),
    alerts: z.array(whaleAlert),
    messengerSent: z.boolean().optional().describe("With `userId`: whether the card has arrived by now."),
  }),
  handler: async (ctx, { hours = DEFAULT_HOURS, userId }, { caller }) => {
    const since = Date.now() - hours * HOUR;
    if (userId !== undefined) await charge(ctx, "card", caller);
    const alerts = await ctx.runQuery(internal.whales.alerts.since, { since });
    const answer = { hours, count: alerts.length, alerts };
    if (userId === undefined) return answer;
    const messageId = await ctx.runMutation(internal.whales.alerts.send, { userId, hours, since });
    return { ...answer, messengerSent: messageId !== null && (await awaitDelivery(ctx, messageId)) };
  },
});

export const whaleEndpoints: MountedEndpoint[] = [whaleAlerts];
