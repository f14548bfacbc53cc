import * as z from "zod";

/**
 * The platform's rules for a push. Source: get-convex/convex-backend (`crates/common`: schemas, identifiers, limits;
 * `crates/model`: crons) and the limits page of its documentation.
 */

const MAX_IDENTIFIER = 64;
const MAX_INDEXES = 32;
const MAX_INDEX_FIELDS = 16;
const MAX_FIELD_NAME = 1_024;
const MAX_VARIABLES = 512;
/** The documentation says 40, the backend's source 256: the smaller limit fits both. */
const MAX_VARIABLE_NAME = 40;
const RESERVED_INDEXES = ["by_id", "by_creation_time"];

const index = z.object({ indexDescriptor: z.string(), fields: z.array(z.string()) });
const named = z.looseObject({ indexDescriptor: z.string() });

const schemaShape = z.object({
  tables: z.array(
    z.object({
      tableName: z.string(),
      indexes: z.array(index),
      searchIndexes: z.array(named),
      vectorIndexes: z.array(named),
      documentType: z.unknown(),
    }),
  ),
});

export type SchemaCounts = { tables: number; indexes: number };

/** @param exported The result of a schema's `export()`. */
export function schemaFaults(exported: string): { faults: string[]; counts: SchemaCounts } {
  const { tables } = schemaShape.parse(JSON.parse(exported));
  const faults = tables.flatMap((table) => {
    const { tableName, indexes, searchIndexes, vectorIndexes, documentType } = table;
    const all = [...indexes, ...searchIndexes, ...vectorIndexes];
    const found = [...identifierFaults("table", tableName), ...fieldFaults(tableName, documentType)];
    if (all.length > MAX_INDEXES) {
      found.push(`table ${tableName} has ${all.length} indexes, more than ${MAX_INDEXES}`);
    }
    for (const { indexDescriptor } of all) {
      found.push(...identifierFaults("index", `${tableName}.${indexDescriptor}`, indexDescriptor));
      if (RESERVED_INDEXES.includes(indexDescriptor)) {
        found.push(`index ${tableName}.${indexDescriptor}: the platform has one of this name itself`);
      }
    }
    for (const { indexDescriptor, fields } of indexes) {
      if (fields.length > MAX_INDEX_FIELDS) {
        found.push(
          `index ${tableName}.${indexDescriptor} has ${fields.length} fields, more than ${MAX_INDEX_FIELDS}`,
        );
      }
    }
    return found;
  });
  const indexes = tables.reduce((sum, one) => sum + one.indexes.length, 0);
  return { faults, counts: { tables: tables.length, indexes } };
}

function identifierFaults(what: string, shown: string, name = shown): string[] {
  const isGood = name.length <= MAX_IDENTIFIER && /^[A-Za-z][A-Za-z0-9_]*$/.test(name);
  return isGood
    ? []
    : [
        `${what} ${shown}: a name is at most ${MAX_IDENTIFIER} letters, digits and _, and begins with a letter`,
      ];
}

/** Names of fields anywhere in a validator's JSON. */
function fieldFaults(table: string, shape: unknown): string[] {
  if (Array.isArray(shape)) return shape.flatMap((one) => fieldFaults(table, one));
  if (typeof shape !== "object" || shape === null) return [];
  const object = z.object({ type: z.literal("object"), value: z.record(z.string(), z.unknown()) });
  const parsed = object.safeParse(shape);
  if (!parsed.success) return Object.values(shape).flatMap((one) => fieldFaults(table, one));
  return Object.entries(parsed.data.value).flatMap(([name, field]) => {
    const isGood = /^[\x20-\x7e]+$/.test(name) && !/^[$_]/.test(name) && name.length <= MAX_FIELD_NAME;
    const fault = `field ${table}.${name}: a name is ASCII, and does not begin with $ or _`;
    return [...(isGood ? [] : [fault]), ...fieldFaults(table, field)];
  });
}

const hour = z.int().min(0).max(23);
const minute = z.int().min(0).max(59);
const every = z.int().positive();
const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

const schedule = z.union([
  z.strictObject({ type: z.literal("interval"), seconds: every }),
  z.strictObject({ type: z.literal("interval"), minutes: every }),
  z.strictObject({ type: z.literal("interval"), hours: every }),
  z.object({ type: z.literal("hourly"), minuteUTC: minute.optional() }),
  z.object({ type: z.literal("daily"), hourUTC: hour, minuteUTC: minute.optional() }),
  z.object({
    type: z.literal("weekly"),
    dayOfWeek: z.enum(DAYS),
    hourUTC: hour,
    minuteUTC: minute.optional(),
  }),
  z.object({
    type: z.literal("monthly"),
    day: z.int().min(1).max(31),
    hourUTC: hour,
    minuteUTC: minute.optional(),
  }),
  z.object({
    type: z.literal("cron"),
    cron: z.string().regex(/^\s*(?:[\d*/,A-Za-z-]+\s+){4}[\d*/,A-Za-z-]+\s*$/),
  }),
]);

const cronsShape = z.object({
  isCrons: z.literal(true),
  crons: z.record(z.string(), z.object({ name: z.string(), schedule: z.unknown() })),
});

/** @param callable The functions a cron can run, as `folder/file:name`. */
export function cronFaults(exported: unknown, callable: ReadonlySet<string>): string[] {
  const parsed = cronsShape.safeParse(exported);
  if (!parsed.success) return ["crons.js: its default export is not cronJobs()"];
  return Object.entries(parsed.data.crons).flatMap(([name, cron]) => [
    ...(/^[\x20-\x7e]+$/.test(name) ? [] : [`cron ${name}: a name is printable ASCII`]),
    ...(schedule.safeParse(cron.schedule).success ? [] : [`cron ${name}: the platform has no such time`]),
    ...(callable.has(cron.name.replace(/\.js:/, ":"))
      ? []
      : [`cron ${name}: there is no mutation or action ${cron.name}`]),
  ]);
}

export function variableFaults(names: readonly string[]): string[] {
  const faults = names
    .filter((name) => name.length > MAX_VARIABLE_NAME || !/^[A-Za-z_]\w*$/.test(name))
    .map((name) => `variable ${name}: a name is at most ${MAX_VARIABLE_NAME} letters, digits and _`);
  return names.length > MAX_VARIABLES
    ? [...faults, `${names.length} variables are declared, more than ${MAX_VARIABLES}`]
    : faults;
}
