import * as z from "zod";
import { promised } from "../locks";
import { read, Reading, type Built } from "./reads";
import { insert, patch, remove, replace } from "./writes";

/**
 * `ctx.db`: the convex package's own, with direct reads and writes in place of its system calls. A missing or unusable
 * argument reaches the package, which reports it in its own words.
 */

type Method = (...given: unknown[]) => unknown;
type PackageDb = { get: Method; query: (table: unknown) => Built };

const systemShape = z.looseObject({ system: z.looseObject({}).optional() });
const readerShape = z.looseObject({ get: z.function(), query: z.function() });
const writerShape = z.looseObject({
  insert: z.function(),
  patch: z.function(),
  replace: z.function(),
  delete: z.function(),
});

const isReader = (db: unknown): db is PackageDb => readerShape.safeParse(db).success;
const isWriter = (db: unknown): db is Record<"insert" | "patch" | "replace" | "delete", Method> =>
  writerShape.safeParse(db).success;

/** @param db The package's object for a query or a mutation. */
export function databaseOf(db: object): object {
  const { system = {} } = systemShape.parse(db);
  const made = { ...readerOf(db), ...writerOf(db) };
  return {
    ...db,
    ...made,
    system: { ...system, ...readerOf(system) },
    table: (name: string) => tableOf(made, name),
  };
}

function readerOf(db: unknown): { get: Method; query: Method } {
  if (!isReader(db)) throw new Error("This version of convex reads in another way");
  return {
    get: (...given) => {
      const [table, id] = given[1] === undefined ? [undefined, given[0]] : given;
      if (typeof id !== "string" || !isTable(table)) return db.get(...given);
      return promised(() => read(table, id));
    },
    query: (table) => new Reading(db.query(table)),
  };
}

function writerOf(db: unknown): Record<string, Method> {
  if (!isWriter(db)) return {};
  const change =
    (name: "patch" | "replace", work: typeof patch): Method =>
    (...given) => {
      const [table, id, value] = given[2] === undefined ? [undefined, ...given] : given;
      if (id === undefined || value === undefined || !isTable(table)) return db[name](...given);
      return promised(() => work(table, id, value));
    };
  return {
    insert: (table, value) => {
      if (typeof table !== "string" || table.startsWith("_") || value === undefined)
        return db.insert(table, value);
      return promised(() => insert(table, value));
    },
    patch: change("patch", patch),
    replace: change("replace", replace),
    delete: (...given) => {
      const [table, id] = given[1] === undefined ? [undefined, given[0]] : given;
      if (id === undefined || !isTable(table)) return db.delete(...given);
      return promised(() => remove(table, id));
    },
  };
}

/** `db.table(name)`: the same with the table named once. */
function tableOf(db: Record<string, Method>, name: string): object {
  return Object.fromEntries(
    ["get", "query", "insert", "patch", "replace", "delete"].flatMap((method) => {
      const whole = db[method];
      return whole === undefined ? [] : [[method, (...given: unknown[]) => whole(name, ...given)]];
    }),
  );
}

const isTable = (table: unknown): table is string | undefined =>
  table === undefined || typeof table === "string";
