import { calculateRateLimit, DAY, HOUR, MINUTE, RateLimiter } from "@convex-dev/rate-limiter";
import { v, type Infer } from "convex/values";
import { components, internal } from "../../_generated/api";
import { internalMutation, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { AppError, messageOf } from "../errors";
import { log } from "../log";
import { sha256Hex } from "../security/digests";
import { SECOND } from "../time";
import { networksOf, type Caller } from "./callers";

/**
 * The service's named limits: each guards something that costs an upstream call, a signature, a message, a guess or a
 * row that stays. A cached read is neither counted nor written.
 */

/**
 * How many rows share the count of a limit that many requests a second count against. Each row has an equal part of the
 * limit, so a caller near the limit may be refused a little early.
 */
const SHARDS = 4;

type Bucket = Counted["config"];

/** A number per period, and how many of them at once. */
const bucket = (rate: number, period: number, capacity: number): Bucket => {
  return { kind: "token bucket", rate, period, capacity };
};
const perMinute = (rate: number, capacity = rate) => bucket(rate, MINUTE, capacity);
const perHour = (rate: number) => bucket(rate, HOUR, rate);
/** A bucket that many callers count against at the same time. */
const shared = (limit: Bucket): Bucket => ({ ...limit, shards: SHARDS });

/** What a person does, and what an address does for all who are behind it: an office, a web application, a bot host. */
const perPerson = perMinute(30, 60);
const perAddress = shared(perMinute(120, 240));

/** Each limit once per user and once per network address. */
const limits = {
  chatUser: perPerson,
  chatAddress: perAddress,
  refreshUser: perPerson,
  refreshAddress: perAddress,
  // Ten may run at once: a user who has started all of them has reports for eight hours.
  shiftUser: perHour(20),
  shiftAddress: perHour(40),
  settingsUser: perPerson,
  settingsAddress: perAddress,
  alertUser: perHour(60),
  alertAddress: perHour(240),
  // A wallet is kept for good, because somebody may pay to its address at any time.
  walletUser: perHour(60),
  walletAddress: perHour(60),
  webhookUser: perHour(20),
  webhookAddress: perHour(20),
  chainUser: perMinute(60, 120),
  chainAddress: shared(perMinute(480, 960)),
  transferUser: perMinute(60, 200),
  transferAddress: shared(perMinute(240, 480)),
  runUser: perPerson,
  runAddress: perAddress,
  gameUser: perHour(60),
  gameAddress: shared(perHour(2_000)),
  claimUser: perHour(20),
  claimAddress: perHour(200),
  depositUser: perMinute(240, 480),
  depositAddress: shared(perMinute(600, 1_200)),
  paymentUser: perMinute(60, 200),
  paymentAddress: shared(perMinute(240, 480)),
  // Codes of 40 bits live for 10 minutes: ten thousand addresses that guess as often as they may find one of a thousand
  // open codes in a week. Each guess counts against its sender only.
  linkUser: perMinute(10, 20),
  linkAddress: perMinute(10, 20),
  linkNetwork: perMinute(100, 200),
  botChat: perMinute(20),
  botNotice: bucket(1, 5 * MINUTE, 1),
  botHelp: bucket(1, HOUR, 1),
  /** Cards to one chat from those who have named it without proving that it is theirs. */
  namedChat: perHour(60),
  budgetWarning: bucket(1, DAY, 1),
  // A stranger's guesses, whatever they name.
  missAddress: perMinute(30),
  unknownHashAddress: perMinute(20),
  /** Empty transactions that fill an account's nonces, each at the price of a transaction: three gaps of the longest kind. */
  fill: perHour(48),
  cardUser: perHour(30),
  cardAddress: perHour(600),
};

/** The subject of each limit, for refusals. */
const WORDS: Record<LimitName | "miss" | "unknownHash", string> = {
  chat: "questions",
  refresh: "requests for something newer",
  shift: "new research shifts",
  settings: "changes of settings and look-ups",
  alert: "new alerts",
  wallet: "new wallets",
  webhook: "new webhooks",
  chain: "questions to the chain",
  transfer: "orders",
  run: "agent runs",
  game: "games",
  claim: "claims",
  deposit: "notices of deposits",
  payment: "payments",
  link: "link codes",
  card: "cards",
  miss: "transactions that are not the user's",
  unknownHash: "payments that the chain does not know",
};

/** Whose limit it is, by the end of its name. */
const WHOSE: readonly (readonly [string, string])[] = [
  ["User", "this user's limit"],
  ["Named", "the limit of all who name this userId without its owner's token"],
  ["Address", "your network address's limit"],
  ["Network", "the limit of the network that your address is in"],
];

const rateLimiter = new RateLimiter(components.rateLimiter);

/** What is counted once per user and once per network address. */
export type LimitName = {
  [Limit in keyof typeof limits]: Limit extends `${infer Name}User` ? Name : never;
}[keyof typeof limits];

/** A limit and the caller that it counts, hashed: a `userId` is a credential and stays out of the table. */
export const vCounted = v.object({
  limit: v.string(),
  key: v.string(),
  config: v.object({
    kind: v.literal("token bucket"),
    rate: v.number(),
    period: v.number(),
    capacity: v.number(),
    shards: v.optional(v.number()),
  }),
});
type Counted = Infer<typeof vCounted>;

function ofAddress(name: LimitName, { address }: Caller): Counted[] {
  if (address === null) return [];
  const own = countedBy(`${name}Address`, `address:${address}`);
  const [, around] = networksOf(address);
  return name === "link" && around !== undefined ? [own, countedBy("linkNetwork", around)] : [own];
}

/**
 * Anybody can name a `userId`, so strangers who name it do not use up its owner's limit (counted by token or own chat).
 * They share one of their own.
 */
function ofUser(name: LimitName, { userId, address, identity, credential }: Caller): Counted[] {
  const limit = `${name}User` as const;
  if (identity !== undefined) return [countedBy(limit, `token:${identity}`)];
  if (userId === undefined) return [];
  if (address === null) return [countedBy(limit, `own:${userId}`)];
  if (credential !== "id") return [countedBy(limit, `user:${userId}`)];
  return [{ ...countedBy(limit, `named:${userId}`), limit: `${name}Named` }];
}

function countedBy(limit: keyof typeof limits, subject: string): Counted {
  return { limit, key: sha256Hex(subject), config: limits[limit] };
}

/**
 * Counts a use, or several, against the caller's limits.
 * @throws AppError `rate_limited` with `retryAfterMs`.
 */
export async function charge(
  ctx: ActionCtx | MutationCtx,
  name: LimitName,
  caller: Caller,
  count = 1,
): Promise<void> {
  await takeAll(ctx, limitsOf(name, caller), count);
}

/** All limits of a use. The address first: a refused address counts nothing against a user that it only names. */
export function limitsOf(name: LimitName, caller: Caller): Counted[] {
  return [...ofAddress(name, caller), ...ofUser(name, caller)];
}

/** The first half: before access is decided. */
export async function chargeAddress(
  ctx: ActionCtx | MutationCtx,
  name: LimitName,
  caller: Caller,
  count = 1,
): Promise<void> {
  await takeAll(ctx, ofAddress(name, caller), count);
}

/** The second half: after it. */
export async function chargeUser(
  ctx: ActionCtx | MutationCtx,
  name: LimitName,
  caller: Caller,
  count = 1,
): Promise<void> {
  await takeAll(ctx, ofUser(name, caller), count);
}

/**
 * Refuses callers who have guessed too often, before anything is looked up, so that a right guess is answered no faster
 * than a wrong one.
 * @throws AppError `rate_limited`
 */
export async function refuseGuessing(
  ctx: ActionCtx,
  name: "miss" | "unknownHash",
  caller: Caller,
): Promise<void> {
  for (const { limit, ...by } of guessesOf(name, caller)) {
    // Not the limiter's own check: that is a query which reads the clock.
    const found = await rateLimiter.getValue(ctx, limit, by);
    const { retryAfter } = calculateRateLimit(found, by.config, Date.now(), 1);
    if (retryAfter !== undefined) throw tooMany({ limit, ...by }, retryAfter);
  }
}

/** Counts a wrong guess. */
export async function countGuess(
  ctx: ActionCtx,
  name: "miss" | "unknownHash",
  caller: Caller,
): Promise<void> {
  for (const { limit, ...by } of guessesOf(name, caller)) await rateLimiter.limit(ctx, limit, by);
}

function guessesOf(name: "miss" | "unknownHash", { address }: Caller): Counted[] {
  return address === null ? [] : [countedBy(`${name}Address`, `address:${address}`)];
}

/**
 * Counts one use against a limit of a messenger chat, of the nonces that an account fills with empty transactions, or
 * of the operator's warnings.
 * @returns Whether there was one left.
 */
export async function hasLeft(
  ctx: MutationCtx,
  name: "botChat" | "botNotice" | "botHelp" | "namedChat" | "budgetWarning" | "fill",
  subject: string,
): Promise<boolean> {
  const { limit, ...by } = countedBy(name, subject);
  return (await rateLimiter.limit(ctx, limit, by)).ok;
}

/** All of them in one transaction. A limiter that fails refuses nobody: it guards costs, not money. */
async function takeAll(
  ctx: ActionCtx | MutationCtx,
  limits: readonly Counted[],
  count: number,
): Promise<void> {
  if (limits.length === 0) return;
  const refused =
    "db" in ctx ? await takeNow(ctx, limits, count) : await takenBy(ctx, { limits: [...limits], count });
  refuse(limits, refused);
}

/** Counts one use in a transaction that does more. @throws AppError `rate_limited` */
export async function takeLimits(ctx: MutationCtx, limits: readonly Counted[]): Promise<void> {
  refuse(limits, await takeNow(ctx, limits, 1));
}

function refuse(limits: readonly Counted[], refused: Refused): void {
  const limit = limits.find((one) => one.limit === refused?.limit);
  if (refused !== null && limit !== undefined) throw tooMany(limit, refused.retryAfterMs);
}

type Refused = { limit: string; retryAfterMs: number } | null;

async function takenBy(ctx: ActionCtx, wanted: { limits: Counted[]; count: number }): Promise<Refused> {
  try {
    return await ctx.runMutation(internal.lib.limits.charges.take, wanted);
  } catch (error) {
    log.error("limits.uncounted", { message: messageOf(error) });
    return null;
  }
}

async function takeNow(ctx: MutationCtx, limits: readonly Counted[], count: number): Promise<Refused> {
  for (const { limit, ...by } of limits) {
    const status = await rateLimiter.limit(ctx, limit, { ...by, count });
    if (!status.ok) return { limit, retryAfterMs: status.retryAfter };
  }
  return null;
}

/** Counts against limits until one refuses. */
export const take = internalMutation({
  args: {
    limits: v.array(vCounted),
    count: v.number(),
  },
  returns: v.union(v.object({ limit: v.string(), retryAfterMs: v.number() }), v.null()),
  handler: (ctx, { limits, count }) => takeNow(ctx, limits, count),
});

function tooMany({ limit, config }: Counted, retryAfterMs: number): AppError {
  const [end, whose] = WHOSE.find(([suffix]) => limit.endsWith(suffix)) ?? ["", "the limit"];
  const words = new Map(Object.entries(WORDS)).get(limit.slice(0, limit.length - end.length));
  const { rate, period, capacity } = config;
  return usedUp(
    `${whose} of ${words ?? limit} (${capacity} in ${inWords((capacity / rate) * period)})`,
    retryAfterMs,
  );
}

/** The refusal of a caller who was stopped by a limit. @param what The subject of "… is used up". */
export function usedUp(what: string, retryAfterMs: number): AppError {
  const said = what.charAt(0).toUpperCase() + what.slice(1);
  return new AppError("rate_limited", `${said} is used up: there is more in ${inWords(retryAfterMs)}`, {
    retryAfterMs,
  });
}

/** Rounded up: `1 second`, `25 minutes`, `3 hours`. */
function inWords(ms: number): string {
  const [unit, name] =
    ms < 2 * MINUTE ? [SECOND, "second"] : ms < 2 * HOUR ? [MINUTE, "minute"] : [HOUR, "hour"];
  const count = Math.max(1, Math.ceil(ms / unit));
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
