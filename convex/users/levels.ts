import type { Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { isGuessable } from "../lib/records/ids";
import { nameOf } from "./names";
import type { vSetting } from "./tables";

/** How far an account goes with whoever names its `userId` and proves nothing else. Plain functions. */

export type LevelSetting = Infer<typeof vSetting>;
/** What holds, and until when the owner has blocked orders by `userId` alone (epoch ms). */
export type Standing = LevelSetting & { blockedUntil: number | null };
export type Level = LevelSetting["level"];

/** What an owner who has set nothing has. */
const DEFAULT: LevelSetting = { level: "guarded" };

/** What whatever moves in an owner's name is bound to. Sums in micro-USD. */
export type OwnLimits = {
  /** Of one order. */
  most: bigint;
  /** In any 24 hours. */
  daily: bigint;
  /** How much of `daily` swaps may lose by their terms in any 24 hours, in basis points. */
  lossBps: bigint;
};

/** 1,000 USD an order, 2,000 USD in 24 hours, and a twentieth of that for what swaps may lose. */
const DEFAULT_LIMITS: OwnLimits = { most: 1_000_000_000n, daily: 2_000_000_000n, lossBps: 500n };

/** The limits that a setting holds; an owner who has set none has the service's own. */
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

/** What is set at `now`: a change that waited holds from its time on, with nobody having to carry it out. */
export function settingAt(row: Doc<"accountLevels"> | null, now: number): LevelSetting {
  if (row === null) return DEFAULT;
  return row.next !== undefined && row.next.dueAt <= now ? row.next.setting : row.setting;
}

/** Why `open` is not for this account; `null` where it may be. */
export async function openRefusal(ctx: QueryCtx, userId: string, isLinked: boolean): Promise<string | null> {
  if (isGuessable(await nameOf(ctx, userId))) return "This userId could be guessed: its level cannot be open";
  if (isLinked && !isSet("MESSENGER_CONNECT_SECRET"))
    return "A messenger account is linked, and whoever knows that account can learn the userId: the level cannot be open";
  return null;
}

/** What holds at `now`: `open` counts as `guarded` where it is not for this account any more. */
export async function levelOf(ctx: QueryCtx, userId: string, now: number): Promise<Standing> {
  const row = await levelRowOf(ctx, userId);
  const setting = settingAt(row, now);
  const isOpen = setting.level === "open" && (await openRefusal(ctx, userId, row?.linked === true)) === null;
  const blockedUntil = (row?.blockedUntil ?? 0) > now ? (row?.blockedUntil ?? null) : null;
  const { capMicroUsd: _, ...guarded } = { ...setting, ...DEFAULT };
  return { ...(setting.level === "open" && !isOpen ? guarded : setting), blockedUntil };
}

/** What of an owner's rules every permission to sign depends on. */
export type Rules = {
  /** Counts their changes. */
  version: number;
  isFrozen: boolean;
};

export async function rulesOf(ctx: QueryCtx, userId: string): Promise<Rules> {
  const row = await levelRowOf(ctx, userId);
  return { version: row?.version ?? 0, isFrozen: row?.frozenAt !== undefined };
}

/** The messenger account that was linked before, while it still has a say (`messenger/links`). */
export async function formerAccount(ctx: QueryCtx, userId: string, now: number): Promise<string | null> {
  const former = (await levelRowOf(ctx, userId))?.formerLink;
  return former !== undefined && former.until > now ? former.messengerId : null;
}

/** Makes void what the rules of before have allowed and nobody has signed yet. */
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

/** What is `undefined` ends. */
type RuleChanges = Partial<Pick<Doc<"accountLevels">, "setting" | "linked" | "setAt" | "calledOffAt">> & {
  [Field in "next" | "frozenAt" | "blockedUntil" | "formerLink"]?: Doc<"accountLevels">[Field] | undefined;
};
