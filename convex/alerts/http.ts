import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { EXAMPLE_TIME, EXAMPLE_USER } from "../lib/http/examples";
import { USER_TOKEN, USER_TOKEN_ERRORS } from "../lib/http/headers";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { text, userId } from "../lib/http/input";
import { assertMay } from "../users/access";
import { conditionShape } from "./language/conditions";
import { alertShape, replayShape } from "./views";

type AlertAnswer = z.input<typeof alertShape>;

const id = (what: string) => text(64).describe(`The \`${what}\` from an earlier answer.`);

const example = {
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
  expiresAt: null,
  fired: 0,
  lastFiredAt: null,
};

const guarded = { limit: "settings", errors: USER_TOKEN_ERRORS, headers: USER_TOKEN } as const;

const propose: MountedEndpoint = endpoint({
  ...guarded,
  limit: "alert",
  methods: ["POST"],
  path: "/alerts",
  summary:
    "Reads an alert from a person's words, or takes it as a `condition`, answers when it would have fired, and keeps it until it is confirmed.",
  description:
    "Such as `BTC above 100k`, `ETH down 5 % in 24 h`, `ETH funding above 0.05 % per 8 h`, `inflow of USDC over 10M`, `digest at 07:30 Europe/Berlin` (UTC without a zone), for any of the 100 largest coins. Other words, in any language, are restated by a model as one such line, which has to contain every number and coin of the words. If they do not agree, the answer is an error that says what to send instead. Nothing fires before `/alerts/confirm`; a proposal is kept for a day.",
  errors: { ...USER_TOKEN_ERRORS, invalid_request: "`error` says what to say instead." },
  example: {
    input: { userId: EXAMPLE_USER, text: "BTC above 100k" },
    output: {
      alert: example,
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
  input: z.object({
    userId,
    text: text(300).optional().describe("What to be alerted to, in any language, at most 300 characters."),
    condition: conditionShape.optional().describe("The same for programs, instead of `text`."),
  }),
  returns: z.object({ alert: alertShape, replay: replayShape }),
  handler: async (ctx, input, call) => (await import("./answers")).proposal(ctx, input, call),
});

const list: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["GET"],
  path: "/alerts",
  summary: "A user's alerts.",
  description: "They go to the user's own chat, and as `alert.fired` to the webhooks that ask for it.",
  example: { input: { userId: EXAMPLE_USER }, output: { alerts: [example] } },
  input: z.object({ userId }),
  returns: z.object({
    alerts: z.array(alertShape).describe("Active ones, proposals, and the last ten that were switched off"),
  }),
  handler: async (ctx, { userId }) => {
    await assertMay(ctx, userId, "delivery");
    return { alerts: await ctx.runQuery(internal.alerts.proposals.all, { userId }) };
  },
});

/** An endpoint that changes one alert. */
const changing = (
  path: "/alerts/confirm" | "/alerts/off",
  texts: Record<"summary" | "description", string>,
  change: (
    ctx: ActionCtx,
    input: { userId: string; alertId: string },
    address: string | null,
  ) => Promise<AlertAnswer>,
): MountedEndpoint =>
  endpoint({
    ...guarded,
    ...texts,
    methods: ["POST"],
    path,
    errors: {
      ...USER_TOKEN_ERRORS,
      not_found: "This user has no such alert.",
      conflict: "The user has as many active alerts as allowed, or the alert is off.",
    },
    example: { input: { userId: EXAMPLE_USER, alertId: example.alertId }, output: { alert: example } },
    input: z.object({ userId, alertId: id("alertId") }),
    returns: z.object({ alert: alertShape }),
    handler: async (ctx, input, { caller }) => {
      await assertMay(ctx, input.userId, "delivery");
      return { alert: await change(ctx, input, caller.address) };
    },
  });

const accept = changing(
  "/alerts/confirm",
  {
    summary: "Switches a proposed alert on, or keeps an active one for the same time again.",
    description:
      "It fires each time its condition begins to hold, at most once an hour; a condition that already holds has to stop holding first. It ends by itself after 90 days, or after 30 days if nobody has signed in for the `userId`: a card says so a week before. A signed-in user may have 20 active alerts, others 5.",
  },
  (ctx, input, address) => ctx.runMutation(internal.alerts.proposals.accept, { ...input, address }),
);

const end = changing(
  "/alerts/off",
  {
    summary: "Switches an alert off, or drops a proposal.",
    description: "It stays in the list for 90 days, and cannot be switched on again.",
  },
  (ctx, input) => ctx.runMutation(internal.alerts.proposals.end, input),
);

export const alertEndpoints: MountedEndpoint[] = [propose, list, accept, end];
