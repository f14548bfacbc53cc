import { MINUTE, HOUR, RateLimiter, SECOND } from "@convex-dev/rate-limiter";
import { v, type Infer } from "convex/values";
import { components } from "../_generated/api";
import type { ActionCtx, MutationCtx } from "../_generated/server";
import { sha256Hex } from "./crypto";
import { AppError } from "./errors";

/**
 * How many rows share the count of a limit that many requests a second may be counted against. Each count reads two of
 * them and writes one, so that two which overlap conflict in one of eight cases. An even part of the limit is each row's:
 * a caller near the limit may be refused a little early.
 */
const SHARDS = 16;

/**
 * What a caller may cost the service. Each name guards something that costs an upstream call, a message or a guess,
 * once per user and once per network address; generous, because an address may be an office or a proxy.
 */
const limits = {
  chatUser: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 60 },
  chatAddress: { kind: "token bucket", rate: 240, period: MINUTE, capacity: 480, shards: SHARDS },
  refreshUser: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 60 },
  refreshAddress: { kind: "token bucket", rate: 120, period: MINUTE, capacity: 240, shards: SHARDS },
  shiftUser: { kind: "token bucket", rate: 60, period: HOUR, capacity: 60 },
  shiftAddress: { kind: "token bucket", rate: 2_000, period: HOUR, capacity: 2_000, shards: SHARDS },
  settingsUser: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 60 },
  settingsAddress: { kind: "token bucket", rate: 240, period: MINUTE, capacity: 480, shards: SHARDS },
  chainUser: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 120 },
  chainAddress: { kind: "token bucket", rate: 480, period: MINUTE, capacity: 960, shards: SHARDS },
  transferUser: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 200 },
  runUser: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 60 },
  runAddress: { kind: "token bucket", rate: 240, period: MINUTE, capacity: 480, shards: SHARDS },
  gameUser: { kind: "token bucket", rate: 60, period: HOUR, capacity: 60 },
  gameAddress: { kind: "token bucket", rate: 2_000, period: HOUR, capacity: 2_000, shards: SHARDS },
  claimUser: { kind: "token bucket", rate: 20, period: HOUR, capacity: 20 },
  claimAddress: { kind: "token bucket", rate: 200, period: HOUR, capacity: 200 },
  transferAddress: { kind: "token bucket", rate: 240, period: MINUTE, capacity: 480, shards: SHARDS },
  depositUser: { kind: "token bucket", rate: 240, period: MINUTE, capacity: 480 },
  depositAddress: { kind: "token bucket", rate: 600, period: MINUTE, capacity: 1_200, shards: SHARDS },
  newDepositUser: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 600 },
  newDepositAddress: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 600 },
  paymentUser: { kind: "token bucket", rate: 60, period: MINUTE, capacity: 200 },
  paymentAddress: { kind: "token bucket", rate: 240, period: MINUTE, capacity: 480, shards: SHARDS },
  linkUser: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20 },
  linkAddress: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 20 },
  // A million guesses at 40-bit codes take a day by both ways together, and each code lives for 10 minutes.
  linkOverall: { kind: "token bucket", rate: 300, period: MINUTE, capacity: 600, shards: SHARDS },
  botLinkOverall: { kind: "token bucket", rate: 300, period: MINUTE, capacity: 600, shards: SHARDS },
  botChat: { kind: "token bucket", rate: 20, period: MINUTE, capacity: 20 },
  /** Cards to one chat of everybody who has named it and not shown it to be theirs: a few shifts' worth. */
  namedChat: { kind: "token bucket", rate: 60, period: HOUR, capacity: 60 },
  botNotice: { kind: "token bucket", rate: 1, period: 5 * MINUTE, capacity: 1 },
  // Guesses: a stranger's, whatever they name, and all that name one thing.
  missAddress: { kind: "token bucket", rate: 30, period: MINUTE, capacity: 30 },
  missSubject: { kind: "token bucket", rate: 20, period: MINUTE, capacity: 20 },
  unknownHashAddress: { kind: "token bucket", rate: 20, period: MINUTE, capacity: 20 },
  cardUser: { kind: "token bucket", rate: 30, period: HOUR, capacity: 30 },
  cardAddress: { kind: "token bucket", rate: 600, period: HOUR, capacity: 600 },
} as const;

