import * as z from "zod";
import { internal } from "../_generated/api";
import { isSet, getRequired } from "../lib/env";
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_TX,
  EXAMPLE_USER,
  optionalUnlessBlank,
  numberInRange,
  optionalUserId,
} from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { charge } from "../platform/limits/charges";
import { HOUR, startOfMinute } from "../lib/time";
import { awaitDelivery } from "../messenger/notices";
import { ALERT_TYPES, DIRECTIONS } from "./coins";

/** The alerts as callers see them. */

const end = z.object({
  address: z.string().describe("In lower case"),
  label: z
    .object({ exchange: z.string(), source: z.string().describe("The source of the label") })
    .optional()
    .describe("The owner of the address; absent without a label"),
});

/** The service's own measurement of a movement on Base. */
const movement = z.object({
  from: end,
  to: end,
  quantity: z.string().describe("In the coin's smallest unit"),
  position: z
    .int()
    .describe(
      "Index of its log in the transaction, from 0; -1 for ether that the transaction itself carried",
    ),
  blockNumber: z.int(),
  blockHash: z.string(),
  price: z
    .object({ usd: z.number(), source: z.string(), observedAt: z.number().describe("Epoch milliseconds") })
    .describe("The price that it was valued with"),
});

/** An alert as callers see it. */
export const publicAlertShape = z.object({
  token: z.string(),
  alertType: z.enum(ALERT_TYPES),
  amount: z.number().positive().describe("USD"),
  direction: z.enum(DIRECTIONS),
  description: z.string(),
  source: z
    .enum(["measured", "agent-reported"])
    .describe("Measured: the service read it on Base itself. Agent-reported: a language model says so."),
  chain: z.string().optional().describe("Such as base or ethereum; absent if the agent named none"),
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
  movement: movement.optional().describe("For a measured alert: what was read about it"),
});

const [MIN_HOURS, MAX_HOURS] = [1, 168];

/** The window of whale alerts. */
export const hoursInput = optionalUnlessBlank(numberInRange(MIN_HOURS, MAX_HOURS))
  .transform((given) => given ?? 6)
  .describe(`How many hours to look back, ${MIN_HOURS} to ${MAX_HOURS}, such as 6 or 1.5; 6 when left out.`);

const MOST_LISTED = 100;

const measuredExample: z.output<typeof publicAlertShape> = {
  token: "USDC",
  alertType: "cex_inflow",
  amount: 4_200_420,
  direction: "neutral",
  description: "4,200,000 USDC moved from 0x7099…79c8 to Binance.",
  source: "measured",
  chain: "base",
  occurredAt: 1_767_605_371_000,
  detectedAt: 1_767_605_400_000,
  messengerSent: true,
  txHash: EXAMPLE_TX,
  verified: true,
  movement: {
    from: { address: EXAMPLE_ADDRESS.toLowerCase() },
    to: { address: "0x3304e22ddaa22bcdc5fca2269b418046ae7b566a" },
    quantity: "4200000000000",
    position: 0,
    blockNumber: 40_412_812,
    blockHash: `0x${"4b".repeat(32)}`,
    price: { usd: 1.0001, source: "chainlink", observedAt: 1_767_600_000_000 },
  },
};

const whaleAlerts: MountedEndpoint = defineEndpoint({
  methods: ["GET", "POST"],
  path: "/mcp/whale-alerts",
  access: "shown",
  summary:
    "Whale alerts of the last hours, newest first, at most 500 or `limit`; with `userId`, also as a card to that user's messenger.",
  description:
    "From two sources, which `source` tells apart. Measured: the service reads Base itself, up to the node's safe block, for transfers from 1,000,000 USD on, from and to labelled addresses of exchanges. Agent-reported: once an hour a language model is asked for large moves on any chain; one on Base is looked up there, and `verified` tells whether it agrees. `npm run verify-whales` derives the measured ones again.",
  errors: {
    rate_limited: "With `userId`: too many cards were requested.",
    not_configured: "No alert was ever stored, and LLM_GATEWAY_API_KEY is not configured.",
  },
  example: {
    input: { hours: 6, userId: EXAMPLE_USER },
    output: { hours: 6, count: 1, alerts: [measuredExample], messengerSent: true },
  },
  input: z.object({
    hours: hoursInput,
    limit: optionalUnlessBlank(numberInRange(1, MOST_LISTED, "int")).describe(
      `How many of the newest, 1 to ${MOST_LISTED}; all of them, at most 500, when left out.`,
    ),
    userId: optionalUserId.describe("The user whose messenger gets the card; omit for none."),
  }),
  returns: z.object({
    hours: z.number(),
    count: z.int().describe("How many this answer contains"),
    more: z.int().optional().describe("With `limit`: how many there are beyond them, of at most 500"),
    alerts: z.array(publicAlertShape),
    messengerSent: z
      .boolean()
      .optional()
      .describe(
        "With `userId`: whether the card has arrived by now; false for a user who has neither set a chat nor confirmed a link.",
      ),
  }),
  handler: async (ctx, { hours, limit, userId }, { caller }) => {
    const since = startOfMinute(Date.now()) - hours * HOUR;
    if (!isSet("LLM_GATEWAY_API_KEY")) {
      const stored = await ctx.runQuery(internal.whales.alerts.listAlertsSince, { since: 0, limit: 1 });
      if (stored.length === 0) getRequired("LLM_GATEWAY_API_KEY");
    }
    if (userId !== undefined) await charge(ctx, "card", caller);
    const found = await ctx.runQuery(internal.whales.alerts.listAlertsSince, { since });
    const alerts = found.slice(0, limit);
    const more = limit === undefined ? {} : { more: found.length - alerts.length };
    const answer = { hours, count: alerts.length, ...more, alerts };
    if (userId === undefined) return answer;
    const messageId = await ctx.runMutation(internal.whales.alerts.send, { userId, hours, since });
    return { ...answer, messengerSent: messageId !== null && (await awaitDelivery(ctx, messageId)) === true };
  },
});

export const whaleEndpoints: MountedEndpoint[] = [whaleAlerts];
