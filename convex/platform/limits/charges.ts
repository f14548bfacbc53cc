import { DAY, HOUR, MINUTE, RateLimiter } from "@convex-dev/rate-limiter";
import { v, type Infer } from "convex/values";
import { components, internal } from "../../_generated/api";
import { internalMutation, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { PUBLIC_SOURCES, SOURCE_LIMITS } from "../../figures/publicSources";
import { defineMutation } from "../changes";
import { getErrorData, formatDuration, getErrorMessage, limitExceeded } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { log } from "../../lib/log";
import { listKeys } from "../../lib/objects";
import { sha256Hex } from "../../lib/crypto";
import { getNetwork, vCaller, type Caller } from "./callers";

/**
 * The service's named limits: each protects an upstream call, a signature, a message, a guess or a permanent row. A cached
 * read is neither counted nor written.
 */
type Bucket = { kind: "token bucket"; rate: number; period: number; capacity: number; shards?: number };

/**
 * How many rows share the count of a limit that many requests a second count against. Each row has an equal part of the
 * limit, so a caller near the limit may be refused a little early.
 */
const SHARDS = 4;

/** A number per period, and how many of them at once. */
const createBucket = (rate: number, period: number, capacity: number): Bucket => {
  return { kind: "token bucket", rate, period, capacity };
};
const perMinute = (rate: number, capacity = rate) => createBucket(rate, MINUTE, capacity);
const perHour = (rate: number) => createBucket(rate, HOUR, rate);

/** A bucket that many callers count against at the same time. */
const shardLimit = (limit: Bucket): Bucket => ({ ...limit, shards: SHARDS });

/** The usual limits of a person, and of an address that many people share: an office, a web application, a bot host. */
const person = perMinute(30, 60);
const address = shardLimit(perMinute(120, 240));

/**
 * Each limit counts once per user and once per network address; per `network` for permanent rows and guesses, because one
 * customer has many addresses. `of`: the subject in the refusal.
 */
export const LIMITS = {
  question: { of: "questions", user: person, address },
  settings: { of: "changes of settings", user: person, address },
  // Ids of messenger accounts can be tried one after another.
  account: { of: "look-ups of accounts", user: person, address },
  order: { of: "orders", user: perMinute(60, 200), address: shardLimit(perMinute(240, 480)) },
  chain: { of: "questions to the chain", user: perMinute(60, 120), address: shardLimit(perMinute(480, 960)) },
  // Anonymous callers may guess hashes and payments.
  lookUp: { of: "look-ups of payments and transactions", user: perMinute(240, 480), address: perMinute(120) },
  // Each asks an exchange.
  unpaid: { of: "looks at tokens", user: person, address: perMinute(20) },
  deposit: {
    of: "notices of deposits",
    user: perMinute(240, 480),
    address: shardLimit(perMinute(600, 1_200)),
  },
  // Ten may run at once: a user who has started all of them has reports for eight hours.
  shift: { of: "new research shifts", user: perHour(20), network: perHour(40) },
  alert: { of: "new alerts", user: perHour(60), address: perHour(240) },
  // A wallet is permanent, because its address may receive money at any time.
  wallet: { of: "new wallets", user: perHour(60), network: perHour(60) },
  webhook: { of: "new webhooks", user: perHour(20), network: perHour(20) },
  claim: { of: "claims", user: perHour(20), address: perHour(200) },
  card: { of: "cards", user: perHour(30), address: perHour(600) },
  table: { of: "tables of moves", user: perHour(10), address: perHour(200) },
  // Codes of 40 bits live for 10 minutes: ten thousand networks that guess as often as they may find one of a thousand
  // open codes in a week. Each guess counts against its sender only.
  link: { of: "link codes", user: perMinute(10, 20), network: perMinute(10, 20) },
} satisfies Readonly<
  Record<string, { of: string; user: Bucket } & ({ address: Bucket } | { network: Bucket })>
>;

/** Limits of other subjects. */
const OTHERS = {
  botChat: perMinute(20),
  botNotice: createBucket(1, 5 * MINUTE, 1),
  botHelp: createBucket(1, HOUR, 1),
  /** Cards to one chat that were requested without proof of owning the chat. */
  namedChat: perHour(60),
  /** Cards that ask an owner for an alert on the word of a caller with only the id. */
  askedAlert: createBucket(10, DAY, 10),
  /** Payments of one payer that were mined and failed, at the relayer's cost. */
  failedPayment: createBucket(2, DAY, 2),
  budgetWarning: createBucket(1, DAY, 1),
  /** Empty transactions that fill an account's nonces, each at the price of a transaction: three gaps of the longest kind. */
  fill: perHour(48),
};

/** The limits that count once per user and once per network address. */
export const vLimitName = literals(...listKeys(LIMITS));
export type LimitName = Infer<typeof vLimitName>;

const rateLimiter = new RateLimiter(components.rateLimiter);

/**
 * Any caller can name a `userId`. Callers without a credential for it share a limit of their own, so that they cannot use
 * up the owner's (counted by token or own chat).
 */
function getLimitSubject({ userId, address, identity, credential }: Caller): string | null {
  if (identity !== undefined) return `token:${identity}`;
  if (userId === undefined) return null;
  if (credential !== undefined) return `${credential === "id" ? "named" : "user"}:${userId}`;
  return `${address === null ? "own" : "named"}:${userId}`;
}

const vPart = literals("address", "user");
type Part = Infer<typeof vPart>;

/**
 * Counts a use against the caller's limits, the address's first: a refused address counts nothing against a user that it
 * only names.
 * @param part Only the address's, before access is decided; or only the user's, after it.
 * @throws AppError `rate_limited` with `retryAfterMs`.
 */
export async function charge(
  ctx: ActionCtx | MutationCtx,
  name: LimitName,
  caller: Caller,
  part?: Part,
): Promise<void> {
  if ("db" in ctx) return takeAll(ctx, name, caller, part);
  if (listLimits(name, caller, part).length === 0) return;
  try {
    const given = { name, caller, ...(part === undefined ? {} : { part }) };
    await ctx.runMutation(internal.platform.limits.charges.takeCharge, given);
  } catch (error) {
    if (getErrorData(error) !== null) throw error;
    // A limiter that fails refuses nobody: it guards costs, not money.
    log.error("limits.uncounted", { message: getErrorMessage(error) });
  }
}

/** The limits that count a use. A `userId` is a credential: it stands in no key. */
function listLimits(name: LimitName, caller: Caller, part?: Part) {
  const { of, user, ...around } = LIMITS[name];
  const limits: { limit: string; of: string; by: string; key: string; config: Bucket }[] = [];
  if (part !== "user" && caller.address !== null) {
    const [whose, subject, config] =
      "network" in around
        ? (["network", getNetwork(caller.address), around.network] as const)
        : (["network address", caller.address, around.address] as const);
    const ownLimits = { by: `from your ${whose}`, key: sha256Hex(`address:${subject}`) };
    limits.push({ limit: `${name}Address`, of, ...ownLimits, config });
  }
  const subject = part === "address" ? null : getLimitSubject(caller);
  if (subject !== null) {
    const ownLimits = { by: "for this user", key: sha256Hex(subject) };
    limits.push({ limit: `${name}User`, of, ...ownLimits, config: user });
  }
  return limits;
}

async function takeAll(ctx: MutationCtx, name: LimitName, caller: Caller, part?: Part): Promise<void> {
  for (const { limit, of, by, key, config } of listLimits(name, caller, part)) {
    const { ok, retryAfter = 0 } = await rateLimiter.limit(ctx, limit, { key, config });
    if (ok) continue;
    const { rate, period, capacity } = config;
    const within = formatDuration((capacity / rate) * period);
    throw limitExceeded(`Rate limit reached: ${capacity} ${of} in ${within} ${by}`, retryAfter);
  }
}

/** All of a use's limits in one transaction. */
export const takeCharge = defineMutation(
  { name: vLimitName, caller: vCaller, part: v.optional(vPart) },
  (ctx, { name, caller, part }) => takeAll(ctx, name, caller, part),
);

/** Whether a limit of another subject has one use left. Counts nothing. */
export async function hasOneLeft(
  ctx: MutationCtx,
  name: keyof typeof OTHERS,
  subject: string,
): Promise<boolean> {
  return (await rateLimiter.check(ctx, name, { key: sha256Hex(subject), config: OTHERS[name] })).ok;
}

/** Counts one use against a limit of another subject. @returns Whether there was one left. */
export async function hasLeft(
  ctx: MutationCtx,
  name: keyof typeof OTHERS,
  subject: string,
): Promise<boolean> {
  return (await rateLimiter.limit(ctx, name, { key: sha256Hex(subject), config: OTHERS[name] })).ok;
}

/** Takes turns of public sources, at the pace of each. @returns How long each has to wait, in ms; `null` where the pace is used up. */
export const takeTurns = internalMutation({
  args: { sources: v.array(literals(...PUBLIC_SOURCES)) },
  returns: v.array(v.union(v.number(), v.null())),
  handler: async (ctx, { sources }) => {
    const waits: (number | null)[] = [];
    for (const source of sources) {
      const config = SOURCE_LIMITS[source];
      const reserve = config.maxReserved > 0;
      const { ok, retryAfter = 0 } = await rateLimiter.limit(ctx, source, { config, reserve });
      waits.push(ok ? Math.ceil(retryAfter) : null);
    }
    return waits;
  },
});