/**
 * How often this service asks the public sources of data, all callers together: below what each allows one address, which
 * a deployment may share with others. What comes too often waits in a queue of `maxReserved` requests.
 * Allowed: Coinbase 10 a second (docs.cdp.coinbase.com/exchange/rest-api/rate-limits), Binance a weight of 6,000 a minute,
 * of which a request here takes 250 at most, CoinGecko 5 to 15 a minute without a key (support.coingecko.com), Hyperliquid a
 * weight of 1,200 a minute at 20 a request, GDELT one every 5 seconds; DefiLlama states none.
 */
const outbound = {
  coinbase: { kind: "token bucket", rate: 4, period: SECOND, capacity: 8, maxReserved: 40 },
  binance: { kind: "token bucket", rate: 15, period: MINUTE, capacity: 8, maxReserved: 5 },
  coingecko: { kind: "token bucket", rate: 5, period: MINUTE, capacity: 4, maxReserved: 2 },
  hyperliquid: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 4, maxReserved: 2 },
  defillama: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 4, maxReserved: 2 },
  gdelt: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 1, maxReserved: 8 },
} as const;

/** A public source of data that is asked without a key. */
export type PublicSource = keyof typeof outbound;

const rateLimiter = new RateLimiter(components.rateLimiter, { ...limits, ...outbound });

/** Takes a turn to ask a public source. @returns How long to wait before asking, in ms; `null` when its queue is full. */
export async function takeTurn(ctx: ActionCtx, source: PublicSource): Promise<number | null> {
  const status = await rateLimiter.limit(ctx, source, { reserve: true });
  return status.ok ? Math.ceil(status.retryAfter ?? 0) : null;
}

export type LimitName =
  | "chat"
  | "refresh"
  | "shift"
  | "settings"
  | "chain"
  | "transfer"
  | "deposit"
  | "newDeposit"
  | "payment"
  | "run"
  | "game"
  | "claim"
  | "link"
  | "card";

/**
 * Who is asking: the user as far as they said so, and the network address (`null` where the call came by no network).
 */
export const vCaller = v.object({
  userId: v.optional(v.string()),
  address: v.union(v.string(), v.null()),
  /** The signed-in person whose valid token came along, whoever is named as `userId`. */
  tokenIdentifier: v.optional(v.string()),
  /** The HTTP request, where one is asking: work that is begun for it names it in the log. */
  requestId: v.optional(v.string()),
});
export type Caller = Infer<typeof vCaller>;

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
  const { address, userId, tokenIdentifier } = caller;
  // The address first: what it is refused for counts nothing against a user that it only names.
  if (address !== null) await take(ctx, `${name}Address`, `address:${address}`, count);
  if (userId === undefined) return;
  // Anybody may name a signed-in user's id: what strangers ask in that name is refused later, and counts nothing here
  // against who comes with the token. An id that belongs to nobody is known to its user alone.
  const subject = tokenIdentifier === undefined ? `user:${userId}` : `token:${tokenIdentifier}`;
  await take(ctx, `${name}User`, subject, count);
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
    if (!status.ok) throw tooMany(status.retryAfter);
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

function guesses(
  name: "miss" | "unknownHash",
  address: string | null,
  subject: string | undefined,
): [keyof typeof limits, string][] {
  return [
    ...(address === null ? [] : [[`${name}Address`, `address:${address}`] as [keyof typeof limits, string]]),
    ...(subject === undefined
      ? []
      : [["missSubject", `subject:${subject}`] as [keyof typeof limits, string]]),
  ];
}

/** Counts one use against what all callers together may. @throws AppError `rate_limited` with `retryAfterMs`. */
export async function chargeOverall(ctx: ActionCtx | MutationCtx, name: "link" | "botLink"): Promise<void> {
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
  if (!status.ok) {
    throw tooMany(status.retryAfter);
  }
}

function tooMany(retryAfterMs: number): AppError {
  return new AppError("rate_limited", "Too many requests: slow down", { retryAfterMs });
}
