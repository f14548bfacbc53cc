import { internal } from "../../_generated/api";
import type { ActionCtx, MutationCtx } from "../../_generated/server";
import { sha256Hex } from "../security/digests";
import { quotaName } from "./quotas";
import { usedUp } from "./refusals";
import { holdersOf, takeOne, windowOf, type Pool, type Taking } from "./shares";
import { DAY, HOUR, MINUTE } from "../time";

/**
 * Common pools from which strangers take one thing at a time, each at most a tenth of what is left
 * (`lib/limits/shares`). A tenth of the whole is ten times a person's pace.
 */
const pools = {
  /** A wallet is kept for good. */
  wallet: { most: 300, windowMs: HOUR, holds: "the new wallets of an hour" },
  // These are kept for a month.
  webhook: { most: 300, windowMs: DAY, holds: "the new webhooks of a day" },
  setting: { most: 300, windowMs: DAY, holds: "the new messenger settings of a day" },
  /** Signals that the tracker follows: a tenth is what an owner's ten arms propose on ten days. */
  signal: { most: 2_000, windowMs: DAY, holds: "the proposed signals of a day" },
  missSubject: { most: 20, windowMs: MINUTE, holds: "the guesses of a minute at this" },
};
type PoolName = keyof typeof pools;

function poolOf(name: PoolName, of?: string): Pool {
  const { most, windowMs } = pools[name];
  return { name: of === undefined ? name : `${name}:${sha256Hex(of)}`, most, windowMs };
}

/** How full the strangers' pools are, for the operator's warnings. */
export const watchedPools: readonly (Pool & { holds: string })[] = (
  ["wallet", "webhook", "setting"] as const
).map((name) => ({ ...poolOf(name), holds: pools[name].holds }));

/** Takes one from a common pool. @throws AppError `rate_limited` if none is left for this caller. */
export async function takeCommon(
  ctx: ActionCtx,
  name: "wallet" | "webhook",
  caller: Parameters<typeof holdersOf>[0],
): Promise<void> {
  const wanted = { pool: poolOf(name), holders: holdersOf(caller) };
  refuseUnless(name, await ctx.runMutation(internal.lib.limits.shares.take, wanted));
}

/** The same inside a transaction. @param holders The callers it is counted for. */
export async function takeCommonNow(
  ctx: MutationCtx,
  name: "setting" | "signal",
  holders: readonly string[],
): Promise<void> {
  refuseUnless(name, await takeOne(ctx, poolOf(name), holders));
}

/** Refuses more guesses at a subject to a caller who has used their share. @throws AppError `rate_limited` */
export async function refuseGuessingAt(
  ctx: ActionCtx,
  subject: string,
  address: string | null,
): Promise<void> {
  const pool = poolOf("missSubject", subject);
  const wanted = { pool, holders: holdersOf({ address }), window: windowOf(pool) };
  refuseUnless("missSubject", await ctx.runQuery(internal.lib.limits.shares.allows, wanted));
}

export async function countGuessAt(ctx: ActionCtx, subject: string, address: string | null): Promise<void> {
  const wanted = { pool: poolOf("missSubject", subject), holders: holdersOf({ address }) };
  await ctx.runMutation(internal.lib.limits.shares.take, wanted);
}

/** @throws AppError `rate_limited` if nothing is left of a pool until its window ends, for this caller or for all. */
function refuseUnless(name: PoolName, outcome: Taking): void {
  if (outcome === "taken") return;
  const { most, windowMs, holds } = pools[name];
  const againMs = windowOf(poolOf(name)) + windowMs - Date.now();
  const callers = name === "signal" ? "signed-in users" : "callers without a sign-in";
  const all = `what all ${callers} have of ${holds} (${most})`;
  const what = outcome === "all" ? all : `your part, a tenth of what is left, of ${holds} (${most} for all)`;
  throw usedUp(what, { name: quotaName(name), most, windowMs, left: 0, againMs });
}
