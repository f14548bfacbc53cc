import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { sha256Hex } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { DAY } from "../lib/time";
import { deriveSecretText } from "../messenger/model";
import { defineEndpoint, Reply, type Call, type MountedEndpoint } from "../platform/http/endpoint";
import {
  EXAMPLE_USER,
  IDEMPOTENCY_KEY,
  idempotencyKey,
  numberInRange,
  optionalUnlessBlank,
  requiredText,
  userId,
} from "../platform/http/input";
import { holdSlot } from "../platform/limits/slots";
import { dryRun, optionalAmount, readSize, size, slippageBps, swapToken } from "../wallets/inputs";
import { buildCallUrl, CALL_PATH, requireAhead } from "./chat";
import { getNextTime, parseSchedule } from "./schedule";
import {
  EXAMPLE_STANDING_ORDER,
  standingOrderShape,
  toPublicAlert,
  toPublicStandingOrder,
  toPublicTerms,
} from "./shapes";
import type { Alert, Condition } from "./tables";
import { getEnd, isStandingOrder, requireBounds, type Swap } from "./terms";
import { resolveTrigger } from "./standingWords";

/** Standing orders over HTTP, and the address that triggers one. */

const text = (most: number) => z.string("must be text").trim().max(most);

const whenInput = z
  .strictObject({
    price: z
      .strictObject({
        token: z.string().trim().toUpperCase().describe("ETH or BTC, whichever the order trades"),
        direction: z.enum(["above", "below"], "must be above or below"),
        levelUsd: numberInRange(0.01, 1e9),
      })
      .optional(),
    every: z.enum(["day", "weekday", "week", "month"], "must be day, weekday, week or month").optional(),
    on: z
      .union([z.int(), text(12)], "must be mon to sun, or 1 to 28")
      .transform(String)
      .optional()
      .describe("Of a week mon to sun, of a month 1 to 28"),
    at: text(8).optional().describe("The time of day, such as 09:00"),
    timeZone: text(64).optional().describe("Such as Europe/Berlin; UTC when left out"),
    call: z.literal(true, "must be true").optional(),
  })
  .describe(
    "One of: `price` (a level that ETH or BTC has to reach); `every` with `at`, `timeZone` and, of a week or a month, `on`; `call: true`, which a POST to the answered `callUrl` triggers.",
  );

const UNTIL = "must be a moment in ISO 8601 such as 2027-01-31T18:00:00Z, or a day such as 2027-01-31";
const until = optionalUnlessBlank(
  z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], UNTIL)
    .transform((written) => Date.parse(written.length === 10 ? `${written}T23:59:59Z` : written)),
);

const requestShape = z.strictObject({
  userId,
  fromToken: swapToken,
  toToken: swapToken,
  amount: optionalAmount,
  size,
  slippageBps,
  when: whenInput,
  until: until.describe(
    "When it ends, at most a year from now: a moment, or the end of a day in UTC. 90 days without it.",
  ),
  times: optionalUnlessBlank(numberInRange(1, 366, "int")).describe("How often it fires; not for a price."),
  dryRun,
  idempotencyKey,
});
type Given = z.output<typeof requestShape>;

const refuse = (message: string) => new AppError("invalid_request", message);

function readSwap(given: Given): Swap {
  const { fromToken, toToken, slippageBps } = given;
  if (fromToken === toToken) throw refuse("toToken must differ from fromToken");
  return { kind: "swap", fromToken, toToken, slippageBps, ...readSize(given, fromToken) };
}

/** @throws AppError `invalid_request` */
function readWhen({ price, every, on, at, timeZone, call }: Given["when"], swap: Swap): Condition {
  if ([price, every, call].filter((one) => one !== undefined).length !== 1)
    throw refuse("when must have exactly one of price, every and call");
  if (every === undefined && (on ?? at) !== undefined) throw refuse("when.on and when.at go with when.every");
  if (call === true) return { kind: "call" };
  const read =
    price === undefined
      ? parseSchedule({ every: every ?? "", on, at, zone: timeZone })
      : resolveTrigger(swap, price);
  if ("refusal" in read) throw refuse(`when cannot be read: ${read.refusal.replace(/\.$/, "")}`);
  return "kind" in read ? read : { kind: "clock", ...read };
}

