import {
  paginationOptsValidator,
  paginationResultValidator,
  type PaginationOptions,
  type PaginationResult,
  type RegisteredQuery,
} from "convex/server";
import type { PropertyValidators, Value, VObject } from "convex/values";
import { parse } from "convex-helpers/validators";
import { query, type QueryCtx } from "../_generated/server";
import { requireUser } from "./model";

/** Lists of the signed-in user's own rows, as the web application shows them. */

type Pages<Row> = {
  order: (order: "desc") => { paginate: (options: PaginationOptions) => Promise<PaginationResult<Row>> };
};

/**
 * A query of the web application: the user's rows, newest first.
 * @param vShown The fields that are shown; others are left out.
 * @param rows The user's rows.
 * @param named Renames a row's fields for display.
 */
export function ownRows<Row extends object, Shown extends Record<string, Value | undefined>>(
  vShown: VObject<Shown, PropertyValidators>,
  rows: (db: QueryCtx["db"], userId: string) => Pages<Row>,
  named?: (row: Row, ctx: QueryCtx) => object | Promise<object>,
): RegisteredQuery<"public", { paginationOpts: PaginationOptions }, Promise<PaginationResult<Shown>>>;
export function ownRows(
  vShown: VObject<Record<string, Value | undefined>, PropertyValidators>,
  rows: (db: QueryCtx["db"], userId: string) => Pages<object>,
  named: (row: object, ctx: QueryCtx) => object | Promise<object> = (row) => row,
) {
  return query({
    args: { paginationOpts: paginationOptsValidator },
    returns: paginationResultValidator(vShown),
    handler: async (ctx, { paginationOpts }) => {
      const { userId } = await requireUser(ctx);
      const found = await rows(ctx.db, userId).order("desc").paginate(paginationOpts);
      const page = await Promise.all(found.page.map(async (row) => parse(vShown, await named(row, ctx))));
      return { ...found, page };
    },
  });
}
