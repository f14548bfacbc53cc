import * as z from "zod";
import { internal } from "../_generated/api";
import { refuseCrowd, waitingAs } from "../lib/crowd";
import { EXAMPLE_TIME, EXAMPLE_USER } from "../lib/examples";
import { USER_TOKEN, USER_TOKEN_ERRORS } from "../lib/headers";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { text, userId } from "../lib/input";
import { assertMayMove } from "../users/access";
import { alertShape, replayShape, shownAlert, shownReplay, shownSink, webhookShape } from "./views";

const id = (what: string) => text(64).describe(`The \`${what}\` that an earlier answer told.`);

const alertExample = {
  alertId: "kd7f2m9q4x1c8v6b3n5h0j2w9e7r4t6y",
  number: 1,
  state: "proposed" as const,
  words: "BTC at $100,000 or above",
  condition: {
    kind: "price" as const,
    token: "BTC" as const,
    direction: "above" as const,
    levelUsd: 100_000,
  },
  readBy: "grammar" as const,
  createdAt: EXAMPLE_TIME,
  confirmedAt: null,
  endedAt: null,
  fired: 0,
  lastFiredAt: null,
};

const webhookExample = {
  webhookId: "ks9b4n7m2v5c8x1z6q3w0e7r4t9y2u5h",
  url: "https://hooks.example.com/alerts",
  state: "active" as const,
  createdAt: EXAMPLE_TIME,
  problem: null,
};

const guarded = { needs: [], limit: "settings", errors: USER_TOKEN_ERRORS, headers: USER_TOKEN } as const;

const propose: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/alerts",
  summary:
    "Reads an alert from a person's words, says when it would have fired, and keeps it until it is confirmed.",
  description:
    "Five kinds: a price of BTC or ETH above or below a level in USD; a price up or down by a percentage within hours; a funding rate of BTC, ETH or SOL above or below percent per hour; a measured movement into or out of exchanges on Base from an amount in USD on; a digest every day at a time, UTC unless a zone such as `Europe/Berlin` follows. Words that fit no phrase are shown to a model, whose proposal has to keep to the same grammar. What could mean two things is refused. Nothing fires before `/alerts/confirm`; a proposal is kept for a day.",
  errors: {
    ...USER_TOKEN_ERRORS,
    invalid_request: "The words are no alert, or could be several; the message says what to say instead.",
    rate_limited: "A model was needed, and too many ask it just now.",
  },
  example: {
    input: { userId: EXAMPLE_USER, text: "BTC above 100k" },
    output: {
      alert: alertExample,
      replay: {
        days: 7,
        knownSince: "2025-12-29T09:30:00.000Z",
        count: 1,
        fired: [{ at: "2026-01-02T14:05:00.000Z", value: 100_120.4, source: "chainlink" }],
        now: { at: EXAMPLE_TIME, value: 97_250.5, source: "chainlink" },
        holdsNow: false,
      },
    },
  },
  input: z.object({ userId, text: text(300).describe("What to be told of, at most 300 characters.") }),
  returns: z.object({ alert: alertShape, replay: replayShape }),
  handler: async (ctx, input, { caller }) => {
    await assertMayMove(ctx, input.userId);
    const { proposeAlert } = await import("./proposals");
    const work = () => proposeAlert(ctx, { ...input, caller });
    const { alert, replay } = await waitingAs(ctx, caller, work, refuseCrowd);
    return { alert: shownAlert(alert), replay: shownReplay(replay) };
  },
});

const list: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["GET"],
  path: "/alerts",
  summary: "A user's alerts, and the webhooks that they are posted to.",
  description:
    "Secrets of webhooks are not among it. `problem` says what a webhook's last post came to, where it failed.",
  example: {
    input: { userId: EXAMPLE_USER },
    output: { alerts: [alertExample], webhooks: [webhookExample] },
  },
  input: z.object({ userId }),
  returns: z.object({
    alerts: z.array(alertShape).describe("Active ones, proposals, and the last ten that were switched off"),
    webhooks: z.array(webhookShape),
  }),
  handler: async (ctx, { userId }) => {
    await assertMayMove(ctx, userId);
    const { alerts, webhooks } = await ctx.runQuery(internal.alerts.proposals.all, { userId });
    return { alerts: alerts.map(shownAlert), webhooks: webhooks.map(shownSink) };
  },
});

