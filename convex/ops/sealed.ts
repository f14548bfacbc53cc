import { v, type Infer } from "convex/values";
import type { TableNames } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { namesIn, type TableRecord } from "../lib/records";
import { records } from "../schema";

/** Every sealed secret of every table, as the tables' records say: for `ops/rotation`. */

/** Secrets that are read at once. */
const PAGE = 50;

const vSealed = v.object({
  id: v.string(),
  envelope: v.string(),
  context: v.object({ purpose: v.string(), owner: v.string() }),
});
/** Where the reading of a table goes on. */
export const vPlace = v.object({ table: v.string(), cursor: v.union(v.string(), v.null()) });
const vPage = v.object({ sealed: v.array(vSealed), next: v.union(vPlace, v.null()) });

function sealsOf<Table extends TableNames>(table: Table) {
  const { sealed: kind }: TableRecord<Table> = records[table];
  if (kind === undefined) return [];
  const read = async ({ db }: QueryCtx, cursor: string | null) => {
    const found = await db.query(table).paginate({ cursor, numItems: PAGE });
    const sealed = found.page.flatMap((row): Infer<typeof vSealed>[] => {
      const envelope = kind.envelope(row);
      return envelope === undefined ? [] : [{ id: row._id, envelope, context: kind.context(row) }];
    });
    return { sealed, cursor: found.isDone ? null : found.continueCursor };
  };
  const replace = async ({ db }: MutationCtx, id: string, from: string, to: string): Promise<boolean> => {
    const rowId = db.normalizeId(table, id);
    const row = rowId === null ? null : await db.get(table, rowId);
    if (row === null || kind.envelope(row) !== from) return false;
    await kind.replace(db, row, to);
    return true;
  };
  return [{ table, read, replace }];
}

const seals = namesIn(records).flatMap((table) => sealsOf(table));

/** A page of a table's secrets, and where the next one begins; behind no table is the first. */
export const page = internalQuery({
  args: vPlace,
  returns: vPage,
  handler: async (ctx, { table, cursor }): Promise<Infer<typeof vPage>> => {
    const at = seals.findIndex((one) => one.table === table);
    const { sealed = [], cursor: left = null } = (await seals[at]?.read(ctx, cursor)) ?? {};
    const following = seals[at + 1]?.table;
    if (left !== null) return { sealed, next: { table, cursor: left } };
    return { sealed, next: following === undefined ? null : { table: following, cursor: null } };
  },
});

/** Puts another envelope in the place of one. @returns `false` where the secret has changed meanwhile. */
export const replace = internalMutation({
  args: { table: v.string(), id: v.string(), from: v.string(), to: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { table, id, from, to }) =>
    (await seals.find((one) => one.table === table)?.replace(ctx, id, from, to)) ?? false,
});
