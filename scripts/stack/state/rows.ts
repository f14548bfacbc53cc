import type { Value } from "convex/values";
import * as z from "zod";
import type { Core } from "../../host/core";
import { functionOf, isOver, JOBS, kindOf } from "../../host/jobs";
import type { Row } from "../../host/store/tables";
import type { Change } from "../../host/store/transaction";
import { fromJson, type Document } from "../../host/store/values";

/** One stored document: Convex's JSON form, with its id and creation time. */
export const rowShape = z.object({
  table: z.string(),
  document: z.looseObject({ _id: z.string(), _creationTime: z.number() }),
  /** A scheduled function's component, if it differs from its scheduler's. */
  component: z.string().optional(),
});
type KeptRow = z.infer<typeof rowShape>;

/** A commit's change of one row, by its id in its component (`part`); `null` for a deleted row. */
export const changeShape = z.object({ part: z.string(), id: z.string(), row: rowShape.nullable() });
export type KeptChange = z.infer<typeof changeShape>;

/** All rows by component path; `""` is the application itself. */
export type Dump = Record<string, KeptRow[]>;

const documentShape = z.custom<Document>(
  (value) => typeof value === "object" && value !== null && "_id" in value && "_creationTime" in value,
);

/** All rows of all components, as they stand. */
export function dumpRows(core: Core): Dump {
  return Object.fromEntries(
    core.parts.paths.map((part) => {
      const rows: KeptRow[] = [];
      for (const [table, { rows: documents }] of core.parts.databaseOf(part).tables)
        for (const row of documents.values()) rows.push(keptRow(core, table, row));
      return [part, rows];
    }),
  );
}

function keptRow(core: Core, table: string, { json, document }: Row): KeptRow {
  const component = core.jobs.addresses.get(document._id)?.componentPath;
  const kept: unknown = JSON.parse(json);
  return {
    ...(component === undefined ? {} : { component }),
    table,
    document: rowShape.shape.document.parse(kept),
  };
}

/** A commit's changes in stored form. */
export function keptChanges(core: Core, changes: readonly Change[]): KeptChange[] {
  return changes.map(({ component: part, table, id, after }) => ({
    part,
    id,
    row: after === null ? null : keptRow(core, table, after),
  }));
}

/** Rows after further changes. */
export function changed(dump: Dump, changes: Iterable<KeptChange>): Dump {
  const parts = new Map(
    Object.entries(dump).map(([part, rows]) => [part, new Map(rows.map((row) => [row.document._id, row]))]),
  );
  for (const { part, id, row } of changes) {
    const rows = parts.get(part) ?? new Map<string, KeptRow>();
    if (row === null) rows.delete(id);
    else rows.set(id, row);
    parts.set(part, rows);
  }
  return Object.fromEntries([...parts].map(([part, rows]) => [part, [...rows.values()]]));
}

/** Restores rows into new databases. Due scheduled functions start when all rows are back. */
export async function restoreRows(core: Core, dump: Dump): Promise<void> {
  for (const [part, rows] of Object.entries(dump)) {
    if (!core.parts.paths.includes(part)) continue;
    for (const row of rows) {
      const document = documentShape.parse(fromJson(row.document));
      if (row.component !== undefined)
        core.jobs.addresses.set(document._id, {
          componentPath: row.component,
          udfPath: functionOf(document),
        });
      const { _id, _creationTime, ...fields } = document;
      core.parts.check(part, row.table, fields);
      const kept = row.table === JOBS ? await asRestored(core, part, document) : document;
      core.parts.databaseOf(part).restore(row.table, kept);
    }
  }
  for (const part of core.parts.paths)
    for (const row of core.parts.databaseOf(part).table(JOBS).rows.values()) core.armJob(part, row);
}

/** A scheduled mutation runs exactly once and an action at most once, as on the platform. */
async function asRestored(core: Core, part: string, job: Document): Promise<Document> {
  if (kindOf(job) !== "inProgress") return job;
  const path = core.jobs.addresses.get(job._id) ?? { componentPath: part, udfPath: functionOf(job) };
  const isMutation = (await core.parts.find(path))?.kind === "mutation";
  const cutOff: Value = { kind: "failed", error: "The server stopped while the function was running" };
  return { ...job, state: isMutation ? { kind: "pending" } : cutOff };
}

/** Deletes the rows of scheduled functions that ended and were due before `time`. */
export function forgetJobs(core: Core, time: number): void {
  for (const component of core.parts.paths) {
    const { rows } = core.parts.databaseOf(component).table(JOBS);
    for (const { document } of [...rows.values()]) {
      if (!isOver(document) || Number(document.scheduledTime) >= time) continue;
      core.jobs.addresses.delete(document._id);
      core.commits.at((transaction) => transaction.remove({ component, table: JOBS }, document._id));
    }
  }
}
