import {
  paginationOptsValidator,
  paginationResultValidator,
  type PaginationOptions,
  type PaginationResult,
} from "convex/server";
import { v } from "convex/values";
import type { TableNames } from "../_generated/dataModel";
import { query, type QueryCtx } from "../_generated/server";
import { tablesOf, type TableRecord } from "../lib/records/records";
import { records } from "../schema";
import { requireUser } from "../users/model";

const tables = tablesOf(records);

/** The table of each section. */
const SECTIONS = new Map(
  tables.flatMap((table) => {
    const section = records[table].ownedBy?.section;
    return section === undefined ? [] : [[section, table] as const];
  }),
);

/** Fields with these names are left out of every section, at any depth. */
const WITHHELD = new Set<string>(tables.flatMap((table) => records[table].withheld ?? []));

/**
 * One page of one section of the caller's data: each element is a row as JSON, times in epoch ms. Together with
 * `users/profile:me`, the sections are everything the service stores about the caller.
 */
export const page = query({
  args: {
    section: v.union(...Array.from(SECTIONS.keys(), (section) => v.literal(section))),
    paginationOpts: paginationOptsValidator,
  },
  returns: paginationResultValidator(v.string()),
  handler: async (ctx, { section, paginationOpts }) => {
    const { userId } = await requireUser(ctx);
    const table = SECTIONS.get(section);
    if (table === undefined) throw new Error("There is no such section");
    return rowsOf(ctx, table, userId, paginationOpts);
  },
});

async function rowsOf<Table extends TableNames>(
  ctx: QueryCtx,
  table: Table,
  userId: string,
  paginationOpts: PaginationOptions,
): Promise<PaginationResult<string>> {
  const { ownedBy }: TableRecord<Table> = records[table];
  if (ownedBy === undefined) throw new Error("The section is not a table with owners");
  const result = await ownedBy.rows(ctx.db.query(table), userId).paginate(paginationOpts);
  const withheld = (name: string, value: unknown) => (WITHHELD.has(name) ? undefined : value);
  return { ...result, page: result.page.map((row) => JSON.stringify(row, withheld)) };
}
