import * as z from "zod";
import { internal } from "../../_generated/api";
import { assertMay } from "../../accounts/access";
import { ownHosts } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { endpoint, type MountedEndpoint } from "../../lib/http/endpoint";
import { EXAMPLE_TIME, EXAMPLE_USER, USER_TOKEN, USER_TOKEN_ERRORS } from "../../lib/http/described";
import { absentWhenEmpty, text, userId } from "../../lib/http/input";
import { charge } from "../../lib/limits/charges";
import { parseJson } from "../../lib/text/json";
import { DAY, iso } from "../../lib/time";
import { secretSeal } from "./events";
import { EVENTS } from "./tables";

/** Epoch ms, shown in ISO 8601. */
const moment = z.number().transform(iso).pipe(z.iso.datetime());
const eventType = z.enum(EVENTS);

const webhookShape = z.object({
  webhookId: z.string(),
  url: z.string(),
  events: z.array(eventType).describe("The events that are posted to it"),
  createdAt: moment,
  problem: z.string().nullable().describe("Why its latest post failed, if it did"),
});

const eventShape = z.object({
  id: z.string().describe("The `webhook-id` under which it is posted: the same in every attempt"),
  type: eventType,
  timestamp: moment,
  data: z
    .string()
    .transform(parseJson)
    .pipe(z.record(z.string(), z.unknown()))
    .describe("docs/clients.md shows it for each type"),
});

const example = {
  webhookId: "ks9b4n7m2v5c8x1z6q3w0e7r4t9y2u5h",
  url: "https://hooks.example.com/market",
  events: ["signal.issued" as const, "alert.fired" as const],
  createdAt: EXAMPLE_TIME,
  problem: null,
};

/** Webhooks are a delivery setting, so the same access rules apply to a `userId` with an owner. */
const guarded = {
  limit: "settings",
  access: (ctx: Parameters<typeof assertMay>[0], { userId }: { userId: string }) =>
    assertMay(ctx, userId, "delivery"),
  errors: USER_TOKEN_ERRORS,
  headers: USER_TOKEN,
} as const;

const list: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["GET"],
  path: "/webhooks",
  summary: "A user's webhooks, without their secrets.",
  example: { input: { userId: EXAMPLE_USER }, output: { webhooks: [example] } },
  input: z.object({ userId }),
  returns: z.object({ webhooks: z.array(webhookShape) }),
  handler: async (ctx, input) => ({
    webhooks: await ctx.runQuery(internal.messenger.webhooks.events.all, input),
  }),
});

