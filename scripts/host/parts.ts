import * as z from "zod";
import type { Part } from "./core";
import type { Modules } from "./functions";
import { checkOf } from "./validators";

/** The form of `defineSchema`'s result that the platform gets in a push. */
const tableShape = z.object({
  indexes: z.array(z.object({ indexDescriptor: z.string(), fields: z.array(z.string()) })),
  documentType: z.unknown(),
});

/**
 * @param modules By path below the folder, without endings: `research/shifts`.
 * @throws Error where `schema` is not made by `defineSchema`.
 */
export function partOf(path: string, schema: unknown, modules: Modules): Part {
  const tables: unknown =
    typeof schema === "object" && schema !== null ? Reflect.get(schema, "tables") : null;
  if (typeof tables !== "object" || tables === null)
    throw new Error(`The schema of "${path}" is not a default export of defineSchema()`);
  return {
    path,
    modules,
    tables: Object.entries(tables).map(([name, table]) => {
      const { indexes, documentType } = tableShape.parse(exportOf(table));
      return {
        name,
        check: checkOf(documentType),
        indexes: indexes.map(({ indexDescriptor, fields }) => ({ name: indexDescriptor, fields })),
      };
    }),
  };
}

function exportOf(table: unknown): unknown {
  const method: unknown = typeof table === "object" && table !== null ? Reflect.get(table, "export") : null;
  return typeof method === "function" ? Reflect.apply(method, table, []) : null;
}

/** The paths of a glob or a folder, as functions name them: `../../convex/research/shifts.ts` is `research/shifts`. */
export function named(modules: Modules, root: string): Modules {
  return Object.fromEntries(
    Object.entries(modules).map(([file, load]) => [file.slice(root.length).replace(/\.[jt]s$/, ""), load]),
  );
}
