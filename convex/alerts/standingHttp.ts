import * as z from "zod";
import { bytesToHex } from "@noble/hashes/utils.js";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { sha256Hex } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { toIso } from "../lib/time";
import {
  EXAMPLE_TIME,
  EXAMPLE_USER,
  IDEMPOTENCY_KEY,
  idempotencyKey,
  numberInRange,
  optionalUnlessBlank,
  requiredText,
  userId,
} from "../platform/http/input";
import { defineEndpoint, Reply, type Call, type MountedEndpoint } from "../platform/http/endpoint";
import { holdSlot } from "../platform/limits/slots";
import { dryRun, optionalAmount, readSize, size, slippageBps, swapToken } from "../wallets/inputs";
import { getNextTime, isTimeZone } from "./grammar";
import { toZone } from "./reading";
import type { Alert, Condition, Standing } from "./tables";
import { buildCallUrl, CALL_PATH, requireAhead, requireBounds } from "./standingChat";
import { getEnd } from "./standingOrders";
import { describeStanding, isStanding, listCoins, type Swap } from "./standingTerms";
import { toDays, type Wish } from "./standingWords";

/** Standing orders over HTTP, and the address that triggers one. */

const moment = z.number().transform(toIso).pipe(z.iso.datetime());
const text = (most: number) => z.string("must be text").trim().max(most);

