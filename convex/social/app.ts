import { v } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { pickFields } from "../lib/objects";
import { mutation, query, type MutationCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { changeRules, requireUser, listRecipients } from "../identity/model";
import { requireSetter } from "../identity/access";
import { vListed } from "../identity/tables";
import { findAuthor, listAuthors, openProof } from "./authors";
import { socialTables } from "./tables";

/** Social trading in the web application: every function acts for the signed-in user alone. */
const vAuthor = socialTables.socialAuthors.validator.pick("authorId", "handle", "enabled", "linkedAt");

/**
 * Creates the code that proves an account of the social network: the account has to post it once in a mention of the
 * service's account within 15 minutes. It replaces an earlier code.
 * @throws AppError `invalid_request` if it is not a handle; `conflict` with 5 accounts linked.
 */
export const startProof = mutation({
  args: { handle: v.string() },
  /** `expiresAt` in epoch ms. */
  returns: v.object({ code: v.string(), expiresAt: v.number() }),
  handler: async (ctx, args) => {
    const { userId } = await requireSetter(ctx);
    const handle = args.handle.trim().replace(/^@/, "");
    if (!/^\w{1,30}$/.test(handle)) {
      throw new AppError("invalid_request", "handle must be at most 30 letters, digits and _");
    }
    return openProof(ctx, userId, handle, Date.now());
  },
});

/** The accounts that the user has proved, and the recipients of their mentions. Times in epoch ms. */
export const settings = query({
  args: {},
  returns: v.object({ authors: v.array(vAuthor), recipients: v.array(vListed) }),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    return {
      authors: (await listAuthors(ctx, userId)).map((row) => pickFields(vAuthor, row)),
      recipients: await listRecipients(ctx, userId),
    };
  },
});

/** Switches trading by an account's mentions on or off; off voids what is not signed yet. @throws AppError `not_found` for an account that is not linked. */
export const setTrading = mutation({
  args: { authorId: v.string(), enabled: v.boolean() },
  returns: v.null(),
  handler: async (ctx, { authorId, enabled }) => {
    const { _id, userId } = await requireOwnAuthor(ctx, authorId);
    await ctx.db.patch("socialAuthors", _id, { enabled });
    if (!enabled) await changeRules(ctx, userId);
    return null;
  },
});

/** Unlinks an account: from now on its mentions order nothing. @throws AppError `not_found` for an account that is not linked. */
export const unlink = mutation({
  args: { authorId: v.string() },
  returns: v.null(),
  handler: async (ctx, { authorId }) => {
    const { _id, userId } = await requireOwnAuthor(ctx, authorId);
    await ctx.db.delete("socialAuthors", _id);
    await changeRules(ctx, userId);
    return null;
  },
});

async function requireOwnAuthor(ctx: MutationCtx, authorId: string): Promise<Doc<"socialAuthors">> {
  const { userId } = await requireUser(ctx);
  const author = await findAuthor(ctx, authorId);
  if (author?.userId === userId) return author;
  throw new AppError("not_found", "This account is not linked to you: prove it first");
}
