import * as z from "zod";
import { internal } from "../_generated/api";
import { EXAMPLE_TX, EXAMPLE_USER } from "../lib/examples";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { absentWhenEmpty, userId } from "../lib/input";
import { charge } from "../lib/limits";
import { HOUR, wholeMinute } from "../lib/time";
import { awaitDelivery } from "../messenger/waiting";
import { hours } from "./inputs";

export const whaleAlert = z.object({
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

export const whaleExample: z.output<typeof whaleAlert> = {
  token: "ETH",
  alertType: "cex_inflow",
  amount: 4_200_000,
  direction: "bearish",
  description: "1,230 ETH moved from a fund's wallet to an exchange.",
  detectedAt: 1_767_605_400_000,
  messengerSent: true,
  txHash: EXAMPLE_TX,
  verified: true,
};

const whaleAlerts: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/whale-alerts",
  summary:
    "Whale alerts of the last hours, newest first, at most 500; with `userId`, also as a card to that user's messenger.",
  description:
    "Once an hour an agent with tools is asked for large transfers, exchange flows and smart money; what it reports is stored once. A transaction that it names is looked up on the chain: `verified` tells. Reading costs nothing; with `userId` the answer waits a few seconds for the card's delivery.",
  needs: [],
  errors: { rate_limited: "With `userId`: too many cards were asked for." },
  example: {
    input: { hours: 6, userId: EXAMPLE_USER },
    output: {
      hours: 6,
      count: 1,
      alerts: [whaleExample],
      messengerSent: true,
    },
  },
  input: z.object({
    hours,
    userId: absentWhenEmpty(userId).describe("Whose messenger gets the card; omit for none."),
  }),
  returns: z.object({
    hours: z.int(),
    count: z.int(),
    alerts: z.array(whaleAlert),
    messengerSent: z
      .boolean()
      .optional()
      .describe(
        "With `userId`: whether the card has arrived by now; false for a user who has neither set a chat nor confirmed a link.",
      ),
  }),
  handler: async (ctx, { hours, userId }, { caller }) => {
    const since = wholeMinute(Date.now()) - hours * HOUR;
    if (userId !== undefined) await charge(ctx, "card", caller);
    const alerts = await ctx.runQuery(internal.whales.alerts.since, { since });
    const answer = { hours, count: alerts.length, alerts };
    if (userId === undefined) return answer;
    const messageId = await ctx.runMutation(internal.whales.alerts.send, { userId, hours, since });
    return { ...answer, messengerSent: messageId !== null && (await awaitDelivery(ctx, messageId)) };
  },
});

export const whaleEndpoints: MountedEndpoint[] = [whaleAlerts];
