import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { toMicroUsd } from "../lib/money/amounts";
import { queryBy } from "../platform/records";
import { sha256Hex } from "../lib/crypto";
import { MINUTE } from "../lib/time";
import { findCodeByHash, createCodeText, replaceCode } from "../messenger/model";
import { findOwner } from "../identity/model";

/**
 * Linked authors, and how much their mentions may move. A user proves an account of the network by posting a code in a
 * mention. A posted code is public, so it counts only from the handle that it was created for; the account's id is stored.
 */

/** The most accounts per user. */
const MAX_AUTHORS = 5;
/**
 * The most that a mention moves, and that all of a user's mentions move in 24 hours, in micro-USD. Unlike other swaps
 * (`wallets/orders/limits`), these count with their whole amount rather than with their possible loss: a post is a weak
 * authorisation, since a stolen account of the network can write one.
 */
export const [MOST_A_TRADE, MOST_A_DAY] = [toMicroUsd("100"), toMicroUsd("300")];

/** The linked author of an account of the network, or `null`. */
export async function findAuthor(ctx: QueryCtx, authorId: string): Promise<Doc<"socialAuthors"> | null> {
  return getOneFrom(ctx.db, "socialAuthors", "by_authorId", authorId);
}

/** The accounts that a user has proved, oldest first. */
export async function listAuthors(ctx: QueryCtx, userId: string): Promise<Doc<"socialAuthors">[]> {
  return queryBy(ctx.db.query("socialAuthors"), "userId", userId).take(MAX_AUTHORS);
}

const CODE_MS = 15 * MINUTE;

const CODE = /(?<![A-Za-z0-9])[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{4}(?![A-Za-z0-9-])/gi;

/** Opens a proof for a handle; it replaces the user's earlier one. */
export async function openProof(
  ctx: MutationCtx,
  userId: string,
  handle: string,
  now: number,
): Promise<{ code: string; expiresAt: number }> {
  if ((await listAuthors(ctx, userId)).length >= MAX_AUTHORS) {
    throw new AppError("conflict", `At most ${MAX_AUTHORS} accounts can be linked: unlink one first`);
  }
  // 60 random bits.
  const code = (createCodeText(12).match(/.{4}/g) ?? []).join("-");
  const expiresAt = now + CODE_MS;
  const proofCode = { kind: "proof", userId, handle: handle.toLowerCase() } as const;
  await replaceCode(ctx, { ...proofCode, codeHash: hashProofCode(code), expiresAt });
  return { code, expiresAt };
}

/**
 * Links a mention's author if the mention contains the code of an open proof for the author's handle, and uses up the
 * code. An account that was linked to another user moves: control of the account is ownership.
 * @returns The account's user and its former user, or `null` if the mention proves nothing.
 */
export async function redeemProof(
  ctx: MutationCtx,
  mention: Doc<"mentions">,
  now: number,
): Promise<{ userId: string; earlier: string | null } | null> {
  const { authorId, authorHandle: handle, text } = mention;
  if (handle === undefined) return null;
  for (const [code] of Array.from(text.matchAll(CODE)).slice(0, 3)) {
    const proofCode = await findCodeByHash(ctx, "proof", hashProofCode(code));
    if (proofCode === null || proofCode.expiresAt < now || proofCode.handle !== handle.toLowerCase())
      continue;
    await ctx.db.delete("codes", proofCode._id);
    const { userId } = proofCode;
    // The user may have replaced the userId since; then it has no owner.
    if ((await findOwner(ctx, userId)) === null) continue;
    return { userId, earlier: await link(ctx, { authorId, handle, userId }, now) };
  }
  return null;
}

/** @returns The account's former user, or `null`. */
async function link(
  ctx: MutationCtx,
  author: { authorId: string; handle: string; userId: string },
  now: number,
): Promise<string | null> {
  const present = await findAuthor(ctx, author.authorId);
  if (present !== null && present.userId === author.userId) {
    await ctx.db.patch("socialAuthors", present._id, { handle: author.handle });
    return null;
  }
  if (present !== null) await ctx.db.delete("socialAuthors", present._id);
  await ctx.db.insert("socialAuthors", { ...author, enabled: false, linkedAt: now });
  return present?.userId ?? null;
}

function hashProofCode(code: string): string {
  return sha256Hex(`social proof:${code.toUpperCase()}`);
}
