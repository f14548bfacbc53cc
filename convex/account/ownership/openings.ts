import type { Doc } from "../../_generated/dataModel";
import { internal } from "../../_generated/api";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { recordAudit } from "../../lib/records/audit";
import { AppError } from "../../lib/errors";
import { rowsByBoth } from "../../lib/records/rows";
import { DAY, dateTime, HOUR } from "../../lib/time";
import { codeHash, newCode } from "../../messenger/codes";
import { tellEverywhere } from "../../messenger/notices";
import { pendingClaimOf } from "./claimRows";

/** Opens claims of userIds that could be guessed. Plain functions. */

/** Long enough for a person to read a notice, whatever the day. */
const DELAY_MS = 48 * HOUR;
/** How long nobody can claim the id after a contested claim, because each claim needs the contester's attention. */
const REST_MS = 7 * DAY;
/** 60 random bits, for a code that is valid for two days. */
const CODE_LENGTH = 12;

/**
 * Opens a claim, and notifies every channel of the id. Until it takes effect the id has no owner, and the caps of such ids
 * apply to everybody, including the claimer. If the same login repeats its claim, only what it keeps changes.
 * @returns When it takes effect, epoch ms.
 * @throws AppError `conflict` if another login's claim is pending, or the last one was contested within a week;
 * `not_configured` without WALLET_ENCRYPTION_KEY.
 */
export async function openClaim(
  ctx: MutationCtx,
  claim: Pick<Doc<"pendingClaims">, "userId" | "tokenIdentifier" | "keep">,
): Promise<number> {
  const { userId, tokenIdentifier, keep } = claim;
  const open = await pendingClaimOf(ctx, userId);
  if (open !== null) {
    if (open.tokenIdentifier !== tokenIdentifier)
      throw new AppError("conflict", `Another claim of this userId waits until ${dateTime(open.dueAt)}`);
    await ctx.db.patch("pendingClaims", open._id, { keep });
    return open.dueAt;
  }
  const openedAt = Date.now();
  const restsUntil = await contestedUntil(ctx, userId);
  if (openedAt < restsUntil)
    throw new AppError(
      "conflict",
      `A claim of this userId was contested: it can be claimed again from ${dateTime(restsUntil)}`,
    );
  const dueAt = openedAt + DELAY_MS;
  const code = newCode(CODE_LENGTH);
  const isTold = await tellEverywhere(ctx, {
    userId,
    kind: "claim",
    paragraphs: [
      [{ bold: "🔐 Somebody wants to own your account id" }],
      [
        `Somebody has claimed the account id that this chat is set for. It could be guessed, and has a wallet, so the claim waits until ${dateTime(dueAt)}. Then the wallet is theirs.`,
      ],
      [
        "If that is not you: contest it before then, in the web application or with the people who run this service, with this code: ",
        { bold: code },
      ],
    ],
  });
  const row = { ...claim, codeHash: codeHash(code), told: isTold, openedAt, dueAt, state: "open" } as const;
  const claimId = await ctx.db.insert("pendingClaims", row);
  await ctx.scheduler.runAt(dueAt, internal.account.pendingClaims.carryOut, { claimId });
  await recordAudit(ctx, { actor: userId, action: "claim opened", subject: claimId });
  return dueAt;
}

async function contestedUntil(ctx: QueryCtx, userId: string): Promise<number> {
  const claims = rowsByBoth(ctx.db.query("pendingClaims"), "userId", userId, "state", "contested");
  const last = await claims.order("desc").first();
  return last?.endedAt === undefined ? 0 : last.endedAt + REST_MS;
}