const priceInput = z.strictObject({
  token: z.string().trim().toUpperCase().describe("ETH or BTC, whichever the order trades"),
  direction: z.enum(["above", "below"], "must be above or below"),
  levelUsd: numberInRange(0.01, 1e9),
});
const whenInput = z
  .strictObject({
    price: priceInput.optional(),
    every: z.enum(["day", "weekday", "week", "month"], "must be day, weekday, week or month").optional(),
    on: z
      .union([z.int(), text(12)], "must be mon to sun, or 1 to 28")
      .transform(String)
      .optional()
      .describe("Of a week mon to sun, of a month 1 to 28"),
    at: text(5).optional().describe("The time of day, such as 09:00"),
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

const wishShape = z.strictObject({
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
type Given = z.output<typeof wishShape>;

const refuse = (message: string) => new AppError("invalid_request", message);

function readWish({ when, times, until, ...given }: Given): Wish {
  const { fromToken, toToken, slippageBps } = given;
  if (fromToken === toToken) throw refuse("toToken must differ from fromToken");
  const swap: Swap = { kind: "swap", fromToken, toToken, slippageBps, ...readSize(given, fromToken) };
  const wish = { swap, condition: readWhen(when, swap), ...defined({ times, until }) };
  return requireBounds(wish);
}

/** @throws AppError `invalid_request` */
function readWhen({ price, every, on, at, timeZone = "UTC", call }: Given["when"], swap: Swap): Condition {
  if ([price, every, call].filter((one) => one !== undefined).length !== 1)
    throw refuse("when must have exactly one of price, every and call");
  if (every === undefined && (on ?? at) !== undefined) throw refuse("when.on and when.at go with when.every");
  if (price !== undefined) {
    const token = listCoins(swap).find(
      (coin) =>
        coin === price.token.replace(/^(?:WETH|CB(?=BTC$))/, (name) => (name === "WETH" ? "ETH" : "")),
    );
    if (token === undefined)
      throw refuse("when.price.token must be a coin that the order trades: ETH or BTC");
    return { kind: "price", token, direction: price.direction, levelUsd: price.levelUsd };
  }
  if (every === undefined) return { kind: "call" };
  if (at === undefined || !/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(at))
    throw refuse("when.at must be a time of day in 24 hours, such as 09:00");
  const zone = toZone(timeZone);
  if (!isTimeZone(zone)) throw refuse("when.timeZone must be a zone such as Europe/Berlin, or UTC");
  const days = toDays(every, on);
  if ("say" in days)
    throw refuse(
      every === "week"
        ? "when.on must be mon to sun"
        : every === "month"
          ? "when.on must be 1 to 28"
          : `when.on must be left out with every ${every}`,
    );
  return { kind: "clock", time: at, timeZone: zone, ...days };
}

export const standingShape = z.object({
  standingId: z.string(),
  status: z
    .enum(["active", "awaiting_approval", "ended"])
    .describe("awaiting_approval: its owner was asked in their chat"),
  words: z.string().describe("What it does and when, with the total where times was given"),
  fromToken: z.string(),
  toToken: z.string(),
  amount: z.string().optional(),
  size: z.string().optional(),
  slippageBps: z.int(),
  when: z.looseObject({ kind: z.enum(["price", "clock", "call"]) }).describe("Its trigger, as it is stored"),
  next: moment.nullable().describe("Its next time by the clock"),
  endsAt: moment.nullable(),
  timesLeft: z.int().optional(),
  paper: z.literal(true).optional().describe("It orders on paper"),
  fired: z.int().describe("How many firings have an outcome, missed ones included"),
  last: z
    .object({
      at: moment,
      outcome: z.enum(["done", "refused", "missed"]),
      orderId: z.string().optional(),
      txHash: z.string().optional(),
      reason: z.string().optional(),
    })
    .nullable()
    .describe("The last firing"),
  endReason: z.string().optional().describe("Why it has ended, where its owner did not end it"),
});

type Last = { at: number; outcome?: string; orderId?: string; txHash?: string; reason?: string };
type Row = Pick<Standing, "condition" | "order" | "fired" | "readyAt"> &
  Partial<Pick<Standing, "expiresAt" | "until" | "endReason">>;

/** What a standing order does, as it is answered. */
function toTerms(row: Row, last: Last | null) {
  const { condition, order, readyAt, expiresAt, until, fired, endReason } = row;
  const { fromToken, toToken, amount, size, slippageBps } = order.swap;
  const { kind } = condition;
  if (kind !== "price" && kind !== "clock" && kind !== "call")
    throw new AppError("internal", "A standing order has another trigger");
  const outcome = z.enum(["done", "refused", "missed"]).safeParse(last?.outcome);
  return {
    words: describeStanding(row),
    ...{ fromToken, toToken, slippageBps, fired },
    ...(size === undefined ? { amount } : { size }),
    when: { ...condition, kind },
    next: kind === "clock" ? readyAt : null,
    endsAt: expiresAt ?? until ?? null,
    ...defined({ paper: order.paper, timesLeft: order.timesLeft, endReason }),
    last: last === null || !outcome.success ? null : { ...last, outcome: outcome.data },
  };
}

const STATUS = { active: "active", proposed: "awaiting_approval", off: "ended" } as const;

function toPublicStanding(row: Standing, last: Last | null): z.input<typeof standingShape> {
  const { _id: standingId, state } = row;
  const terms = toTerms(row, last);
  return { standingId, status: STATUS[state], ...terms, next: state === "active" ? terms.next : null };
}

/** An account's standing orders, as they are answered. */
export async function listStandingRows(
  ctx: ActionCtx,
  userId: string,
): Promise<z.input<typeof standingShape>[]> {
  const rows = await ctx.runQuery(internal.alerts.standingOrders.listStanding, { userId, now: Date.now() });
  return rows.map(({ alert, last }) => toPublicStanding(alert, last));
}

const example = {
  standingId: "kd7f2m9q4x1c8v6b3n5h0j2w9e7r4t6y",
  status: "active" as const,
  words: "25 USDC → ETH, every Monday at 09:00 Europe/Berlin, 12 times: 300 USDC in all",
  fromToken: "USDC",
  toToken: "ETH",
  size: "25",
  slippageBps: 100,
  when: { kind: "clock" as const, time: "09:00", timeZone: "Europe/Berlin", days: [1] },
  next: EXAMPLE_TIME,
  endsAt: EXAMPLE_TIME,
  timesLeft: 12,
  fired: 0,
  last: null,
};
/** Zod turns the example's epoch times into ISO 8601. */
const EXAMPLE_INPUT = {
  userId: EXAMPLE_USER,
  fromToken: "USDC",
  toToken: "ETH",
  size: "25",
  when: { every: "week" as const, on: "mon", at: "09:00", timeZone: "Europe/Berlin" },
  times: 12,
};

const answerShape = standingShape.extend({
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
  example: { input: EXAMPLE_INPUT, output: { ...example, now: null } },
  input: wishShape,
  returns: answerShape,
  handler: async (ctx, given, call) => holdSlot(ctx, call.caller, () => setWish(ctx, given, call)),
});

async function setWish(
  ctx: ActionCtx,
  given: Given,
  { caller, idempotencyKey }: Pick<Call, "caller" | "idempotencyKey">,
): Promise<Reply<z.input<typeof answerShape>>> {
  const { userId } = given;
  const wish = readWish(given);
  const priceUsd = await requireAhead(ctx, wish.condition);
  const now = priceUsd === null ? null : { priceUsd };
  if (given.dryRun) return new Reply({ ...rehearse(wish), now }, {});
  const token = wish.condition.kind === "call" ? createToken() : null;
  const stored: { alert: Alert; isRepeat: boolean } = await ctx.runMutation(
    internal.alerts.standingOrders.setStanding,
    {
      ...{ userId, ...wish },
      ...defined({ keyHash: caller.keyHash, idempotencyKey }),
      ...(token === null ? {} : { callHash: sha256Hex(token) }),
    },
  );
  const { alert, isRepeat } = stored;
  if (!isStanding(alert)) throw new AppError("internal", "An alert has no order");
  const isAsked = alert.state === "proposed";
  const notice = "Nothing is set yet: the owner was asked in their chat, and sets it by a tap.";
  const answer = {
    ...toPublicStanding(alert, null),
    now,
    ...(token === null || isRepeat || isAsked ? {} : { callUrl: buildCallUrl(token) }),
    ...(isRepeat ? { repeated: true as const } : {}),
    ...defined({ idempotencyKey }),
    ...(isAsked ? { notice } : {}),
  };
  return new Reply(answer, {}, isAsked ? 202 : 200);
}

const createToken = (): string => `st_${bytesToHex(crypto.getRandomValues(new Uint8Array(32)))}`;

/** What a standing order would be; nothing is stored. */
function rehearse({ swap, condition, times, until }: Wish) {
  const now = Date.now();
  const order = { swap, walletId: "", by: "owner" as const, refusals: 0, ...defined({ timesLeft: times }) };
  const readyAt = condition.kind === "clock" ? getNextTime(condition, now) : now;
  const expiresAt = getEnd({ order, ...defined({ until }) }, now);
  return {
    status: "rehearsed" as const,
    ...toTerms({ condition, order, readyAt, expiresAt, fired: 0 }, null),
  };
}

const list: MountedEndpoint = defineEndpoint({
  limit: "settings",
  access: "alerts",
  methods: ["GET"],
  path: "/mcp/defi/standing",
  summary: "A user's standing orders: active ones, proposals, and those that ended in the last 30 days.",
  example: { input: { userId: EXAMPLE_USER }, output: { standing: [example] } },
  input: z.object({ userId }),
  returns: z.object({ standing: z.array(standingShape) }),
  handler: async (ctx, { userId }) => ({ standing: await listStandingRows(ctx, userId) }),
});

/** Stops or skips for a caller who may swap. */
export async function stopStanding(
  ctx: ActionCtx,
  change: { userId: string; standingId: string; skip?: boolean },
  { caller }: Pick<Call, "caller">,
): Promise<z.input<typeof standingShape>> {
  const { skip, ...own } = change;
  const alert: Alert = await ctx.runMutation(internal.alerts.standingOrders.stopStanding, {
    ...own,
    ...defined({ keyHash: caller.keyHash }),
    ...(skip === true ? { skips: true } : {}),
  });
  if (!isStanding(alert)) throw new AppError("internal", "An alert has no order");
  return toPublicStanding(alert, null);
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
    input: { userId: EXAMPLE_USER, standingId: example.standingId },
    output: { ...example, status: "ended", next: null },
  },
  input: z.strictObject({
    userId,
    standingId: standingChange,
    skip: z.boolean().optional().describe("Pass over its next time, and go on."),
  }),
  returns: standingShape,
  handler: async (ctx, { userId, standingId, skip }, call) =>
    stopStanding(ctx, { userId, standingId, ...defined({ skip }) }, call),
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
    const found: { standingId: Standing["_id"]; accepts: boolean } | null = await ctx.runQuery(
      internal.alerts.standingFirings.findCalled,
      { callHash, now: Date.now() },
    );
    const accepted: boolean | null =
      found?.accepts === true
        ? await ctx.runMutation(internal.alerts.standingFirings.receiveCall, {
            standingId: found.standingId,
            callHash,
          })
        : (found?.accepts ?? null);
    if (accepted === null)
      throw new AppError("not_found", "This address is dead: its order has ended, or has another address");
    return new Reply({ accepted }, {}, 202);
  },
});

export const standingEndpoints: MountedEndpoint[] = [set, list, end, call];
