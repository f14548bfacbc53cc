import { v } from "convex/values";
import { parse } from "convex-helpers/validators";
import { internalQuery } from "../_generated/server";
import { OPERATOR } from "../lib/records/audit";
import { pseudonym } from "../lib/security/pseudonyms";
import { optional, required } from "../lib/env";
import { iso } from "../lib/time";

/** How many lines a page has. */
const PAGE = 500;

const vLine = v.object({
  /** ISO 8601. */
  at: v.string(),
  /** "operator", or a user's pseudonym: `usr_…`, the one under which others see their reports. */
  actor: v.string(),
  action: v.string(),
  /** The id of the wallet, transaction, key or claim. */
  subject: v.string(),
  detail: v.optional(v.string()),
});

/**
 * One page of the audit trail, oldest first, for the operator's export: `npm run audit`. A `userId` is its owner's
 * credential, so users appear under their pseudonyms.
 * @param cursor Where the last page ended; `null` for the first.
 */
export const page = internalQuery({
  args: { cursor: v.union(v.string(), v.null()) },
  returns: v.object({ lines: v.array(vLine), cursor: v.union(v.string(), v.null()) }),
  handler: async (ctx, { cursor }) => {
    const found = await ctx.db.query("auditEvents").withIndex("by_at").paginate({ numItems: PAGE, cursor });
    const key = optional("WALLET_ENCRYPTION_KEY") ?? required("LLM_GATEWAY_API_KEY");
    return {
      lines: found.page.map(({ at, actor, ...row }) => {
        const name = actor === OPERATOR ? "operator" : pseudonym(actor, key);
        return parse(vLine, { ...row, at: iso(at), actor: name });
      }),
      cursor: found.isDone ? null : found.continueCursor,
    };
  },
});