const add: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/webhooks",
  summary: "Posts signed events to an https address; the secret is shown only once.",
  description:
    "Signals, and the user's own reports, alerts and transactions. By the Standard Webhooks specification (`webhook-id`, `webhook-timestamp`, `webhook-signature`). A post without a 2xx within 10 seconds is tried again over three days, under the same `webhook-id`; 410 ends the webhook. Redirects are not followed. At most three; of a `userId` that nobody has signed in for they end 30 days after their last use.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  errors: { ...USER_TOKEN_ERRORS, conflict: "The user has three, or this one already." },
  example: {
    input: { userId: EXAMPLE_USER, url: example.url, events: example.events },
    output: { webhook: example, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=" },
  },
  input: z.object({
    userId,
    url: text(2_048).describe("An https address with a public name, on port 443 or 8443."),
    events: z.array(eventType).min(1).optional().describe("The events to post; by default all."),
  }),
  returns: z.object({
    webhook: webhookShape,
    secret: z.string().describe("For verifying signatures; never shown again"),
  }),
  handler: async (ctx, { userId, events: asked = EVENTS, ...input }, { caller }) => {
    const row = { userId, url: postable(input.url), events: EVENTS.filter((type) => asked.includes(type)) };
    await charge(ctx, "webhook", caller);
    const secret = `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
    const { seal } = await import("../../lib/security/seals");
    const sealed = { ...row, sealedSigning: await seal(secret, secretSeal(row)) };
    const webhookId = await ctx.runMutation(internal.messenger.webhooks.events.store, sealed);
    const { url, events } = row;
    return { webhook: { webhookId, url, events, createdAt: Date.now(), problem: null }, secret };
  },
});

/** Names of this machine, of home and office networks, of clusters and clouds, and of special use. */
const LOCAL_NAMES =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|mail|private|svc|arpa|alt|onion|test|example|invalid)$/;

/**
 * A webhook's address as it is stored: https on a public name. A name is not resolved, because the platform's runtime
 * cannot: one of a private address is stopped by the platform's network and by TLS. Nobody has a certificate for an
 * address in numbers, so those are refused however they are written.
 * @throws AppError `invalid_request` with the reason for an address that nothing is posted to.
 */
export function postable(address: string): string {
  const refuse = (why: string): never => {
    throw new AppError("invalid_request", `url must ${why}`);
  };
  if (!URL.canParse(address)) return refuse("be an https address");
  const { protocol, hostname, port, username, password, hash, pathname, search } = new URL(address);
  // A final dot makes no other host.
  const host = hostname.replace(/\.$/, "");
  if (protocol !== "https:") return refuse("be an https address");
  if (username !== "" || password !== "") return refuse("not contain a user name or a password");
  if (hash !== "") return refuse("not have a part after #");
  // Other ports would make the service a port scanner.
  if (port !== "" && port !== "8443") return refuse("be on port 443 or 8443");
  if (ownHosts().some((own) => own === host || own === `${host}:${port}`))
    return refuse("not be this service's own address");
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+$/.test(host) || LOCAL_NAMES.test(host))
    return refuse("be at a public name");
  return `https://${host}${port === "" ? "" : `:${port}`}${pathname}${search}`;
}

const end: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["POST"],
  path: "/webhooks/off",
  summary: "Ends a webhook: nothing more is posted to it.",
  errors: { ...USER_TOKEN_ERRORS, not_found: "This user has no such webhook." },
  example: { input: { userId: EXAMPLE_USER, webhookId: example.webhookId }, output: { success: true } },
  input: z.object({ userId, webhookId: text(64).describe("The `webhookId` from an earlier answer.") }),
  returns: z.object({ success: z.literal(true) }),
  handler: async (ctx, input) => {
    await ctx.runMutation(internal.messenger.webhooks.events.remove, input);
    return { success: true as const };
  },
});

const read: MountedEndpoint = endpoint({
  ...guarded,
  methods: ["GET"],
  path: "/webhooks/events",
  summary: "The events of a user's webhooks in the last 7 days, oldest first.",
  description: "What was for the user's webhooks, delivered or not; a hundred at most in one answer.",
  example: {
    input: { userId: EXAMPLE_USER, since: "2026-01-05T00:00:00.000Z" },
    output: {
      events: [
        {
          id: "msg_k97e4n7m2v5c8x1z6q3w0e7r4t9y2u5h",
          type: "transaction.ended",
          timestamp: EXAMPLE_TIME,
          data: { kind: "send", status: "confirmed" },
        },
      ],
      next: null,
    },
  },
  input: z.object({
    userId,
    since: absentWhenEmpty(text(40))
      .transform(sinceOf)
      .describe("An ISO 8601 time with a zone, or the `next` of an earlier answer; by default 7 days ago."),
  }),
  returns: z.object({
    events: z.array(eventShape),
    next: z.string().nullable().describe("`since` for the next page; null if there is none"),
  }),
  handler: async (ctx, { userId, since: after = Date.now() - 7 * DAY }) => {
    const { events, next } = await ctx.runQuery(internal.messenger.webhooks.events.read, { userId, after });
    const shown = events.map(({ at: timestamp, ...event }) => ({ ...event, timestamp }));
    return { events: shown, next: next === null ? null : String(next) };
  },
});

/** The moment after which events are read, epoch ms. */
function sinceOf(written: string | undefined, ctx: z.RefinementCtx): number | undefined {
  if (written === undefined) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(written)) return Number(written);
  if (z.iso.datetime({ offset: true }).safeParse(written).success) return Date.parse(written) - 1;
  const form =
    "must be an ISO 8601 time with a zone, such as 2026-01-05T00:00:00Z, or an earlier answer's `next`";
  ctx.addIssue({ code: "custom", message: form });
  return z.NEVER;
}

export const webhookEndpoints: MountedEndpoint[] = [list, add, end, read];
