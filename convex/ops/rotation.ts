import type { FunctionReturnType } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import { isSet } from "../lib/env";
import { getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { isCurrent, openSeal, seal } from "../lib/seals";

type Page = FunctionReturnType<typeof internal.ops.sealedSecrets.listSealed>;

/** Opens one secret of each kind. @returns A sentence for each that the configured key does not open. */
export async function findUnopened(ctx: ActionCtx): Promise<string[]> {
  if (!isSet("WALLET_ENCRYPTION_KEY")) return [];
  const troubles: string[] = [];
  for (const { envelope, context } of await ctx.runQuery(internal.ops.sealedSecrets.samples, {})) {
    try {
      await openSeal(envelope, context);
    } catch (error) {
      troubles.push(`a ${context.purpose} does not open: ${getErrorMessage(error)}`);
    }
  }
  return troubles;
}

/**
 * Seals every secret again that an earlier key seals: wallets' keys, bots' tokens, webhooks' secrets. Run it after a change
 * of `WALLET_ENCRYPTION_KEY`, with the old key in `WALLET_ENCRYPTION_KEY_PREVIOUS`, until it answers `rotated: 0` and
 * `failed: []`. Idempotent, also after a crash.
 * @returns The number of rotated secrets, and the rows whose envelope does not open, which stay as they are.
 */
export const rotate = internalAction({
  args: {},
  returns: v.object({ rotated: v.number(), failed: v.array(v.string()) }),
  handler: async (ctx) => {
    const failed: string[] = [];
    let rotated = 0;
    let cursor: string | null = null;
    for (let table = 0; ; table += cursor === null ? 1 : 0) {
      const found: Page = await ctx.runQuery(internal.ops.sealedSecrets.listSealed, { table, cursor });
      if (found === null) return { rotated, failed };
      for (const { id, envelope: from, context } of found.sealed) {
        if (isCurrent(from)) continue;
        try {
          const to = await seal(await openSeal(from, context), context);
          if (await ctx.runMutation(internal.ops.sealedSecrets.replace, { table, id, from, to })) rotated++;
        } catch (error) {
          log.error("sealing.not opened", { id, purpose: context.purpose, error: getErrorMessage(error) });
          failed.push(id);
        }
      }
      cursor = found.next;
    }
  },
});
