import { v, type Infer } from "convex/values";
import { mutation, query, type QueryCtx } from "../_generated/server";
import { recordAudit } from "../lib/records/audit";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { formatUnits, microUsdFrom } from "../lib/money/amounts";
import { dateTime, HOUR } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { linkOf } from "../messenger/model";
import { tellEverywhere } from "../messenger/notices";
import { FREEZE } from "../messenger/owners";
import {
  changeRules,
  levelRowOf,
  liveRules,
  limitsIn,
  openRefusal,
  settingAt,
  type LevelSetting,
} from "../users/levels";
import { requireUser } from "../users/model";
import { pendingClaimBy } from "./ownership/claimRows";
import { vLevel } from "../users/tables";

/** The level of an account, for callers who only name its `userId`, and the limits of its orders. Its owner sets both. */

/** How long a change that loosens the rules waits, so that an owner who did not make it can cancel it. */
const LOOSENING_MS = 2 * HOUR;

const vShown = v.object({
  level: vLevel,
  /** With `open`: the limit of orders by `userId` alone in 24 hours, decimal USD; otherwise `null`. */
  capUsd: v.union(v.string(), v.null()),
  /** The limits of one order and of all orders in 24 hours, decimal USD, and the share of the latter that swaps may lose. */
  mostUsd: v.string(),
  dailyUsd: v.string(),
  lossPercent: v.number(),
});

const vStanding = v.object({
  ...vShown.fields,
  /** A pending change, which applies once `from` (epoch ms) has passed; `null` if there is none. */
  next: v.union(v.object({ ...vShown.fields, from: v.number() }), v.null()),
  /** Why the account cannot be `open`, so that `open` counts as `guarded`; `null` if it can. */
  openRefusal: v.union(v.string(), v.null()),
});

export const mine = query({
  args: {},
  returns: vStanding,
  handler: async (ctx) => standingOf(ctx, (await requireUser(ctx)).userId),
});

/**
 * Sets the caller's level and limits. A tighter rule applies at once and replaces a pending change; a looser one (a more
 * open level, a higher limit) applies two hours later. Every channel of the account is notified.
 * @param args.capUsd Required for `open`, and only allowed there: decimal USD such as "250".
 * @param args.mostUsd The limit of one order; `dailyUsd`: of all orders in 24 hours; `lossPercent`: the share of that which
 * swaps may lose by their terms (whole percent, 1 to 100). Limits that are left out stay as they are.
 * @throws AppError `invalid_request`; `conflict` if the account cannot be `open`, or a claim by this login is pending;
 * `rate_limited`.
 */
export const set = mutation({
  args: {
    level: vLevel,
    capUsd: v.optional(v.string()),
    mostUsd: v.optional(v.string()),
    dailyUsd: v.optional(v.string()),
    lossPercent: v.optional(v.number()),
  },
  returns: vStanding,
  handler: async (ctx, { level, ...sums }) => {
    const { userId, tokenIdentifier } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    if ((await pendingClaimBy(ctx, tokenIdentifier)) !== null) throw new AppError("conflict", CLAIMING);
    const linked = (await linkOf(ctx, userId)) !== null;
    const refusal = level === "open" ? await openRefusal(ctx, userId, linked) : null;
    if (refusal !== null) throw new AppError("conflict", refusal);
    const now = Date.now();
    const row = await levelRowOf(ctx, userId);
    const present = settingAt(row, now);
    const wish = settingOf(present, level, sums);
    const setting = tighter(wish, present);
    const next = isSame(setting, wish) ? undefined : { setting: wish, dueAt: now + LOOSENING_MS };
    // A freeze cancels such changes, so none may start while it lasts.
    if (next !== undefined) await liveRules(ctx, userId);
    await changeRules(ctx, userId, { setting, next, setAt: now, linked });
    await recordAudit(ctx, { actor: userId, action: "level set", subject: level });
    const paragraphs = card(wish, next?.dueAt ?? null);
    await tellEverywhere(ctx, { userId, kind: "level", paragraphs, buttons: FREEZE });
    return standingOf(ctx, userId);
  },
});

const CLAIMING = "You have a pending claim: the level can be set once it has taken effect or has ended";

async function standingOf(ctx: QueryCtx, userId: string): Promise<Infer<typeof vStanding>> {
  const row = await levelRowOf(ctx, userId);
  const linked = (await linkOf(ctx, userId)) !== null;
  return {
    ...shown(row?.setting ?? settingAt(null, 0)),
    next: row?.next === undefined ? null : { ...shown(row.next.setting), from: row.next.dueAt },
    openRefusal: await openRefusal(ctx, userId, linked || row?.linked === true),
  };
}