const answerShape = standingOrderShape.extend({
  standingId: z.string().optional().describe("Absent in a dry run"),
  status: z.enum(["active", "awaiting_approval", "ended", "rehearsed"]),
  now: z
    .object({ priceUsd: z.number() })
    .nullable()
    .describe("The live price of a level's coin; null for another trigger"),
  callUrl: z
    .string()
    .optional()
    .describe("Of a call, only in the first answer: a POST to it, with any body, fires the order"),
  repeated: z.literal(true).optional().describe("It was there already: nothing was set"),
  idempotencyKey: z.string().optional(),
  notice: z.string().optional(),
});

const set: MountedEndpoint = defineEndpoint({
  limit: "alert",
  access: "shown",
  methods: ["POST"],
  path: "/mcp/defi/standing",
  summary:
    "Sets a standing order: a swap at a price, by the clock or on a call, within the account's limits.",
  description:
    "For accounts with an owner, at most ten at a time; it ends after 90 days, at `until` or after `times`, and at a freeze, a claim, a change of login or when its key is not valid any more. Each firing is an ordinary swap under the caps of that moment, once: done, refused (told with its reason; three in a row end an order that fires again and again) or missed (after an outage, not caught up). A level that an order waits for is its bound, too: it fills there or better, less the slippage, or not at all. With only the `userId` its owner's tap sets it.",
  accepted: "The owner of the `userId` was asked in their chat, and nothing is set yet.",
  needs: ["WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"],
  headers: IDEMPOTENCY_KEY,
  errors: {
    not_found: "The user has no custody wallet: connect first.",
    conflict: "Ten are active already, or the idempotency key was used for another one.",
    forbidden: "The account has no owner, or its owner has not allowed this.",
    paused: "The owner has frozen the account.",
    upstream: "No source has a live price of the level's coin.",
  },
  example: {
    // Zod turns the example's epoch times into ISO 8601.
    input: {
      ...{ userId: EXAMPLE_USER, fromToken: "USDC", toToken: "ETH", size: "25", times: 12 },
      when: { every: "week" as const, on: "mon", at: "09:00", timeZone: "Europe/Berlin" },
    },
    output: { ...EXAMPLE_STANDING_ORDER, now: null },
  },
  input: requestShape,
  returns: answerShape,
  handler: async (ctx, given, call) => holdSlot(ctx, call.caller, () => setStandingOrder(ctx, given, call)),
});

async function setStandingOrder(
  ctx: ActionCtx,
  given: Given,
  { caller, idempotencyKey }: Pick<Call, "caller" | "idempotencyKey">,
): Promise<Reply<z.input<typeof answerShape>>> {
  const { userId, times, until } = given;
  const swap = readSwap(given);
  const condition = readWhen(given.when, swap);
  const priceUsd = await requireAhead(ctx, condition);
  const now = priceUsd === null ? null : { priceUsd };
  const terms = { swap, condition, ...defined({ times, until }) };
  if (given.dryRun) return new Reply({ ...rehearse(terms), now }, {});
  const request = { userId, ...terms, ...defined({ keyHash: caller.keyHash, idempotencyKey }) };
  const { alert, isRepeat, secret } = await ctx.runMutation(
    internal.alerts.standing.proposeStanding,
    request,
  );
  const isAsked = alert.state === "proposed";
  const notice = "Nothing is set yet: the owner was asked in their chat, and sets it by a tap.";
  const answer = {
    ...toPublicStandingOrder(requireOrder(alert), null),
    now,
    ...(secret === undefined ? {} : { callUrl: buildCallUrl(deriveSecretText(secret)) }),
    ...(isRepeat ? { repeated: true as const } : {}),
    ...defined({ idempotencyKey }),
    ...(isAsked ? { notice } : {}),
  };
  return new Reply(answer, {}, isAsked ? 202 : 200);
}

/** What a standing order would be; nothing is stored. */
function rehearse({ swap, condition, times, until }: { swap: Swap; condition: Condition } & Partial<Given>) {
  const now = Date.now();
  const order = { swap, by: "owner" as const, refusals: 0, ...defined({ times, timesLeft: times }) };
  const row = { condition, order, state: "active" as const, fired: 0, ...defined({ until }) };
  const expiresAt = getEnd(row, now);
  requireBounds(row, now, expiresAt);
  const readyAt = condition.kind === "clock" ? getNextTime(condition, now) : now;
  return { status: "rehearsed" as const, ...toPublicTerms({ ...row, readyAt, expiresAt }, null) };
}

function requireOrder(alert: Alert) {
  if (isStandingOrder(alert)) return alert;
  throw new AppError("internal", "An alert has no order");
}

