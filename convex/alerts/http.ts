import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { DELIVERY_RULES } from "../messenger/webhooks/http";
import { defineEndpoint, type Call, type MountedEndpoint } from "../platform/http/endpoint";
import { EXAMPLE_TIME, EXAMPLE_USER, requiredText, userId } from "../platform/http/input";
import { holdSlot } from "../platform/limits/slots";
import {
  alertShape,
  conditionShape,
  EXAMPLE_ALERT,
  observationShape,
  standingOrderShape,
  toPublicAlert,
} from "./shapes";
import { listPublic, standingChange, stopStanding } from "./standingHttp";
import type { Alert } from "./tables";

/** Alerts over HTTP. */

const requestShape = z.object({
  userId,
  text: requiredText(300)
    .optional()
    .describe("What to be alerted to, in any language, at most 300 characters."),
  condition: conditionShape.optional().describe("The same for programs, instead of `text`."),
  once: z.boolean().optional().describe("End it when it has fired once."),
  until: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("When it ends, if that is sooner than by itself: a moment in ISO 8601."),
});

const answerShape = z.object({
  alert: alertShape,
  now: observationShape,
  holdsNow: z.boolean().describe("Whether the condition holds now"),
});

/** Reads a request and stores it as a proposal. */
async function storeProposal(
  ctx: ActionCtx,
  { userId, text: words, condition, once, until }: z.output<typeof requestShape>,
  { caller }: Pick<Call, "caller">,
): Promise<z.input<typeof answerShape>> {
  if ((words === undefined) === (condition === undefined))
    throw new AppError("invalid_request", "Send either text or a condition");
  const ends = until === undefined ? {} : { until: Date.parse(until) };
  if (ends.until !== undefined && ends.until <= Date.now())
    throw new AppError("invalid_request", "until is in the past: name a later moment");
  // The reader of words, with its providers, is loaded on demand.
  const work = async () => {
    const { proposeAlert } = await import("./service");
    const request = condition === undefined ? { text: words ?? "" } : { condition };
    return proposeAlert(ctx, caller, { userId, ...ends, ...(once === undefined ? {} : { once }) }, request);
  };
  const { alert, present } = await holdSlot(ctx, caller, work);
  const { latest, holds: holdsNow } = present;
  const now = latest && { at: latest.observedAt, value: latest.value, source: latest.source };
  return { alert: toPublicAlert(alert), now, holdsNow };
}

const propose: MountedEndpoint = defineEndpoint({
  ...DELIVERY_RULES,
  limit: "alert",
  methods: ["POST"],
  path: "/alerts",
  summary:
    "Reads an alert from a person's words, or takes it as a `condition`, and keeps it until it is confirmed.",
  description:
    "Such as `BTC above 100k`, `ETH down 5 % in 24 h`, `ETH funding above 0.05 % per 8 h`, `inflow of USDC over 10M`, `digest at 07:30 Europe/Berlin` (UTC without a zone), for any of the 100 largest coins. Other words, in any language, are restated by a model as one such line, which has to have the coin and the numbers of the words; if it has not, or the level is reached already or more than five times off, the answer is an error that says what to send instead. Nothing fires before `/alerts/confirm`; a proposal is kept for a day. If the user has the same alert already, that one is the answer; with another `once` or `until` it is a proposal that takes its place when it is confirmed.",
  errors: { invalid_request: "`error` says what to say instead." },
  example: {
    input: { userId: EXAMPLE_USER, text: "BTC above 100k" },
    output: {
      alert: EXAMPLE_ALERT,
      now: { at: EXAMPLE_TIME, value: 97_250.5, source: "chainlink" },
      holdsNow: false,
    },
  },
  input: requestShape,
  returns: answerShape,
  handler: storeProposal,
});

