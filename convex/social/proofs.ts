import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { sha256Hex } from "../lib/security/digests";
import { AppError } from "../lib/errors";
import { MINUTE } from "../lib/time";
import { newCode } from "../messenger/codes";
import { codeByHash, replaceCode } from "../messenger/model";
import { ownerOf } from "../users/model";
import { authorById, authorsOf, MAX_AUTHORS } from "./model";

/**
 * Proofs that an account of the network is the user's: the account posts a code once in a mention. A posted code is
 * public, so it only counts from the handle it was made for; the account's id is stored.
 */

const CODE_MS = 15 * MINUTE;

const CODE = /(?<![A-Za-z0-9])[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{4}(?![A-Za-z0-9-])/gi;

/** Opens a proof for a handle; it replaces the user's earlier one. */
export async function openProof(
  ctx: MutationCtx,
  userId: string,
  handle: string,
  now: number,
): Promise<{ code: string; expiresAt: number }> {
  if ((await authorsOf(ctx, userId)).length >= MAX_AUTHORS) {
    throw new AppError("conflict", `At most ${MAX_AUTHORS} accounts can be linked`);
  }
  const code = newProof();
  const expiresAt = now + CODE_MS;
  const proof = { kind: "proof", userId, handle: handle.toLowerCase() } as const;
  await replaceCode(ctx, { ...proof, codeHash: hashOf(code), expiresAt });
  return { code, expiresAt };
}

/**
 * Links a mention's author if the mention contains the code of an open proof for the author's handle, and uses up the
 * code. An account that was linked to another user moves: whoever can post for it owns it now.
 * @returns The account's user and the other user who had it, or `null` if the mention proves nothing.
 */
export async function redeemProof(
  ctx: MutationCtx,
  mention: Doc<"mentions">,
  now: number,
): Promise<{ userId: string; earlier: string | null } | null> {
  const { authorId, authorHandle: handle, text } = mention;
  if (handle === undefined) return null;
  for (const [code] of Array.from(text.matchAll(CODE)).slice(0, 3)) {
    const proof = await codeByHash(ctx, "proof", hashOf(code));
    if (proof === null || proof.expiresAt < now || proof.handle !== handle.toLowerCase()) continue;
    await ctx.db.delete("codes", proof._id);
    const { userId } = proof;
    // The user may have claimed another userId since; then this one belongs to nobody.
    if ((await ownerOf(ctx, userId)) === null) continue;
    return { userId, earlier: await link(ctx, { authorId, handle, userId }, now) };
  }
  return null;
}

/** @returns The other user who had the account, or `null`. */
async function link(
  ctx: MutationCtx,
  author: { authorId: string; handle: string; userId: string },
  now: number,
): Promise<string | null> {
  const present = await authorById(ctx, author.authorId);
  if (present !== null && present.userId === author.userId) {
    await ctx.db.patch("socialAuthors", present._id, { handle: author.handle });
    return null;
  }
  if (present !== null) await ctx.db.delete("socialAuthors", present._id);
  await ctx.db.insert("socialAuthors", { ...author, enabled: false, linkedAt: now });
  return present?.userId ?? null;
}

/** 60 random bits. */
function newProof(): string {
  return (newCode(12).match(/.{4}/g) ?? []).join("-");
}

function hashOf(code: string): string {
  return sha256Hex(`social proof:${code.toUpperCase()}`);
}
