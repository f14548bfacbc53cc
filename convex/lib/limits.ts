import { calculateRateLimit, MINUTE, HOUR, RateLimiter } from "@convex-dev/rate-limiter";
import { v, type Infer } from "convex/values";
import { components } from "../_generated/api";
import type { ActionCtx, MutationCtx } from "../_generated/server";
import { sha256Hex } from "./crypto";
import { AppError } from "./errors";
import { SOURCE_LIMITS, type PublicSource } from "./publicSources";
import { quotaHeaders, quotaName, type Quota } from "./quotas";

/**
 * How many rows share the count of a limit that many requests a second may be counted against. Each count reads two of
 * them and writes one, so that two which overlap conflict in one of eight cases. An even part of the limit is each row's:
 * a caller near the limit may be refused a little early.
 */
const SHARDS = 16;
/** So many of them are looked at to tell a caller what is left; the fullest speaks for all. */
const SAMPLED = 3;

/** So many in a time, and at most so many at once. */
const bucket = (rate: number, period: number, capacity: number) => {
  return { kind: "token bucket" as const, rate, period, capacity };
};
const perMinute = (rate: number, capacity = rate) => bucket(rate, MINUTE, capacity);
const perHour = (rate: number) => bucket(rate, HOUR, rate);
/** One that many count against at a time. */
const shared = (limit: ReturnType<typeof bucket>) => ({ ...limit, shards: SHARDS });

/**
 * What a caller may cost the service. Each name guards something that costs an upstream call, a message or a guess,
 * once per user and once per network address; generous, because an address may be an office or a proxy.
 */
const limits = {
  chatUser: perMinute(30, 60),
  chatAddress: shared(perMinute(240, 480)),
  refreshUser: perMinute(30, 60),
  refreshAddress: shared(perMinute(120, 240)),
  shiftUser: perHour(60),
  shiftAddress: shared(perHour(2_000)),
  settingsUser: perMinute(30, 60),
  settingsAddress: shared(perMinute(240, 480)),
  // What an alert would have fired at is looked up in a week of samples, and it is kept for a day.
  alertUser: perHour(60),
  alertAddress: perHour(240),
  // A wallet is kept for good: its address may be paid at any time.
  walletUser: perHour(60),
  walletAddress: perHour(60),
  /** Of all who are not signed in. */
  walletOverall: perHour(300),
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
  linkUser: perMinute(10, 20),
  linkAddress: perMinute(10, 20),
  // A million guesses at 40-bit codes take a day by both ways together, and each code lives for 10 minutes.
  linkOverall: shared(perMinute(300, 600)),
  botLinkOverall: shared(perMinute(300, 600)),
  botChat: perMinute(20),
  /** Cards to one chat of everybody who has named it and not shown it to be theirs: a few shifts' worth. */
  namedChat: perHour(60),
  botNotice: bucket(1, 5 * MINUTE, 1),
  // Guesses: a stranger's, whatever they name, and all that name one thing.
  missAddress: perMinute(30),
  missSubject: perMinute(20),
  unknownHashAddress: perMinute(20),
  cardUser: perHour(30),
  cardAddress: perHour(600),
};

const rateLimiter = new RateLimiter(components.rateLimiter, { ...limits, ...SOURCE_LIMITS });

/** Takes a turn to ask a public source. @returns How long to wait before asking, in ms; `null` when its queue is full. */
export async function takeTurn(ctx: ActionCtx, source: PublicSource): Promise<number | null> {
  const status = await rateLimiter.limit(ctx, source, { reserve: true });
  return status.ok ? Math.ceil(status.retryAfter ?? 0) : null;
}

/** What is counted once per user and once per network address. */
export type LimitName = {
  [Limit in keyof typeof limits]: Limit extends `${infer Name}User` ? Name : never;
}[keyof typeof limits];

/**
 * Who is asking: the user as far as they said so, and the network address (`null` where the call came by no network).
 */
export const vCaller = v.object({
  userId: v.optional(v.string()),
  address: v.union(v.string(), v.null()),
  /** Whether they came with a valid token of the web application's. */
  signedIn: v.optional(v.boolean()),
  /** Whose token that is, hashed. */
  identity: v.optional(v.string()),
  /** The HTTP request, where one is asking: work that is begun for it names it in the log. */
  requestId: v.optional(v.string()),
});
export type Caller = Infer<typeof vCaller>;

/** What was counted against a request, by its caller as the endpoint made it. */
const counted = new WeakMap<Caller, LimitName[]>();

/** Has the answer tell of a limit that was counted further in. */
export function noteCounted(caller: Caller, name: LimitName): void {
  counted.set(caller, [...(counted.get(caller) ?? []), name]);
}