const set: MountedEndpoint = defineEndpoint({
  limit: "alert",
  access: "shown",
  methods: ["POST"],
  path: "/alerts/set",
  summary: "Reads an alert as `POST /alerts` does, and switches it on at once.",
  description:
    "With only the `userId` of an account that has an owner, its card goes to the owner's chat, and their tap sets it.",
  errors: {
    forbidden: "The account has an owner, and no chat that can tap.",
    conflict: "The user has the most active alerts that are allowed.",
  },
  example: {
    input: { userId: EXAMPLE_USER, text: "BTC above 100k" },
    output: {
      alert: { ...EXAMPLE_ALERT, state: "active", confirmedAt: EXAMPLE_TIME, expiresAt: EXAMPLE_TIME },
      now: { at: EXAMPLE_TIME, value: 97_250.5, source: "chainlink" },
      holdsNow: false,
    },
  },
  input: requestShape,
  returns: answerShape.extend({
    notice: z.string().optional().describe("What still has to happen before it is set, or reaches somebody"),
  }),
  handler: async (ctx, input, { caller }) => {
    const proposed = await storeProposal(ctx, input, { caller });
    const { alertId, state } = proposed.alert;
    if (state === "active") return proposed;
    if (caller.credential === "id")
      return {
        ...proposed,
        notice: "Nothing is set yet: the owner was asked in their chat, and sets it by a tap.",
      };
    const { userId } = input;
    const { alert } = await ctx.runMutation(internal.alerts.proposals.accept, { userId, alertId });
    const isReached = await ctx.runQuery(internal.messenger.notices.isReached, { userId });
    const notice = "It is set and reaches nobody yet: POST /user/messenger says where a person's cards go.";
    return { ...proposed, ...(isReached ? {} : { notice }), alert: toPublicAlert(alert) };
  },
});

const list: MountedEndpoint = defineEndpoint({
  limit: "settings",
  access: "alerts",
  methods: ["GET"],
  path: "/alerts",
  summary: "A user's alerts.",
  description: "They go to the user's own chat, and as `alert.fired` to the webhooks that ask for it.",
  example: { input: { userId: EXAMPLE_USER }, output: { alerts: [EXAMPLE_ALERT], standing: [] } },
  input: z.object({ userId }),
  returns: z.object({
    alerts: z.array(alertShape).describe("Active ones, proposals, and the last ten that were switched off"),
    standing: z.array(standingOrderShape).describe("Standing orders, as GET /mcp/defi/standing answers them"),
  }),
  handler: (ctx, { userId }) => listPublic(ctx, userId),
});

const alertId = requiredText(64).describe("The `alertId` from an earlier answer.");
const changeErrors = {
  not_found: "This user has no alert of this id.",
  conflict: "The user has the most active alerts that are allowed, or the alert is off.",
};

const accept: MountedEndpoint = defineEndpoint({
  ...DELIVERY_RULES,
  methods: ["POST"],
  path: "/alerts/confirm",
  summary: "Switches a proposed alert on, or keeps an active one for the same time again.",
  description:
    "It fires each time its condition begins to hold, at most once an hour; a condition that already holds has to stop holding first. It ends by itself after 90 days, or after 30 days for a `userId` without a login: a card says so then. A `userId` with a login may have 20 active alerts, others 5.",
  errors: changeErrors,
  example: {
    input: { userId: EXAMPLE_USER, alertId: EXAMPLE_ALERT.alertId },
    output: { alert: EXAMPLE_ALERT },
  },
  input: z.object({ userId, alertId }),
  returns: z.object({ alert: alertShape }),
  handler: async (ctx, input) => {
    const { alert } = await ctx.runMutation(internal.alerts.proposals.accept, input);
    return { alert: toPublicAlert(alert) };
  },
});

const end: MountedEndpoint = defineEndpoint({
  limit: "settings",
  access: "shown",
  methods: ["POST"],
  path: "/alerts/off",
  summary: "Switches an alert off, or drops a proposal; with a `standingId` stops a standing order.",
  description: "It stays in the list for 90 days, and cannot be switched on again.",
  errors: { ...changeErrors, forbidden: "The owner has not allowed this." },
  example: {
    input: { userId: EXAMPLE_USER, alertId: EXAMPLE_ALERT.alertId },
    output: { alert: EXAMPLE_ALERT },
  },
  input: z.object({ userId, alertId: alertId.optional(), standingId: standingChange.optional() }),
  returns: z.object({ alert: alertShape.optional(), standing: standingOrderShape.optional() }),
  handler: async (ctx, { userId, alertId, standingId }, call) => {
    if ((alertId === undefined) === (standingId === undefined))
      throw new AppError("invalid_request", "alertId is required, or standingId instead of it");
    if (standingId !== undefined) return { standing: await stopStanding(ctx, { userId, standingId }, call) };
    await ctx.runQuery(internal.identity.access.resolveRequestedAccount, {
      ...{ name: call.requestedId ?? userId, access: "delivery" as const, now: Date.now() },
      ...(call.caller.keyHash === undefined ? {} : { keyHash: call.caller.keyHash }),
    });
    const alert: Alert = await ctx.runMutation(internal.alerts.proposals.endAlert, {
      userId,
      alertId: alertId ?? "",
    });
    return { alert: toPublicAlert(alert) };
  },
});

export const alertEndpoints: MountedEndpoint[] = [propose, set, list, accept, end];
