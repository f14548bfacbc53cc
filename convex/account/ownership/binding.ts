import { v, type Infer } from "convex/values";
import type { Doc, TableNames } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { requireIdentity } from "../../lib/security/auth";
import { AppError } from "../../lib/errors";
import { isGuessable, userIdFrom } from "../../lib/records/ids";
import { tablesOf, type TableRecord } from "../../lib/records/records";
import { records } from "../../schema";
import { changeRules } from "../../users/levels";
import { userOfAccount } from "../../messenger/model";
import { tellEverywhere } from "../../messenger/notices";
import { linkOwner } from "../../messenger/owners";
import { accountOfLogin, findUser, ownerOf, userOfToken } from "../../users/model";
import { accountNamed, keepName } from "../../users/names";
import { walletOf } from "../../wallets/model";
import { endLeftovers, leftoversOf, vLeftovers, type Leftover } from "./leftovers";
import { openClaim } from "./openings";
import { vLeftover } from "../tables";

/** Decides who owns a `userId`: one transaction decides who is first. */

export const vClaimed = v.object({
  userId: v.string(),
  /** What others had set on it, which the claim has ended or, with `keep`, left; `null` while the claim is pending. */
  found: v.union(vLeftovers, v.null()),
  /** When the claim takes effect (epoch ms); `null` if it has. */
  pendingUntil: v.union(v.number(), v.null()),
});

export const leftovers = internalQuery({
  args: { userId: v.string() },
  returns: vLeftovers,
  handler: async (ctx, args) => {
    const userId = await accountFrom(ctx, args.userId);
    const owner = await ownerOf(ctx, userId);
    if (owner !== null && owner._id !== (await findUser(ctx))?._id) throw new AppError("conflict", ANOTHERS);
    return leftoversOf(ctx, userId);
  },
});

export const claim = internalMutation({
  args: { userId: v.string(), keep: v.array(vLeftover) },
  returns: vClaimed,
  handler: async (ctx, { keep, ...args }) => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    const name = userIdFrom(args.userId);
    const userId = await accountFrom(ctx, name);
    const user = await findUser(ctx);
    if (user?.userId === userId) {
      await ctx.db.patch("users", user._id, { claimed: true });
      return { userId: name, found: await leftoversOf(ctx, userId), pendingUntil: null };
    }
    const refusal = await refusalOf(ctx, tokenIdentifier, userId);
    if (refusal !== null) throw new AppError("conflict", refusal);
    return { userId: name, ...(await claimFor(ctx, { userId, tokenIdentifier, keep }, name)) };
  },
});

/**
 * Makes a login the owner of a `userId` that it can own: at once, or after 48 hours if the id could be guessed and has a
 * wallet.
 * @param name The id as its owner knows it.
 */
export async function claimFor(
  ctx: MutationCtx,
  claim: Pick<Doc<"pendingClaims">, "userId" | "tokenIdentifier" | "keep">,
  name: string,
): Promise<Pick<Infer<typeof vClaimed>, "found" | "pendingUntil">> {
  const { userId, tokenIdentifier, keep } = claim;
  if (isGuessable(userId) && (await hasWallet(ctx, userId)))
    return { found: null, pendingUntil: await openClaim(ctx, claim) };
  await keepName(ctx, userId, name);
  return { found: await bind(ctx, tokenIdentifier, userId, keep), pendingUntil: null };
}

/** @throws AppError `not_found` if the owner has replaced the id; `invalid_request` if it is not a userId. */
async function accountFrom(ctx: QueryCtx, text: string): Promise<string> {
  const userId = await accountNamed(ctx, userIdFrom(text));
  if (userId === null) throw new AppError("not_found", "There is no such userId");
  return userId;
}

const ANOTHERS = "This userId has another owner already";

/** Why a login cannot own a `userId`; `null` if it can. */
export async function refusalOf(
  ctx: QueryCtx,
  tokenIdentifier: string,
  userId: string,
): Promise<string | null> {
  const user = await userOfToken(ctx, tokenIdentifier);
  const account = accountOfLogin(tokenIdentifier);
  if (user?.claimed === true)
    return account === null
      ? "This user has already claimed another userId"
      : "This messenger account already owns another userId: use that one, or own this one with another account";
  if ((await ownerOf(ctx, userId)) !== null) return ANOTHERS;
  if (account !== null && (await userOfAccount(ctx, account)) !== null)
    return "This messenger account is linked to another userId";
  if (user === null || !(await isInUse(ctx, user.userId))) return null;
  return "This account already has credits, wallets, research, links, alerts or settings of its own";
}

/**
 * Makes a login the owner of a `userId`, notifies the channels that it had, and ends what others may have set on it.
 * @returns All that was set, including what is kept.
 */
export async function bind(
  ctx: MutationCtx,
  tokenIdentifier: string,
  userId: string,
  keep: readonly Leftover[],
): Promise<Infer<typeof vLeftovers>> {
  const found = await leftoversOf(ctx, userId);
  await tellEverywhere(ctx, {
    ...{ userId, kind: "claim" },
    paragraphs: [
      [{ bold: "🔐 Your account id has an owner now" }],
      ["Somebody who knows it has become its owner: from now on what it has belongs to them."],
    ],
  });
  await endLeftovers(ctx, userId, keep);
  // Permissions from the time without an owner, if not signed yet, are void.
  await changeRules(ctx, userId);
  const user = await userOfToken(ctx, tokenIdentifier);
  if (user !== null) await ctx.db.patch("users", user._id, { userId, claimed: true });
  else await ctx.db.insert("users", { tokenIdentifier, userId, claimed: true, createdAt: Date.now() });
  const account = accountOfLogin(tokenIdentifier);
  if (account !== null) await linkOwner(ctx, userId, account);
  return found;
}

async function hasWallet(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await walletOf(ctx, userId, "custody")) !== null || (await walletOf(ctx, userId, "basic")) !== null;
}

/** Whether the `userId` has anything that a claim of another one would leave behind. */
export async function isInUse(ctx: QueryCtx, userId: string): Promise<boolean> {
  for (const table of tablesOf(records)) if (await hasRowInUse(ctx, table, userId)) return true;
  return false;
}

async function hasRowInUse<Table extends TableNames>(
  ctx: QueryCtx,
  table: Table,
  userId: string,
): Promise<boolean> {
  const { ownedBy }: TableRecord<Table> = records[table];
  if (ownedBy?.inUse === undefined) return false;
  const rows = ownedBy.inUse === "any" ? ownedBy.rows : ownedBy.inUse;
  return (await rows(ctx.db.query(table), userId).first()) !== null;
}
