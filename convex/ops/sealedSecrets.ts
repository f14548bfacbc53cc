import { v, type Infer } from "convex/values";
import type { Doc, TableNames } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { records } from "../schema";
import { type TableRecord } from "../platform/records";
import { listKeys } from "../lib/objects";

/** Every sealed secret of every table, by the tables' records: for `rotation`, and for the check that the key opens them. */

/** Rows a page. */
const PAGE = 50;

/** The oldest rows of a table among which the check looks for a secret. */
const SAMPLED = 10;

const vSealed = v.object({
  id: v.string(),
  envelope: v.string(),
  context: v.object({ purpose: v.string(), owner: v.string() }),
});
const vCursor = v.union(v.string(), v.null());

function createSealAccess<Table extends TableNames>(table: Table) {
  const { sealed: kind }: TableRecord<Table> = records[table];
  if (kind === undefined) return [];
  const listSealedOfRows = (rows: Doc<Table>[]) =>
    rows.flatMap((row): Infer<typeof vSealed>[] => {
      const envelope = kind.envelope(row);
      return envelope === undefined ? [] : [{ id: row._id, envelope, context: kind.context(row) }];
    });
  const read = async ({ db }: QueryCtx, cursor: string | null) => {
    const { page, isDone, continueCursor } = await db.query(table).paginate({ cursor, numItems: PAGE });
    return { sealed: listSealedOfRows(page), next: isDone ? null : continueCursor };
  };
  // An incomplete rotation leaves the oldest secret behind.
  const sample = async ({ db }: QueryCtx) =>
    listSealedOfRows(await db.query(table).take(SAMPLED)).slice(0, 1);
  const replace = async ({ db }: MutationCtx, id: string, from: string, to: string): Promise<boolean> => {
    const rowId = db.normalizeId(table, id);
    const row = rowId === null ? null : await db.get(table, rowId);
    if (row === null || kind.envelope(row) !== from) return false;
    await kind.replace(db, row, to);
    return true;
  };
  return [{ read, sample, replace }];
}

const seals = listKeys(records).flatMap((table) => createSealAccess(table));

/** A page of a table's secrets, by the table's place among those with secrets; `null` behind the last table. */
export const listSealed = internalQuery({
  args: { table: v.number(), cursor: vCursor },
  returns: v.union(v.object({ sealed: v.array(vSealed), next: vCursor }), v.null()),
  handler: async (ctx, { table, cursor }) => (await seals[table]?.read(ctx, cursor)) ?? null,
});

/** One secret of each kind. */
export const samples = internalQuery({
  args: {},
  returns: v.array(vSealed),
  handler: async (ctx) => (await Promise.all(seals.map(({ sample }) => sample(ctx)))).flat(),
});

/** Replaces an envelope by another one. @returns `false` if the secret has changed meanwhile. */
export const replace = internalMutation({
  args: { table: v.number(), id: v.string(), from: v.string(), to: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { table, id, from, to }) => (await seals[table]?.replace(ctx, id, from, to)) ?? false,
});
