import { v } from "convex/values";
import { literals } from "../../lib/literals";
import { internalQuery } from "../../_generated/server";
import { AppError, failureOf, STATUS, vErrorCode } from "../../lib/errors";
import { usdValue } from "../../lib/money/amounts";
import { approvingLink } from "../../messenger/model";
import { FROZEN } from "../../lib/security/refusals";
import { APPROVED, CHAT, verdictNow } from "../../users/access";
import { rulesOf } from "../../users/levels";
import { limitsOf, refusalOf } from "../limits/policies";
import { deedOf, pauseOf } from "./model";
import { vRequest } from "./tables";

/** `code` is `null` for orders that only wait. */
export const vRefusal = v.object({
  status: v.number(),
  code: v.union(vErrorCode, v.null()),
  error: v.string(),
});

/** What the operator's switch and the limits say about an order. */
export const vStanding = v.object({
  refusal: v.union(vRefusal, v.null()),
  /**
   * USD; `leftUsd` before the order. `transfer` is the limit of one order, `day` of any 24 hours; `about` says whose it
   * is and which orders it counts.
   */
  limits: v.array(
    v.object({
      of: v.union(v.literal("transfer"), v.literal("day")),
      whose: v.union(v.literal("userId"), v.literal("address")),
      about: v.string(),
      mostUsd: v.number(),
      leftUsd: v.number(),
    }),
  ),
});

/** The answer to an order that waits for its owner. */
const WAITS = { status: 202, code: null, error: "Waiting for your approval in the chat that is linked" };

/**
 * Only reads: why an order would be refused before the chain is asked, including the caller's credential. The limits
 * are then those of its owner.
 * @throws AppError `unauthorized` or `forbidden` for a token that is invalid or another user's.
 */
export const of = internalQuery({
  args: {
    userId: v.string(),
    request: vRequest,
    /** The caller's network address. */
    caller: v.union(v.string(), v.null()),
    now: v.number(),
    /** Digits, micro-USD; absent when no price is known. */
    valueMicroUsd: v.optional(v.string()),
    /** Whether it is put to its owner: then the limits of an approval, or of the chat, apply. */
    asked: v.optional(literals("approval", "chat")),
    keyHash: v.optional(v.string()),
  },
  returns: vStanding,
  handler: async (ctx, { userId, request, caller, now, valueMicroUsd, asked, keyHash }) => {
    const verdict = await verdictNow(ctx, userId, deedOf(request), now, keyHash);
    // A caller without access sees the owner's limits, which an approval has as well.
    const owners = asked === "chat" ? CHAT : APPROVED;
    const permit = verdict.kind === "allowed" && asked === undefined ? verdict : owners;
    const limits = await limitsOf(ctx, { userId, permit, address: caller, request }, now);
    const value = valueMicroUsd === undefined ? null : BigInt(valueMicroUsd);
    const isAsked =
      asked !== undefined || (verdict.kind === "asks" && (await approvingLink(ctx, userId, now)) !== null);
    const ruled = verdict.kind === "allowed" || isAsked ? null : verdict;
    const { isFrozen } = await rulesOf(ctx, userId);
    const stopped = isFrozen ? new AppError("paused", FROZEN) : pauseOf();
    const failure = failureOf(stopped) ?? ruled ?? failureOf(refusalOf(limits, value));
    const { perTransfer, rolling } = limits;
    const ofOne = { of: "transfer" as const, about: "one transfer", address: "", used: 0n };
    const once = perTransfer === null ? [] : [{ ...ofOne, most: perTransfer }];
    const all = [
      ...once,
      ...rolling.flatMap(({ about, most, ...limit }) =>
        most === null ? [] : [{ ...limit, most, of: "day" as const, about: `transfers in 24 hours${about}` }],
      ),
    ];
    return {
      refusal:
        failure !== null
          ? { status: STATUS[failure.code], code: failure.code, error: failure.message }
          : isAsked
            ? WAITS
            : null,
      limits: all.map(({ of, about, address, most, used }) => ({
        of,
        whose: address === "" || address.startsWith("key:") ? ("userId" as const) : ("address" as const),
        about,
        mostUsd: usdValue(most),
        leftUsd: usdValue(most > used ? most - used : 0n),
      })),
    };
  },
});