/** How many ended ones are read, how many ended alerts are answered, and how long an ended standing order is. */
const [MOST_ENDED, SHOWN_ENDED, SHOWN_MS] = [100, 10, 30 * DAY];

/** A user's alerts and standing orders, as they are answered. */
export async function listPublic(ctx: ActionCtx, userId: string) {
  const query = { userId, mostEnded: MOST_ENDED };
  const rows = await ctx.runQuery(internal.alerts.proposals.listAlerts, query);
  const alerts = rows.filter(({ alert }) => !isStandingOrder(alert));
  const living = alerts.filter(({ alert }) => alert.state !== "off");
  const from = Date.now() - SHOWN_MS;
  return {
    alerts: alerts.slice(0, living.length + SHOWN_ENDED).map(({ alert }) => toPublicAlert(alert)),
    standing: rows.flatMap(({ alert, last }) =>
      isStandingOrder(alert) && (alert.endedAt ?? Infinity) > from
        ? [toPublicStandingOrder(alert, last)]
        : [],
    ),
  };
}

const list: MountedEndpoint = defineEndpoint({
  limit: "settings",
  access: "alerts",
  methods: ["GET"],
  path: "/mcp/defi/standing",
  summary: "A user's standing orders: active ones, proposals, and those that ended in the last 30 days.",
  example: { input: { userId: EXAMPLE_USER }, output: { standing: [EXAMPLE_STANDING_ORDER] } },
  input: z.object({ userId }),
  returns: z.object({ standing: z.array(standingOrderShape) }),
  handler: async (ctx, { userId }) => ({ standing: (await listPublic(ctx, userId)).standing }),
});

/** Stops or skips for a caller who may swap. */
export async function stopStanding(
  ctx: ActionCtx,
  change: { userId: string; standingId: string; skips?: boolean },
  { caller }: Pick<Call, "caller">,
): Promise<z.input<typeof standingOrderShape>> {
  const by = defined({ keyHash: caller.keyHash });
  const alert = await ctx.runMutation(internal.alerts.standing.stopStanding, { ...change, ...by });
  return toPublicStandingOrder(requireOrder(alert), null);
}

export const standingChange = requiredText(64).describe("The `standingId` from an earlier answer.");

const end: MountedEndpoint = defineEndpoint({
  limit: "settings",
  access: "shown",
  methods: ["POST"],
  path: "/mcp/defi/standing/off",
  summary: "Stops a standing order for good; with skip: true it passes over its next time.",
  description: "For the owner's token or a key with the scope trade.",
  errors: {
    not_found: "This user has no standing order of this id.",
    forbidden: "The owner has not allowed this.",
    conflict: "There is no next time to skip.",
  },
  example: {
    input: { userId: EXAMPLE_USER, standingId: EXAMPLE_STANDING_ORDER.standingId },
    output: { ...EXAMPLE_STANDING_ORDER, status: "ended", next: null },
  },
  input: z.strictObject({
    userId,
    standingId: standingChange,
    skip: z.boolean().optional().describe("Pass over its next time, and go on."),
  }),
  returns: standingOrderShape,
  handler: async (ctx, { userId, standingId, skip: skips }, call) =>
    stopStanding(ctx, { userId, standingId, ...defined({ skips }) }, call),
});

const call: MountedEndpoint = defineEndpoint({
  inAddress: true,
  methods: ["POST"],
  path: CALL_PATH,
  summary: "Fires the standing order of this address, as TradingView and other programs call it.",
  description:
    "The body is not read: the order is the stored one. At most once a minute and ten times in 24 hours; another call is answered `accepted: false`.",
  accepted: "The call was taken; the order follows, and its owner is told of its outcome.",
  errors: { not_found: "Nothing is behind this address any more." },
  example: { input: { token: `st_${"0".repeat(64)}` }, output: { accepted: true } },
  input: z.object({ token: requiredText(100).describe("Of the `callUrl`.") }),
  returns: z.object({ accepted: z.boolean() }),
  handler: async (ctx, { token }) => {
    const callHash = sha256Hex(token);
    const accepted = await ctx.runMutation(internal.alerts.outcomes.receiveCall, { callHash });
    if (accepted === null)
      throw new AppError("not_found", "This address is dead: its order has ended, or has another address");
    return new Reply({ accepted }, {}, 202);
  },
});

export const standingEndpoints: MountedEndpoint[] = [set, list, end, call];
