import type { FunctionReference, IndexRange } from "convex/server";
import { v, type Infer } from "convex/values";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../../_generated/server";
import { required } from "../env";
import { messageOf } from "../errors";
import { log } from "../log";
import type { Bound, Indexed } from "../records/rows";
import { keyring, open, seal } from "./seals";

/** Seals the secrets that rows keep under another master key. */

/** Secrets per transaction. */
const BATCH = 50;

/** A row's sealed secret and its context; `id` is the row's name in the report. */
const vSealed = v.object({
  id: v.string(),
  sealedSecret: v.string(),
  context: v.object({ purpose: v.string(), owner: v.string() }),
});
type Sealed = Infer<typeof vSealed>;

/** A new envelope, and the one that it replaces. */
const vResealed = v.object({ id: v.string(), from: v.string(), to: v.string() });
type Resealed = Infer<typeof vResealed>;

/** How many were sealed again, and which do not open: those stay as they are. */
export const vRotated = v.object({ rotated: v.number(), failed: v.array(v.string()) });

type Beyond = Bound<"gt", "keyId", string, IndexRange & Bound<"lt", "keyId", string>>;
type ByKey<Row> = Indexed<"by_keyId", Beyond, { take: (count: number) => Promise<Row[]> }>;

/** The secrets of a table's rows that are sealed under another master key than the named one. */
export function outdatedIn<Row>(
  rows: (db: QueryCtx["db"]) => ByKey<Row>,
  sealedIn: (row: Row) => Sealed | null,
) {
  return internalQuery({
    args: { keyId: v.string(), limit: v.number() },
    returns: v.array(vSealed),
    handler: async (ctx, { keyId, limit }) => {
      // Rows without a secret have no key's id.
      const below = rows(ctx.db).withIndex("by_keyId", (q) => q.gt("keyId", "").lt("keyId", keyId));
      const before = await below.take(limit);
      const above = rows(ctx.db).withIndex("by_keyId", (q) => q.gt("keyId", keyId));
      const after = await above.take(limit - before.length);
      return [...before, ...after].map(sealedIn).filter((one) => one !== null);
    },
  });
}

/** @param replace Stores an envelope; `false` where the secret has changed meanwhile. */
export function replacing(replace: (ctx: MutationCtx, resealed: Resealed) => Promise<boolean>) {
  return internalMutation({
    args: { resealed: v.array(vResealed) },
    returns: v.number(),
    handler: async (ctx, { resealed }) => {
      let replaced = 0;
      for (const one of resealed) if (await replace(ctx, one)) replaced++;
      return replaced;
    },
  });
}

/**
 * Seals every secret of a kind again that is not under the current `WALLET_ENCRYPTION_KEY`, batch after batch; the
 * previous key is `WALLET_ENCRYPTION_KEY_PREVIOUS`. It is safe to run twice, and to resume after a crash.
 */
export async function resealAll(
  ctx: ActionCtx,
  outdated: FunctionReference<"query", "internal", { keyId: string; limit: number }, Sealed[]>,
  replace: FunctionReference<"mutation", "internal", { resealed: Resealed[] }, number>,
): Promise<Infer<typeof vRotated>> {
  const { id: keyId } = keyring(required("WALLET_ENCRYPTION_KEY"));
  const failed: string[] = [];
  for (let rotated = 0; ;) {
    // Those that did not open before are found again.
    const found = await ctx.runQuery(outdated, { keyId, limit: BATCH + failed.length });
    const left = found.filter(({ id }) => !failed.includes(id));
    if (left.length === 0) return { rotated, failed };
    const resealed: Resealed[] = [];
    for (const { id, sealedSecret: from, context } of left) {
      try {
        resealed.push({ id, from, to: await seal(await open(from, context), context) });
      } catch (error) {
        log.error("sealing.not opened", { purpose: context.purpose, error: messageOf(error) });
        failed.push(id);
      }
    }
    rotated += await ctx.runMutation(replace, { resealed });
  }
}
