import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { mutation, query, type QueryCtx } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { formatUnits, microUsd } from "../lib/money/amounts";
import { dateTime, HOUR } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { linkOf } from "../messenger/model";
import { tellEverywhere } from "../messenger/notices";
import { changeRules, levelRowOf, openRefusal, settingAt, type LevelSetting } from "../users/levels";
import { requireUser } from "../users/model";
import { openClaimBy } from "./openClaims";
import { vLevel } from "../users/tables";

/** How far an account goes with whoever names its `userId` alone, as its owner reads and sets it. */

/** What loosens a level waits so long, so that an owner who did not want it can take it back. */
const LOOSENING_MS = 2 * HOUR;

const vShown = v.object({
  level: vLevel,
  /** Of `open`: what orders by `userId` alone may move in 24 hours, decimal USD; `null` for the others. */
  capUsd: v.union(v.string(), v.null()),
});

const vStanding = v.object({
  ...vShown.fields,
  /** A change that waits, or that holds if `from` (epoch ms) has passed; `null` for none. */
  next: v.union(v.object({ ...vShown.fields, from: v.number() }), v.null()),
  /** Why `open` is not for this account, and counts as `guarded` where it is set; `null`: it may be. */
  openRefusal: v.union(v.string(), v.null()),
});

/** The caller's level. */
export const mine = query({
  args: {},
  returns: vStanding,
  handler: async (ctx) => standingOf(ctx, (await requireUser(ctx)).userId),
});

/**
 * Sets the caller's level. What tightens holds at once, and takes the place of a change that waits; what loosens (a more
 * open level, a higher cap) holds two hours later. Either is told on every channel that the account has.
 * @param args.capUsd For `open` alone, and needed there: decimal USD such as "250".
 * @throws AppError `invalid_request`; `conflict` for `open` where it is not for this account, and for a login whose claim
 * of a `userId` waits; `rate_limited`.
 */
export const set = mutation({
  args: { level: vLevel, capUsd: v.optional(v.string()) },
  returns: vStanding,
  handler: async (ctx, { level, capUsd }) => {
    const { userId, tokenIdentifier } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    if ((await openClaimBy(ctx, tokenIdentifier)) !== null) throw new AppError("conflict", CLAIMING);
    const wish = settingOf(level, capUsd);
    const linked = (await linkOf(ctx, userId)) !== null;
    const refusal = level === "open" ? openRefusal(userId, linked) : null;
    if (refusal !== null) throw new AppError("conflict", refusal);
    const now = Date.now();
    const row = await levelRowOf(ctx, userId);
    const present = settingAt(row, now);
    const next = isLooser(wish, present) ? { setting: wish, dueAt: now + LOOSENING_MS } : undefined;
    const setting = next === undefined ? wish : present;
    await changeRules(ctx, userId, { setting, next, setAt: now, linked });
    await recordAudit(ctx, { actor: userId, action: "level set", subject: level });
    await tellEverywhere(ctx, { userId, kind: "level", paragraphs: card(wish, next?.dueAt ?? null) });
    return standingOf(ctx, userId);
  },
});

const CLAIMING = "A claim of yours waits: the level can be set once it has taken effect or has ended";

async function standingOf(ctx: QueryCtx, userId: string): Promise<Infer<typeof vStanding>> {
  const row = await levelRowOf(ctx, userId);
  const linked = (await linkOf(ctx, userId)) !== null;
  return {
    ...shown(row?.setting ?? settingAt(null, 0)),
    next: row?.next === undefined ? null : { ...shown(row.next.setting), from: row.next.dueAt },
    openRefusal: openRefusal(userId, linked || row?.linked === true),
  };
}

function shown({ level, capMicroUsd }: LevelSetting): Infer<typeof vShown> {
  return { level, capUsd: capMicroUsd === undefined ? null : formatUnits(BigInt(capMicroUsd), 6) };
}

/** @throws AppError `invalid_request` */
function settingOf(
  level: Doc<"accountLevels">["setting"]["level"],
  capUsd: string | undefined,
): LevelSetting {
  if (level !== "open") {
    if (capUsd !== undefined) throw new AppError("invalid_request", "capUsd is for the level open alone");
    return { level };
  }
  if (capUsd === undefined || !/^\d{1,9}(?:\.\d{1,2})?$/.test(capUsd) || microUsd(capUsd) === 0n)
    throw new AppError("invalid_request", "capUsd must be an amount in USD such as 250 or 99.50");
  return { level, capMicroUsd: microUsd(capUsd).toString() };
}

const OPENNESS = { closed: 0, guarded: 1, open: 2 };

function isLooser(wish: LevelSetting, present: LevelSetting): boolean {
  if (wish.level !== present.level) return OPENNESS[wish.level] > OPENNESS[present.level];
  return BigInt(wish.capMicroUsd ?? 0) > BigInt(present.capMicroUsd ?? 0);
}

function card(setting: LevelSetting, from: number | null): Paragraph[] {
  const { level, capUsd } = shown(setting);
  const says = {
    closed:
      "closed: without your token nobody orders, changes where your cards go, sees your holdings, or starts or stops research",
    guarded: "guarded: orders, and where your cards go, need your token",
    open: `open: whoever knows your userId may move up to ${capUsd ?? "0"} USD in 24 hours`,
  }[level];
  return [
    [{ bold: "🔐 Your account has another level" }],
    [from === null ? `From now on it is ${says}.` : `From ${dateTime(from)} on it is ${says}.`],
    ...(from === null
      ? []
      : [["If that was not you, sign in and set it back before then (account/levels:set)."]]),
  ];
}
