import {
  makeFunctionReference,
  internalMutationGeneric,
  internalQueryGeneric,
  type AnyDataModel,
  type GenericMutationCtx,
} from "convex/server";
import { convexToJson, jsonToConvex, type Value } from "convex/values";
import * as z from "zod";
import { systemInsert } from "./metering";

/** The system table of scheduled functions. */
export const JOBS = "_scheduled_functions";

/** One document as it is kept: Convex's JSON form, with its id and creation time. */
export const rowShape = z.object({
  table: z.string(),
  document: z.looseObject({ _id: z.string(), _creationTime: z.number() }),
});
export type Row = z.infer<typeof rowShape>;

/** A scheduled function's document. */
export const jobShape = z.object({
  _id: z.string(),
  name: z.string(),
  args: z.array(z.unknown()),
  scheduledTime: z.number(),
  state: z.object({ kind: z.enum(["pending", "inProgress", "success", "failed", "canceled"]) }),
});

/** What to do with a scheduled function that is restored: run it (again), or keep its row as it ended. */
export type JobFate = { kind: "run" } | { kind: "keep" } | { kind: "fail"; error: string };

/** Ids are a counter of the component's database, which starts here, followed by the table's name. */
const FIRST_COUNTER = 10_000;
const FILLER = "fillers";

type Ctx = GenericMutationCtx<AnyDataModel>;

/**
 * Functions of the host's own that run inside one component, where its tables can be reached. Rows go in and out by
 * reference, not as arguments and results, which would be copied and checked.
 */
export function hostFunctions(tables: readonly string[]) {
  let collected: Row[] = [];
  let restored: { row: Row; fate: JobFate }[] = [];
  let forgetBefore = 0;
  return {
    collect: () => collected,
    give: (rows: { row: Row; fate: JobFate }[]) => void (restored = rows),
    forgetBefore: (time: number) => void (forgetBefore = time),
    module: {
      dump: internalQueryGeneric({
        args: {},
        handler: async (ctx) => {
          const rows: Row[] = [];
          for (const table of tables) rows.push(...(await ctx.db.query(table).collect()).map(toRow(table)));
          rows.push(...(await ctx.db.system.query(JOBS).collect()).map(toRow(JOBS)));
          collected = rows;
        },
      }),
      restore: internalMutationGeneric({ args: {}, handler: (ctx: Ctx) => restoreRows(ctx, restored) }),
      forget: internalMutationGeneric({
        args: {},
        handler: async (ctx: Ctx) => {
          for (const { _id, scheduledTime, state } of await ctx.db.system.query(JOBS).collect()) {
            const ended = state.kind !== "pending" && state.kind !== "inProgress";
            if (ended && scheduledTime < forgetBefore) await ctx.db.delete(JOBS, _id);
          }
        },
      }),
    },
  };
}

function toRow(table: string): (document: Value) => Row {
  return (document) => rowShape.parse({ table, document: convexToJson(document) });
}

/** Writes the rows back with the ids and creation times they had. */
async function restoreRows(ctx: Ctx, rows: readonly { row: Row; fate: JobFate }[]): Promise<void> {
  const clock = oneShotClock();
  const sorted = rows
    .map((entry) => ({ ...entry, counter: Number.parseInt(entry.row.document._id, 10) }))
    .sort((a, b) => a.counter - b.counter);
  let next = FIRST_COUNTER;
  for (const { row, fate, counter } of sorted) {
    for (; next < counter; next++) {
      clock.at(0);
      await ctx.db.delete(FILLER, await ctx.db.insert(FILLER, {}));
    }
    clock.at(row.document._creationTime);
    const id = row.table === JOBS ? await restoreJob(ctx, row, fate) : await restoreDocument(ctx, row);
    if (id !== row.document._id) throw new Error(`${row.document._id} was restored as ${id}`);
    next++;
  }
}

async function restoreDocument(ctx: Ctx, { table, document }: Row): Promise<string> {
  return ctx.db.insert(table, fieldsOf(document));
}

async function restoreJob(ctx: Ctx, { document }: Row, fate: JobFate): Promise<string> {
  if (fate.kind === "run") {
    const job = jobShape.parse(document);
    const [args] = z.tuple([z.looseObject({})]).parse(job.args);
    return ctx.scheduler.runAt(
      job.scheduledTime,
      makeFunctionReference<"mutation">(job.name),
      fieldsOf(args),
    );
  }
  const { _id, _creationTime, ...fields } = document;
  const value = fate.kind === "fail" ? { ...fields, state: { kind: "failed", error: fate.error } } : fields;
  return systemInsert(JOBS, value);
}

function fieldsOf(document: Record<string, unknown>): Record<string, Value> {
  const { _id, _creationTime, ...fields } = document;
  return z.record(z.string(), z.custom<Value>()).parse(jsonToConvex(z.json().parse(fields)));
}

/**
 * Replaces the running function's clock: the next reading is the time given, later ones are ordinary. One reading
 * only, because scheduling reads the clock twice, for the creation time and then for the delay.
 */
function oneShotClock(): { at: (time: number) => void } {
  const Ordinary = globalThis.Date;
  let forced: number | null = null;
  class OneShot extends Ordinary {
    static override now(): number {
      const time = forced ?? Ordinary.now();
      forced = null;
      return time;
    }
  }
  Object.assign(globalThis, { Date: OneShot });
  return { at: (time) => void (forced = time) };
}