function shown(setting: LevelSetting): Infer<typeof vShown> {
  const { level, capMicroUsd } = setting;
  const { most, daily, lossBps } = limitsIn(setting);
  return {
    level,
    capUsd: capMicroUsd === undefined ? null : formatUnits(BigInt(capMicroUsd), 6),
    mostUsd: formatUnits(most, 6),
    dailyUsd: formatUnits(daily, 6),
    lossPercent: Number(lossBps) / 100,
  };
}

type Sums = Partial<Record<"capUsd" | "mostUsd" | "dailyUsd", string>> & { lossPercent?: number };

/** @throws AppError `invalid_request` */
function settingOf(
  present: LevelSetting,
  level: LevelSetting["level"],
  { capUsd, mostUsd, dailyUsd, lossPercent }: Sums,
): LevelSetting {
  if ((level === "open") !== (capUsd !== undefined)) {
    const problem =
      level === "open" ? "must be an amount in USD such as 250 or 99.50" : "is only for the level open";
    throw new AppError("invalid_request", `capUsd ${problem}`);
  }
  if (lossPercent !== undefined && !(Number.isInteger(lossPercent) && lossPercent >= 1 && lossPercent <= 100))
    throw new AppError("invalid_request", "lossPercent must be a whole number from 1 to 100");
  const { capMicroUsd: _, ...limits } = present;
  return {
    ...limits,
    level,
    ...(capUsd === undefined ? {} : { capMicroUsd: sum("capUsd", capUsd) }),
    ...(mostUsd === undefined ? {} : { mostMicroUsd: sum("mostUsd", mostUsd) }),
    ...(dailyUsd === undefined ? {} : { dailyMicroUsd: sum("dailyUsd", dailyUsd) }),
    ...(lossPercent === undefined ? {} : { lossBps: lossPercent * 100 }),
  };
}

/** Decimal USD as micro-USD, in digits. @throws AppError `invalid_request` */
function sum(field: string, text: string): string {
  const value = microUsdFrom(field, text);
  if (value === 0n) throw new AppError("invalid_request", `${field} must be more than 0`);
  return value.toString();
}

const OPENNESS = { closed: 0, guarded: 1, open: 2 };

/** The part of a wish that applies at once: the less open level, and the lower value of each limit. */
function tighter(wish: LevelSetting, present: LevelSetting): LevelSetting {
  const isOpener = OPENNESS[wish.level] > OPENNESS[present.level];
  const [less, more] = isOpener ? [present, wish] : [wish, present];
  const cap = less.level === "open" ? lowest(less.capMicroUsd, more.capMicroUsd) : undefined;
  const [wished, current] = [limitsIn(wish), limitsIn(present)];
  return {
    level: less.level,
    ...(cap === undefined ? {} : { capMicroUsd: cap }),
    mostMicroUsd: lowest(wished.most, current.most),
    dailyMicroUsd: lowest(wished.daily, current.daily),
    lossBps: Number(lowest(wished.lossBps, current.lossBps)),
  };
}

function lowest(one: bigint | string = 0n, other: bigint | string = one): string {
  const [a, b] = [BigInt(one), BigInt(other)];
  return (a < b ? a : b).toString();
}

function isSame(one: LevelSetting, other: LevelSetting): boolean {
  return JSON.stringify(shown(one)) === JSON.stringify(shown(other));
}

function card(setting: LevelSetting, from: number | null): Paragraph[] {
  const { level, capUsd, mostUsd, dailyUsd, lossPercent } = shown(setting);
  const says = {
    closed:
      "closed: without your token nobody orders, changes where your cards go, sees your holdings, or starts or stops research",
    guarded: "guarded: orders, and where your cards go, need your token or your tap",
    open: `open: whoever knows your account id may move up to ${capUsd ?? "0"} USD in 24 hours`,
  }[level];
  return [
    [{ bold: "🔐 Your account has other rules" }],
    [`${from === null ? "From now on" : `From ${dateTime(from)} on`} its level is ${says}.`],
    [
      `One order may move up to ${mostUsd} USD, all orders up to ${dailyUsd} USD in 24 hours, and swaps may lose up to ${lossPercent} % of that.`,
    ],
    ...(from === null
      ? []
      : [
          [
            "If that was not you, freeze your account, or sign in to the web application and set it back before then.",
          ],
        ]),
  ];
}
