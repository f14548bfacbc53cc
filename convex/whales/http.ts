import * as z from "zod";
import { internal } from "../_generated/api";
import { needsWhileEmpty } from "../lib/env";
import { EXAMPLE_USER } from "../lib/http/described";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { optionalUserId, wholeNumberOr } from "../lib/http/input";
import { charge } from "../lib/limits/charges";
import { HOUR, wholeMinute } from "../lib/time";
import { awaitDelivery } from "../messenger/notices";
import { hours, measuredExample, publicAlertShape } from "./shapes";

const whaleAlerts: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/whale-alerts",
  access: "shown",
  summary:
    "Whale alerts of the last hours, newest first, at most 500; with `userId`, also as a card to that user's messenger.",
  description:
    "From two sources, which `source` tells apart. Measured: the service reads Base itself for transfers from 1,000,000 USD on, from and to labelled addresses of exchanges. Agent-reported: once an hour a language model is asked for large moves on any chain; one on Base is looked up there, and `verified` tells whether it agrees.",
  errors: {
    rate_limited: "With `userId`: too many cards were requested.",
    not_configured: "No alert was ever stored, and LLM_GATEWAY_API_KEY is not configured.",
  },
  example: {
    input: { hours: 6, userId: EXAMPLE_USER },
    output: { hours: 6, count: 1, alerts: [measuredExample], messengerSent: true },
  },
  input: z.object({
    hours,
    userId: optionalUserId.describe("The user whose messenger gets the card; omit for none."),
  }),
  returns: z.object({
    hours: z.number(),
    count: z.int(),
    alerts: z.array(publicAlertShape),
    messengerSent: z
      .boolean()
      .optional()
      .describe(
        "With `userId`: whether the card has arrived by now; false for a user who has neither set a chat nor confirmed a link.",
      ),
  }),
  handler: async (ctx, { hours, userId }, { caller }) => {
    const since = wholeMinute(Date.now()) - hours * HOUR;
    await needsWhileEmpty("LLM_GATEWAY_API_KEY", () =>
      ctx.runQuery(internal.whales.alerts.since, { since: 0, limit: 1 }),
    );
    if (userId !== undefined) await charge(ctx, "card", caller);
    const alerts = await ctx.runQuery(internal.whales.alerts.since, { since });
    const answer = { hours, count: alerts.length, alerts };
    if (userId === undefined) return answer;
    const messageId = await ctx.runMutation(internal.whales.alerts.send, { userId, hours, since });
    return { ...answer, messengerSent: messageId !== null && (await awaitDelivery(ctx, messageId)) === true };
  },
});

const measured: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/whales/measured",
  summary: "Every measured whale alert, the latest block first, in pages.",
  description:
    "What the service has read about each on Base: transaction, place in it, block, addresses with their labels' sources, quantity and price. Blocks are read once the node calls them safe, minutes after they were made.",
  example: {
    input: {},
    output: { count: 1, alerts: [measuredExample], next: null },
  },
  input: z.object({
    before: wholeNumberOr(Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER).describe(
      "Only alerts in blocks below this one; use an answer's `next` for the following page.",
    ),
  }),
  returns: z.object({
    count: z.int(),
    alerts: z.array(publicAlertShape),
    next: z.int().nullable().describe("`before` for the next page; null after the last"),
  }),
  handler: async (ctx, { before }) => {
    const { alerts, next } = await ctx.runQuery(internal.whales.alerts.page, { before });
    return { count: alerts.length, alerts, next };
  },
});

export const whaleEndpoints: MountedEndpoint[] = [whaleAlerts, measured];