const active = { ...alertExample, state: "active" as const, confirmedAt: EXAMPLE_TIME };

const accept: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/alerts/confirm",
  summary: "Switches a proposed alert on.",
  description:
    "From now on it fires when its condition begins to hold, each time; after that not before the condition was seen not to hold, an hour later at the earliest. What holds already at this moment has to end first.",
  errors: {
    ...USER_TOKEN_ERRORS,
    not_found: "This user has no such alert: a proposal is kept for a day.",
    conflict: "Twenty alerts are active, or this one was switched off.",
  },
  example: { input: { userId: EXAMPLE_USER, alertId: alertExample.alertId }, output: { alert: active } },
  input: z.object({ userId, alertId: id("alertId") }),
  returns: z.object({ alert: alertShape }),
  handler: async (ctx, input) => {
    await assertMayMove(ctx, input.userId);
    return { alert: shownAlert(await ctx.runMutation(internal.alerts.proposals.accept, input)) };
  },
});

const end: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/alerts/off",
  summary: "Switches an alert off, or drops a proposal.",
  description: "It stays in the list for 90 days, and is not switched on again. One that is off stays so.",
  errors: { ...USER_TOKEN_ERRORS, not_found: "This user has no such alert." },
  example: {
    input: { userId: EXAMPLE_USER, alertId: alertExample.alertId },
    output: { alert: { ...active, state: "off", endedAt: EXAMPLE_TIME } },
  },
  input: z.object({ userId, alertId: id("alertId") }),
  returns: z.object({ alert: alertShape }),
  handler: async (ctx, input) => {
    await assertMayMove(ctx, input.userId);
    return { alert: shownAlert(await ctx.runMutation(internal.alerts.proposals.end, input)) };
  },
});

const addWebhook: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/alerts/webhooks",
  summary: "Has the user's alerts posted to an https address too, signed; tells the secret this once.",
  description:
    "By the Standard Webhooks specification: `webhook-id`, `webhook-timestamp` and `webhook-signature` (`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body). A post that is not answered with a 2xx within 10 seconds is tried again over three days; 410 ends the webhook. The same `webhook-id` may arrive twice. Redirects are not followed. At most three.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  errors: {
    ...USER_TOKEN_ERRORS,
    conflict: "The user has three webhooks, or this one already.",
  },
  example: {
    input: { userId: EXAMPLE_USER, url: webhookExample.url },
    output: { webhook: webhookExample, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=" },
  },
  input: z.object({
    userId,
    url: text(2_048).describe("An https address with a public name, on port 443 or 8443."),
  }),
  returns: z.object({
    webhook: webhookShape,
    secret: z.string().describe("What to verify signatures with; never told again"),
  }),
  handler: async (ctx, { userId, url }) => {
    await assertMayMove(ctx, userId);
    const { addSink } = await import("./sinks");
    const { secret, ...sink } = await addSink(ctx, userId, url);
    return { webhook: shownSink(sink), secret };
  },
});

const endWebhook: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/alerts/webhooks/off",
  summary: "Ends a webhook: nothing more is posted to it.",
  description: "What was due for it is dropped. One that has ended stays so.",
  errors: { ...USER_TOKEN_ERRORS, not_found: "This user has no such webhook." },
  example: {
    input: { userId: EXAMPLE_USER, webhookId: webhookExample.webhookId },
    output: { webhook: { ...webhookExample, state: "ended", problem: "Removed by its user" } },
  },
  input: z.object({ userId, webhookId: id("webhookId") }),
  returns: z.object({ webhook: webhookShape }),
  handler: async (ctx, input) => {
    await assertMayMove(ctx, input.userId);
    return { webhook: shownSink(await ctx.runMutation(internal.alerts.sinks.remove, input)) };
  },
});

export const alertEndpoints: MountedEndpoint[] = [propose, list, accept, end, addWebhook, endWebhook];
