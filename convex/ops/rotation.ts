import type { FunctionReturnType } from "convex/server";
import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction } from "../_generated/server";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { isCurrent, open, seal } from "../lib/security/seals";
import type { vPlace } from "./sealed";

/**
 * Seals every secret again that is not under the current `WALLET_ENCRYPTION_KEY`: wallets' keys, bots' tokens, webhooks'
 * secrets. Run it after a change of the key, with the old one in `WALLET_ENCRYPTION_KEY_PREVIOUS`. Safe to run twice, and
 * to resume after a crash.
 * @returns How many were sealed again, and the rows whose envelope does not open: those stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: v.object({ rotated: v.number(), failed: v.array(v.string()) }),
  handler: async (ctx) => {
    const failed: string[] = [];
    let rotated = 0;
    let place: Infer<typeof vPlace> | null = { table: "", cursor: null };
    while (place !== null) {
      const { table }: Infer<typeof vPlace> = place;
      const page: FunctionReturnType<typeof internal.ops.sealed.page> = await ctx.runQuery(
        internal.ops.sealed.page,
        place,
      );
      for (const { id, envelope: from, context } of page.sealed) {
        if (isCurrent(from)) continue;
        try {
          const to = await seal(await open(from, context), context);
          if (await ctx.runMutation(internal.ops.sealed.replace, { table, id, from, to })) rotated++;
        } catch (error) {
          log.error("sealing.not opened", { purpose: context.purpose, error: messageOf(error) });
          failed.push(`${table} ${id}`);
        }
      }
      place = page.next;
    }
    return { rotated, failed };
  },
});
