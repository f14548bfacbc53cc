import type { Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { AppError } from "../lib/errors";
import { isGuessable } from "../lib/records/ids";
import { FROZEN } from "../lib/security/refusals";
import { nameOf } from "./names";
import type { vSetting } from "./tables";

/** What callers may do who only name a `userId`. Plain functions. */

export type LevelSetting = Infer<typeof vSetting>;
/** The current setting, and until when the owner has blocked orders by `userId` alone (epoch ms). */
export type Standing = LevelSetting & { blockedUntil: number | null };
export type Level = LevelSetting["level"];

/** The setting of an owner who has set nothing. */
const DEFAULT: LevelSetting = { level: "guarded" };

/** Limits of all orders in an owner's name. Sums in micro-USD. */
export type OwnLimits = {
  /** Of one order. */
  most: bigint;
  /** In any 24 hours. */
  daily: bigint;
  /** How much of `daily` swaps may lose by their terms in 24 hours, in basis points. */
  lossBps: bigint;
};

/** 1,000 USD per order, 2,000 USD in 24 hours, and a twentieth of that for losses of swaps. */
const DEFAULT_LIMITS: OwnLimits = { most: 1_000_000_000n, daily: 2_000_000_000n, lossBps: 500n };

/** The limits of a setting; without any, the service's defaults. */
export function limitsIn({ mostMicroUsd, dailyMicroUsd, lossBps }: LevelSetting): OwnLimits {
  return {
    most: mostMicroUsd === undefined ? DEFAULT_LIMITS.most : BigInt(mostMicroUsd),
    daily: dailyMicroUsd === undefined ? DEFAULT_LIMITS.daily : BigInt(dailyMicroUsd),
    lossBps: lossBps === undefined ? DEFAULT_LIMITS.lossBps : BigInt(lossBps),
  };
}

export async function levelRowOf(ctx: QueryCtx, userId: string): Promise<Doc<"accountLevels"> | null> {
  return getOneFrom(ctx.db, "accountLevels", "by_userId", userId);
}

/** The setting at `now`: a pending change applies from its time on, without further action. */
export function settingAt(row: Doc<"accountLevels"> | null, now: number): LevelSetting {
  if (row === null) return DEFAULT;
  return row.next !== undefined && row.next.dueAt <= now ? row.next.setting : row.setting;
}

/** Why the account cannot be `open`; `null` if it can. */
export async function openRefusal(ctx: QueryCtx, userId: string, isLinked: boolean): Promise<string | null> {
  if (isGuessable(await nameOf(ctx, userId))) return "This userId could be guessed: its level cannot be open";
  if (isLinked && !isSet("MESSENGER_CONNECT_SECRET"))
    return "A messenger account is linked, and anybody who knows that account can learn the userId: the level cannot be open";
  return null;
}

/** The level at `now`: `open` counts as `guarded` if the account cannot be open any more. */
export async function levelOf(ctx: QueryCtx, userId: string, now: number): Promise<Standing> {
  const row = await levelRowOf(ctx, userId);
  const setting = settingAt(row, now);
  const isOpen = setting.level === "open" && (await openRefusal(ctx, userId, row?.linked === true)) === null;
  const blockedUntil = (row?.blockedUntil ?? 0) > now ? (row?.blockedUntil ?? null) : null;
  const { capMicroUsd: _, ...guarded } = { ...setting, ...DEFAULT };
  return { ...(setting.level === "open" && !isOpen ? guarded : setting), blockedUntil };
}

/** The owner's rules that every permission to sign depends on. */
export type Rules = {
  /** Counts their changes. */
  version: number;
  isFrozen: boolean;
};

export async function rulesOf(ctx: QueryCtx, userId: string): Promise<Rules> {
  const row = await levelRowOf(ctx, userId);
  return { version: row?.version ?? 0, isFrozen: row?.frozenAt !== undefined };
}

/** The rules of an account that may do something. @throws AppError `paused` where its owner has frozen it. */
export async function liveRules(ctx: QueryCtx, userId: string): Promise<Rules> {
  const rules = await rulesOf(ctx, userId);
  if (rules.isFrozen) throw new AppError("paused", FROZEN);
  return rules;
}

/** The formerly linked messenger account, while it still has a say (`messenger/links`). */
export async function formerAccount(ctx: QueryCtx, userId: string, now: number): Promise<string | null> {
  const former = (await levelRowOf(ctx, userId))?.formerLink;
  return former !== undefined && former.until > now ? former.messengerId : null;
}

/** Voids permissions under the earlier rules that nobody has signed yet. */
export async function changeRules(
  ctx: MutationCtx,
  userId: string,
  changes: RuleChanges = {},
): Promise<void> {
  const row = await levelRowOf(ctx, userId);
  const fresh = { userId, setting: DEFAULT, setAt: Date.now(), linked: false };
  const id = row?._id ?? (await ctx.db.insert("accountLevels", fresh));
  await ctx.db.patch("accountLevels", id, { ...changes, version: (row?.version ?? 0) + 1 });
}

/** `undefined` removes a field. */
type RuleChanges = Partial<Pick<Doc<"accountLevels">, "setting" | "linked" | "setAt" | "calledOffAt">> & {
  [Field in "next" | "frozenAt" | "blockedUntil" | "formerLink"]?: Doc<"accountLevels">[Field] | undefined;
};
