import type { FunctionReference, PaginationOptions, PaginationResult } from "convex/server";
import { v, type Infer } from "convex/values";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../../_generated/server";
import { messageOf } from "../errors";
import { log } from "../log";
import { isCurrent, open, seal } from "./seals";

/** Seals the secrets that rows keep under another master key. */

/** Secrets that are read at once. */
const PAGE = 50;

/** A row's sealed secret and its context; `id` is the row's name in the report. */
const vSealed = v.object({
  id: v.string(),
  sealedSecret: v.string(),
  context: v.object({ purpose: v.string(), owner: v.string() }),
});
const vCursor = v.union(v.string(), v.null());
const vPage = v.object({ sealed: v.array(vSealed), next: vCursor });

/** A new envelope, and the one that it replaces. */
const vResealed = v.object({ id: v.string(), from: v.string(), to: v.string() });
type Resealed = Infer<typeof vResealed>;

/** How many were sealed again, and which do not open: those stay as they are. */
export const vRotated = v.object({ rotated: v.number(), failed: v.array(v.string()) });

/** The secrets of a table, page by page. */
export function sealedIn<Row>(
  rows: (db: QueryCtx["db"]) => { paginate: (page: PaginationOptions) => Promise<PaginationResult<Row>> },
  secretOf: (row: Row) => Infer<typeof vSealed> | null,
) {
  return internalQuery({
    args: { cursor: vCursor },
    returns: vPage,
    handler: async (ctx, { cursor }) => {
      const { page, isDone, continueCursor } = await rows(ctx.db).paginate({ cursor, numItems: PAGE });
      const sealed = page.map(secretOf).filter((one) => one !== null);
      return { sealed, next: isDone ? null : continueCursor };
    },
  });
}

/** @param replace Stores an envelope; `false` where the secret has changed meanwhile. */
export function replacing(replace: (ctx: MutationCtx, resealed: Resealed) => Promise<boolean>) {
  return internalMutation({ args: vResealed, returns: v.boolean(), handler: replace });
}

/**
 * Seals every secret of a kind again that is not under the current `WALLET_ENCRYPTION_KEY`; the previous key is
 * `WALLET_ENCRYPTION_KEY_PREVIOUS`. It is safe to run twice, and to resume after a crash.
 */
export async function resealAll(
  ctx: ActionCtx,
  read: FunctionReference<"query", "internal", { cursor: string | null }, Infer<typeof vPage>>,
  replace: FunctionReference<"mutation", "internal", Resealed, boolean>,
): Promise<Infer<typeof vRotated>> {
  const failed: string[] = [];
  let rotated = 0;
  for (let cursor: string | null = null; ;) {
    const { sealed, next }: Infer<typeof vPage> = await ctx.runQuery(read, { cursor });
    for (const { id, sealedSecret: from, context } of sealed) {
      if (isCurrent(from)) continue;
      try {
        const to = await seal(await open(from, context), context);
        if (await ctx.runMutation(replace, { id, from, to })) rotated++;
      } catch (error) {
        log.error("sealing.not opened", { purpose: context.purpose, error: messageOf(error) });
        failed.push(id);
      }
    }
    if (next === null) return { rotated, failed };
    cursor = next;
  }
}
