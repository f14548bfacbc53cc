import { calculateRateLimit, MINUTE, HOUR, RateLimiter } from "@convex-dev/rate-limiter";
import { components } from "../../_generated/api";
import type { ActionCtx, MutationCtx } from "../../_generated/server";
import { sha256Hex } from "../security/digests";
import type { AppError } from "../errors";
import { countGuessAt, refuseGuessingAt } from "./pools";
import { quotaName } from "./quotas";
import { inWords, usedUp } from "./refusals";
import type { Caller } from "./callers";
import { networksOf } from "./shares";

/**
 * How many rows share the count of a limit that many requests a second count against. Each count reads two rows and
 * writes one, so two that overlap conflict in one of eight cases. Each row has an equal part of the limit, so a caller
 * near the limit may be refused a little early.
 */
const SHARDS = 16;

/** The part of the owner's limit that callers have who only name an id. */
const PART_OF_NAMED = 0.3;

type Bucket = { kind: "token bucket"; rate: number; period: number; capacity: number; shards?: number };

/** A number per period, and how many of them at once. */
const bucket = (rate: number, period: number, capacity: number): Bucket => {
  return { kind: "token bucket", rate, period, capacity };
};
const perMinute = (rate: number, capacity = rate) => bucket(rate, MINUTE, capacity);
const perHour = (rate: number) => bucket(rate, HOUR, rate);
/** A bucket that many callers count against at the same time. */
const shared = (limit: Bucket): Bucket => ({ ...limit, shards: SHARDS });

/**
 * What a caller may cost the service. Each limit guards something that costs an upstream call, a message or a guess,
 * once per user and once per network address. They are generous, because an address may be an office or a proxy.
 */
