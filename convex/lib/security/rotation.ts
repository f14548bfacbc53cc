import type { FunctionReturnType } from "convex/server";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalAction, type ActionCtx } from "../../_generated/server";
import { isSet } from "../env";
import { messageOf } from "../errors";
import { log } from "../log";
import { isCurrent, open, seal } from "./seals";

type Page = FunctionReturnType<typeof internal.lib.security.sealed.page>;

/** Opens one secret of each kind. @returns Those that the configured key does not open, each with the reason. */
export async function findUnopened(ctx: ActionCtx): Promise<string[]> {
  if (!isSet("WALLET_ENCRYPTION_KEY")) return [];
  const troubles: string[] = [];
  for (const { envelope, context } of await ctx.runQuery(internal.lib.security.sealed.samples, {})) {
    try {
      await open(envelope, context);
    } catch (error) {
      troubles.push(`a ${context.purpose} does not open: ${messageOf(error)}`);
    }
  }
  return troubles;
}

/**
 * Seals every secret again that is not under the current `WALLET_ENCRYPTION_KEY`: wallets' keys, bots' tokens, webhooks'
 * secrets. Run it after a change of the key, with the old one in `WALLET_ENCRYPTION_KEY_PREVIOUS`, until it answers
 * `rotated: 0` and `failed: []`. Safe to run twice, and to resume after a crash.
 * @returns How many were sealed again, and the rows whose envelope does not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: v.object({ rotated: v.number(), failed: v.array(v.string()) }),
  handler: async (ctx) => {
    const { sealed } = internal.lib.security;
    const failed: string[] = [];
    let rotated = 0;
    let cursor: string | null = null;
    for (let table = 0; ; table += cursor === null ? 1 : 0) {
      const found: Page = await ctx.runQuery(sealed.page, { table, cursor });
      if (found === null) return { rotated, failed };
      for (const { id, envelope: from, context } of found.sealed) {
        if (isCurrent(from)) continue;
        try {
          const to = await seal(await open(from, context), context);
          if (await ctx.runMutation(sealed.replace, { table, id, from, to })) rotated++;
        } catch (error) {
          log.error("sealing.not opened", { id, purpose: context.purpose, error: messageOf(error) });
          failed.push(id);
        }
      }
      cursor = found.next;
    }
  },
});
