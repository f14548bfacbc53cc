import * as z from "zod";
import type { FunctionKind, FunctionPath } from "./execution";
import { ModuleSet, type Modules, type Registered } from "./functions";
import { Database, Table } from "./store/tables";
import { checkOf, type Check } from "./store/validators";
import type { Fields } from "./store/values";

/** The application (path `""`) or a component, with everything that a push would contain. */
export type Part = {
  path: string;
  tables: { name: string; indexes: { name: string; fields: readonly string[] }[]; check: Check }[];
  modules: Modules;
};

type KnownPart = { database: Database; modules: ModuleSet; checks: Map<string, Check> };

/** The application and its components: their databases, functions and schemas. */
export class Parts {
  readonly #parts = new Map<string, KnownPart>();

  get paths(): string[] {
    return [...this.#parts.keys()];
  }

  add({ path, tables, modules }: Part): void {
    const database = new Database();
    const checks = new Map<string, Check>();
    for (const { name, indexes, check } of tables) {
      database.tables.set(name, new Table(indexes));
      checks.set(name, check);
    }
    this.#parts.set(path, { database, modules: new ModuleSet(modules), checks });
  }

  #part(component: string): KnownPart {
    const part = this.#parts.get(component);
    if (part === undefined) throw new Error(`There is no component "${component}"`);
    return part;
  }

  readonly databaseOf = (component: string): Database => this.#part(component).database;

  modulesOf(component: string): ModuleSet {
    return this.#part(component).modules;
  }

  find({ componentPath, udfPath }: FunctionPath): Promise<Registered | null> {
    return this.modulesOf(componentPath).find(udfPath);
  }

  /** Immediate if the function is known: a promise costs more than the lookup. */
  resolve(path: FunctionPath, kind: FunctionKind): Registered | Promise<Registered> {
    const known = this.modulesOf(path.componentPath).known(path.udfPath);
    if (known !== undefined) return fitting(known, path, kind);
    return this.find(path).then((found) => fitting(found, path, kind));
  }

  /** @throws Error for fields that the table's schema does not allow. */
  check(component: string, table: string, fields: Fields): void {
    const problem = this.#part(component).checks.get(table)?.(fields) ?? null;
    if (problem !== null) throw new Error(`${problem} (table "${table}")`);
  }
}

function fitting(found: Registered | null, { udfPath, componentPath }: FunctionPath, kind: FunctionKind) {
  if (found === null) throw new Error(`There is no function ${udfPath} in "${componentPath}"`);
  if (found.kind !== kind) throw new Error(`${udfPath} is a ${found.kind}, not a ${kind}`);
  return found;
}

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
