import * as z from "zod";
import { internal } from "../../_generated/api";
import { defineEndpoint, type MountedEndpoint } from "../../platform/http/endpoint";
import {
  EXAMPLE_TIME,
  EXAMPLE_USER,
  optionalUnlessBlank,
  numberInRange,
  publicAddress,
  requiredText,
  userId,
} from "../../platform/http/input";
import { charge } from "../../platform/limits/charges";
import { parseJson } from "../../lib/text/json";
import { DAY, toIso } from "../../lib/time";
import { getSecretSeal } from "./tables";

/** Epoch ms, shown in ISO 8601. */
const moment = z.number().transform(toIso).pipe(z.iso.datetime());

const webhookShape = z.object({
  webhookId: z.string(),
  url: z.string(),
  createdAt: moment,
  problem: z.string().nullable().describe("Why its latest post failed, if it did"),
});

const eventShape = z.object({
  id: z.string().describe("The `webhook-id` under which it is posted: the same in every attempt"),
  type: z
    .string()
    .describe(
      "`signal.issued`, `signal.closed`, `report.ready`, `alert.fired`, `standing.fired` or `transaction.ended`",
    ),
  timestamp: moment,
  data: z
    .string()
    .transform(parseJson)
    .pipe(z.record(z.string(), z.unknown()))
    .describe("docs/clients.md shows it for each type"),
});

/** The moment after which events are read, epoch ms. */
const since = z.union(
  [
    z.iso.datetime({ offset: true }).transform((written) => Date.parse(written) - 1),
    numberInRange(0, Number.MAX_SAFE_INTEGER),
  ],
  "must be an ISO 8601 time with a zone, such as 2026-01-05T00:00:00Z, or an earlier answer's `next`",
);

const exampleEvent = {
  id: "msg_k97e4n7m2v5c8x1z6q3w0e7r4t9y2u5h",
  type: "transaction.ended",
  timestamp: EXAMPLE_TIME,
  data: { kind: "send", status: "confirmed" },
};

const example = {
  webhookId: "ks9b4n7m2v5c8x1z6q3w0e7r4t9y2u5h",
  url: "https://hooks.example.com/market",
  createdAt: EXAMPLE_TIME,
  problem: null,
};

/** Webhooks and alerts decide where a user's notices go, so an owned `userId` has the access rules of delivery settings. */
export const DELIVERY_RULES = {
  limit: "settings",
  access: "delivery",
} as const;

const list: MountedEndpoint = defineEndpoint({
  ...DELIVERY_RULES,
  methods: ["GET"],
  path: "/webhooks",
  summary: "A user's webhooks, without their secrets.",
  example: { input: { userId: EXAMPLE_USER }, output: { webhooks: [example] } },
  input: z.object({ userId }),
  returns: z.object({ webhooks: z.array(webhookShape) }),
  handler: async (ctx, input) => ({
    webhooks: await ctx.runQuery(internal.messenger.webhooks.events.listWebhooks, input),
  }),
});

const add: MountedEndpoint = defineEndpoint({
  ...DELIVERY_RULES,
  methods: ["POST"],
  path: "/webhooks",
  summary: "Posts signed events to an https address; the secret is shown only once.",
  description:
    "Signals, and the user's own reports, alerts and transactions. By the Standard Webhooks specification (`webhook-id`, `webhook-timestamp`, `webhook-signature`). A post without a 2xx within 10 seconds is tried again over three days, under the same `webhook-id`; 410 ends the webhook. Redirects are not followed. At most three; of a `userId` that nobody has signed in for one ends after 30 days if it did not take its latest post.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  errors: { conflict: "The user has three, or this one already." },
  example: {
    input: { userId: EXAMPLE_USER, url: example.url },
    output: { webhook: example, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=" },
  },
  input: z.object({
    userId,
    url: publicAddress.describe("An https address with a public name, on port 443 or 8443."),
  }),
  returns: z.object({
    webhook: webhookShape,
    secret: z.string().describe("For verifying signatures; never shown again"),
  }),
  handler: async (ctx, { userId, url }, { caller }) => {
    await charge(ctx, "webhook", caller);
    const secret = `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
    const { seal } = await import("../../lib/seals");
    const row = { userId, url, sealedSigning: await seal(secret, getSecretSeal({ userId, url })) };
    const webhookId = await ctx.runMutation(internal.messenger.webhooks.events.storeWebhook, row);
    return { webhook: { webhookId, url, createdAt: Date.now(), problem: null }, secret };
  },
});

const end: MountedEndpoint = defineEndpoint({
  ...DELIVERY_RULES,
  methods: ["POST"],
  path: "/webhooks/off",
  summary: "Ends a webhook: nothing more is posted to it.",
  errors: { not_found: "This user has no such webhook." },
  example: { input: { userId: EXAMPLE_USER, webhookId: example.webhookId }, output: { success: true } },
  input: z.object({
    userId,
    webhookId: requiredText(64).describe("The `webhookId` from an earlier answer."),
  }),
  returns: z.object({ success: z.literal(true) }),
  handler: async (ctx, input) => {
    await ctx.runMutation(internal.messenger.webhooks.events.remove, input);
    return { success: true as const };
  },
});

const read: MountedEndpoint = defineEndpoint({
  ...DELIVERY_RULES,
  methods: ["GET"],
  path: "/webhooks/events",
  summary: "The events of a user's webhooks in the last 7 days, oldest first.",
  description: "What was for the user's webhooks, delivered or not; a hundred at most in one answer.",
  example: {
    input: { userId: EXAMPLE_USER, since: "2026-01-05T00:00:00.000Z" },
    output: { events: [exampleEvent], next: null },
  },
  input: z.object({
    userId,
    since: optionalUnlessBlank(since).describe(
      "An ISO 8601 time with a zone, or the `next` of an earlier answer; by default 7 days ago.",
    ),
  }),
  returns: z.object({
    events: z.array(eventShape),
    next: z.string().nullable().describe("`since` for the next page; null if there is none"),
  }),
  handler: async (ctx, { userId, since }) => {
    const now = Date.now();
    const range = { userId, after: since ?? now - 7 * DAY, now };
    const { events, next } = await ctx.runQuery(internal.messenger.webhooks.events.readEvents, range);
    return { events, next: next === null ? null : String(next) };
  },
});

export const webhookEndpoints: MountedEndpoint[] = [list, add, end, read];