const limits = {
  chatUser: perMinute(30, 60),
  chatAddress: shared(perMinute(240, 480)),
  refreshUser: perMinute(30, 60),
  refreshAddress: shared(perMinute(120, 240)),
  // Ten may run at once: a user who has started all of them has reports for eight hours.
  shiftUser: bucket(9, HOUR, 12),
  shiftAddress: bucket(20, HOUR, 20),
  settingsUser: perMinute(30, 60),
  settingsAddress: shared(perMinute(240, 480)),
  // The past firings of an alert are looked up in a week of samples, and it is kept for a day.
  alertUser: perHour(60),
  alertAddress: perHour(240),
  // A wallet is kept for good, because somebody may pay to its address at any time.
  walletUser: perHour(60),
  walletAddress: perHour(60),
  chainUser: perMinute(60, 120),
  chainAddress: shared(perMinute(480, 960)),
  transferUser: perMinute(60, 200),
  runUser: perMinute(30, 60),
  runAddress: shared(perMinute(240, 480)),
  gameUser: perHour(60),
  gameAddress: shared(perHour(2_000)),
  claimUser: perHour(20),
  claimAddress: perHour(200),
  transferAddress: shared(perMinute(240, 480)),
  depositUser: perMinute(240, 480),
  depositAddress: shared(perMinute(600, 1_200)),
  newDepositUser: perMinute(60, 600),
  newDepositAddress: perMinute(60, 600),
  paymentUser: perMinute(60, 200),
  paymentAddress: shared(perMinute(240, 480)),
  // Codes of 40 bits live for 10 minutes: ten thousand addresses that guess as often as they may find one of a thousand
  // open codes in a week. Each guess counts against its sender only.
  linkUser: perMinute(10, 20),
  linkAddress: perMinute(10, 20),
  linkNetwork: perMinute(100, 200),
  botChat: perMinute(20),
  /** Cards to one chat from everybody who has named it without proving that it is theirs: a few shifts' worth. */
  namedChat: perHour(60),
  botNotice: bucket(1, 5 * MINUTE, 1),
  botHelp: bucket(1, HOUR, 1),
  // A stranger's guesses, whatever they name. Guesses at one thing are also a pool (`lib/limits/pools`).
  missAddress: perMinute(30),
  unknownHashAddress: perMinute(20),
  /** Empty transactions that fill an account's nonces, each at the price of a transaction: three gaps of the longest kind. */
  fill: perHour(48),
  // Ten arms with two signals a day each, and the refused ones.
  signalUser: perHour(120),
  signalAddress: perHour(600),
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
  chain: "questions to the chain",
  transfer: "orders",
  run: "agent runs",
  game: "games",
  claim: "claims",
  deposit: "notices of deposits",
  newDeposit: "deposits named for the first time",
  payment: "payments",
  link: "link codes",
  signal: "proposed signals",
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

/** What a limit allows at once, and how long it takes to fill up again. */
function sizeOf({ rate, period, capacity }: Bucket): { most: number; windowMs: number } {
  return { most: capacity, windowMs: (capacity / rate) * period };
}

/** A limit and the caller that it counts, hashed: a `userId` is a credential and stays out of the table. */
type Counted = { limit: string; key: string; config: Bucket };

function ofAddress(name: LimitName, { address }: Caller): Counted[] {
  if (address === null) return [];
  const own = countedBy(`${name}Address`, `address:${address}`);
  const [, around] = networksOf(address);
  return name === "link" && around !== undefined ? [own, countedBy("linkNetwork", around)] : [own];
}

/**
 * Anybody can name a `userId`, so strangers who name it do not use up its owner's limit (counted by token or own chat).
 * They share a small limit of their own.
 */
function ofUser(name: LimitName, { userId, address, identity, credential }: Caller): Counted[] {
  const limit = `${name}User` as const;
  if (identity !== undefined) return [countedBy(limit, `token:${identity}`)];
  if (userId === undefined) return [];
  if (address === null) return [countedBy(limit, `own:${userId}`)];
  if (credential !== "id") return [countedBy(limit, `user:${userId}`)];
  const { rate, capacity, ...rest } = limits[limit];
  const config = { ...rest, rate: rate * PART_OF_NAMED, capacity: Math.ceil(capacity * PART_OF_NAMED) };
  return [{ limit: `${name}Named`, key: sha256Hex(`named:${userId}`), config }];
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
  // The address first: a refused address counts nothing against a user that it only names.
  await chargeAddress(ctx, name, caller, count);
  await chargeUser(ctx, name, caller, count);
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
 * @param subject What is guessed at.
 * @throws AppError `rate_limited`
 */
export async function refuseGuessing(
  ctx: ActionCtx,
  name: "miss" | "unknownHash",
  caller: Caller,
  subject?: string,
): Promise<void> {
  const { address } = caller;
  if (address !== null) {
    const { limit, ...by } = countedBy(`${name}Address`, `address:${address}`);
    // Not the limiter's own check: that is a query which reads the clock.
    const found = await rateLimiter.getValue(ctx, limit, by);
    const { retryAfter } = calculateRateLimit(found, by.config, Date.now(), 1);
    if (retryAfter !== undefined) throw tooMany({ limit, ...by }, retryAfter);
  }
  if (subject === undefined) return;
  await refuseGuessingAt(ctx, subject, address);
}

/** Counts a wrong guess. */
export async function countGuess(
  ctx: ActionCtx,
  name: "miss" | "unknownHash",
  { address }: Caller,
  subject?: string,
): Promise<void> {
  if (address !== null) {
    const { limit, ...by } = countedBy(`${name}Address`, `address:${address}`);
    await rateLimiter.limit(ctx, limit, by);
  }
  if (subject === undefined) return;
  await countGuessAt(ctx, subject, address);
}

/**
 * Counts one use against a limit of a messenger chat, or of the nonces that an account fills with empty transactions.
 * @returns Whether there was one left.
 */
export async function hasLeft(
  ctx: MutationCtx,
  name: "botChat" | "botNotice" | "botHelp" | "namedChat" | "fill",
  subject: string,
): Promise<boolean> {
  const { limit, ...by } = countedBy(name, subject);
  return (await rateLimiter.limit(ctx, limit, by)).ok;
}

async function takeAll(
  ctx: ActionCtx | MutationCtx,
  limits: readonly Counted[],
  count: number,
): Promise<void> {
  for (const { limit, ...by } of limits) {
    const status = await rateLimiter.limit(ctx, limit, { ...by, count });
    if (!status.ok) throw tooMany({ limit, ...by }, status.retryAfter);
  }
}

function tooMany({ limit, config }: Counted, retryAfterMs: number): AppError {
  const [end, whose] = WHOSE.find(([suffix]) => limit.endsWith(suffix)) ?? ["", "the limit"];
  const words = new Map(Object.entries(WORDS)).get(limit.slice(0, limit.length - end.length));
  const quota = { name: quotaName(limit), ...sizeOf(config), left: 0, againMs: retryAfterMs };
  return usedUp(`${whose} of ${words ?? quota.name} (${quota.most} in ${inWords(quota.windowMs)})`, quota);
}