/** Headers that tell a request's caller what is left of the limits it was counted against; none where it was not. */
export async function leftFor(ctx: ActionCtx, caller: Caller): Promise<Record<string, string>> {
  const quotas: Quota[] = [];
  for (const name of new Set(counted.get(caller))) {
    for (const [limit, subject] of subjectsOf(name, caller)) {
      const key = sha256Hex(subject);
      const { config, value, ts } = await rateLimiter.getValue(ctx, limit, { key, sampleShards: SAMPLED });
      // Each row has an even part of the whole.
      const part = calculateRateLimit({ value, ts }, config, Date.now()).value;
      const { shards = 1 } = config;
      const { most, windowMs } = sizeOf(limit);
      const left = Math.min(most, part * shards);
      quotas.push({ name: quotaName(limit), most, windowMs, left, againMs: (1 - left / most) * windowMs });
    }
  }
  return quotaHeaders(quotas);
}

/** What a limit allows at once, and how long it takes to fill up again. */
function sizeOf(limit: keyof typeof limits): { most: number; windowMs: number } {
  const { rate, period, capacity } = limits[limit];
  return { most: capacity, windowMs: (capacity / rate) * period };
}

/**
 * What a caller is counted by. Anybody can name a `userId`: what its owner has left, by their token or in their own chat,
 * is not what strangers use up in their name.
 */
function subjectsOf(name: LimitName, { userId, address, identity }: Caller): [keyof typeof limits, string][] {
  const subjects: [keyof typeof limits, string][] = [];
  if (address !== null) subjects.push([`${name}Address`, `address:${address}`]);
  if (identity !== undefined) subjects.push([`${name}User`, `token:${identity}`]);
  else if (userId !== undefined)
    subjects.push([`${name}User`, `${address === null ? "own" : "user"}:${userId}`]);
  return subjects;
}

/**
 * Counts a use, or several, against the caller's limits. Keys are hashes: a `userId` is a credential and stays out of the table.
 * @throws AppError `rate_limited` with `retryAfterMs`.
 */
export async function charge(
  ctx: ActionCtx | MutationCtx,
  name: LimitName,
  caller: Caller,
  count = 1,
): Promise<void> {
  noteCounted(caller, name);
  // The address first: what it is refused for counts nothing against a user that it only names.
  for (const [limit, subject] of subjectsOf(name, caller)) await take(ctx, limit, subject, count);
}

/**
 * Refuses whoever has guessed too often, before anything is looked up: a right guess is told no faster than a wrong one.
 * @param subject What is guessed at.
 * @throws AppError `rate_limited`
 */
export async function refuseGuessing(
  ctx: ActionCtx,
  name: "miss" | "unknownHash",
  { address }: Caller,
  subject?: string,
): Promise<void> {
  for (const [limit, key] of guesses(name, address, subject)) {
    const status = await rateLimiter.check(ctx, limit, { key: sha256Hex(key) });
    if (!status.ok) throw tooMany(limit, status.retryAfter);
  }
}

/** Counts a wrong guess. */
export async function countGuess(
  ctx: ActionCtx,
  name: "miss" | "unknownHash",
  { address }: Caller,
  subject?: string,
): Promise<void> {
  for (const [limit, key] of guesses(name, address, subject)) {
    await rateLimiter.limit(ctx, limit, { key: sha256Hex(key) });
  }
}

/** What a guess is counted by: who makes it, and what all of them are about. */
function guesses(
  name: "miss" | "unknownHash",
  address: string | null,
  subject: string | undefined,
): [keyof typeof limits, string][] {
  const counted: [keyof typeof limits, string][] = [];
  if (address !== null) counted.push([`${name}Address`, `address:${address}`]);
  if (subject !== undefined) counted.push(["missSubject", `subject:${subject}`]);
  return counted;
}

/** Counts one use against what all callers together may. @throws AppError `rate_limited` with `retryAfterMs`. */
export async function chargeOverall(
  ctx: ActionCtx | MutationCtx,
  name: "link" | "botLink" | "wallet",
): Promise<void> {
  await take(ctx, `${name}Overall`, "everybody", 1);
}

/** Counts one use against a messenger chat's limit. @returns Whether there was one left. */
export async function chatHasLeft(
  ctx: MutationCtx,
  name: "botChat" | "botNotice" | "namedChat",
  chatId: string,
): Promise<boolean> {
  const { ok } = await rateLimiter.limit(ctx, name, { key: sha256Hex(`chat:${chatId}`) });
  return ok;
}

async function take(
  ctx: ActionCtx | MutationCtx,
  limit: keyof typeof limits,
  subject: string,
  count: number,
): Promise<void> {
  const status = await rateLimiter.limit(ctx, limit, { key: sha256Hex(subject), count });
  if (!status.ok) throw tooMany(limit, status.retryAfter);
}

function tooMany(limit: keyof typeof limits, retryAfterMs: number): AppError {
  const quota = { name: quotaName(limit), ...sizeOf(limit), left: 0, againMs: retryAfterMs };
  const headers = quotaHeaders([quota]);
  return new AppError("rate_limited", "Too many requests: slow down", { retryAfterMs, headers });
}
