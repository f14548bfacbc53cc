import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { mutation, query } from "../_generated/server";
import { setting } from "../lib/env";
import { AppError } from "../lib/errors";
import { charge } from "../lib/limits/charges";
import { MINUTE } from "../lib/time";
import { requireUser } from "../accounts/model";
import { pseudonymOf } from "../lib/security/pseudonyms";
import { CODE_LENGTH, codeHash, newCode } from "./codes";
import { codeOf, linkOf, replaceCode } from "./model";
import { dropLink } from "./owners";
import { messengerTables } from "./tables";

/** Linking a messenger account from the web application. */

/**
 * Creates a code for the caller to send to the bot; it replaces an earlier one. It is shown only once, and valid for 10
 * minutes and one link.
 * @throws AppError `not_configured`, `rate_limited`
 */
export const createCode = mutation({
  args: {},
  /** `expiresAt` in epoch ms; `account` is the caller's name in the bot's question whether to link. */
  returns: v.object({ code: v.string(), expiresAt: v.number(), account: v.string() }),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    await charge(ctx, "settings", { userId, address: null });
    const code = newCode(CODE_LENGTH);
    const expiresAt = Date.now() + Number(setting("LINK_CODE_MINUTES")) * MINUTE;
    await replaceCode(ctx, { kind: "link", userId, codeHash: codeHash(code), expiresAt });
    return { code, expiresAt, account: pseudonymOf(userId) };
  },
});

const vLink = messengerTables.messengerLinks.validator
  .pick("messengerId", "linkedAt")
  .extend({ messengerUsername: v.union(v.string(), v.null()) });

/** The caller's linked messenger account, and when their open code expires (epoch ms, perhaps in the past). */
export const status = query({
  args: {},
  returns: v.object({ link: v.union(vLink, v.null()), codeExpiresAt: v.union(v.number(), v.null()) }),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const link = await linkOf(ctx, userId);
    const code = await codeOf(ctx, userId, "link");
    return {
      link: link === null ? null : parse(vLink, { messengerUsername: null, ...link }),
      codeExpiresAt: code?.expiresAt ?? null,
    };
  },
});

/** Unlinks the caller's messenger account, and withdraws their open code. @throws AppError `not_found` without a link. */
export const unlink = mutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const { userId } = await requireUser(ctx);
    const link = await linkOf(ctx, userId);
    if (link === null) throw new AppError("not_found", "No messenger account is linked to this user");
    await dropLink(ctx, link, "token");
    return null;
  },
});
