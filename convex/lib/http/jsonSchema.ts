import * as z from "zod";

/** JSON Schema (draft 2020-12) of the zod schemas, for input and output. */

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * What zod cannot know about the values that a schema accepts; attached with `.meta()`. `accepts` replaces the derived
 * schema; `emptyIsAbsent` adds `""` and `null`; `aliases` adds further names of fields.
 */
const hintsShape = z.object({
  accepts: z.custom<() => JsonSchema>((value) => typeof value === "function").optional(),
  emptyIsAbsent: z.literal(true).optional(),
  aliases: z.record(z.string(), z.string()).optional(),
});
type Hints = z.output<typeof hintsShape>;

declare module "zod" {
  interface GlobalMeta extends Hints {
    /** The most characters (code points) of a `text`. */
    maxLength?: number;
  }
}

const ABSENT: JsonSchema = { enum: ["", null], description: "As if left out." };
/** Blanks around a text are trimmed before it is checked. */
const BLANKS = String.raw`\s*`;

export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const json: JsonSchema = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => refine(zodSchema, jsonSchema, io),
  });
  delete json.$schema;
  return json;
}

/** Runs once for every inner schema, innermost first; wrappers inherit its changes. */
function refine(schema: z.core.$ZodType, json: JsonSchema, io: "input" | "output"): void {
  const { accepts, emptyIsAbsent, aliases } = takeHints(json);
  // Any key is text.
  if (typeof json.propertyNames === "object" && Object.keys(json.propertyNames).join() === "type") {
    delete json.propertyNames;
  }
  // The format says it; zod's own pattern for it fills a screen.
  if (json.format === "date-time") delete json.pattern;
  if (io === "output") {
    if (json.type === "integer") dropSafeBounds(json);
    return;
  }
  // Client generators treat a field with a default as always present, so its description names the default instead.
  delete json.default;
  if (isString(schema) && isTrimmed(schema)) allowBlanks(json);
  if (accepts !== undefined) replace(json, accepts());
  if (emptyIsAbsent === true) replace(json, { anyOf: [valueOf(json), ABSENT] });
  if (aliases !== undefined) addAliases(json, aliases);
}

function takeHints(json: JsonSchema): Hints {
  const hints = hintsShape.parse(json);
  for (const name of Object.keys(hintsShape.shape)) delete json[name];
  return hints;
}

/** Drops zod's bounds of safe integers; readers of an answer do not need them. */
function dropSafeBounds(json: JsonSchema): void {
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
}

/** By its kind: naming the class would add all of zod's core to the bundle. */
function isString(schema: z.core.$ZodType): schema is z.core.$ZodString {
  return "type" in schema._zod.def && schema._zod.def.type === "string";
}

function isTrimmed(schema: z.core.$ZodString): boolean {
  const checks = schema._zod.def.checks ?? [];
  return checks.some(({ _zod: { def } }) => isOverwrite(def) && def.tx(" x ").trim() === def.tx(" x "));
}

function isOverwrite(def: z.core.$ZodCheckDef): def is z.core.$ZodCheckOverwriteDef<string> {
  return def.check === "overwrite";
}

function allowBlanks(json: JsonSchema): void {
  const { pattern, minLength = 0 } = json;
  const patterns: string[] = [];
  if (pattern !== undefined) patterns.push(`^${BLANKS}(?:${pattern.replace(/^\^|\$$/g, "")})${BLANKS}$`);
  // Blanks alone become nothing. A pattern that requires a certain first character says so already.
  if (minLength > 0) patterns.push(String.raw`\S`);
  const [first, ...others] = patterns;
  if (first !== undefined) json.pattern = first;
  if (others.length > 0) json.allOf = others.map((one) => ({ pattern: one }));
}

/** The annotations of a field stay; its constraints are replaced. */
const ANNOTATIONS = ["title", "description", "deprecated", "examples"];

function valueOf(json: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(json).filter(([key]) => !ANNOTATIONS.includes(key)));
}

function replace(json: JsonSchema, by: JsonSchema): void {
  for (const key of Object.keys(json)) if (!ANNOTATIONS.includes(key)) delete json[key];
  Object.assign(json, by);
}

function addAliases(json: JsonSchema, aliases: Record<string, string>): void {
  for (const [alias, name] of Object.entries(aliases)) {
    const target = json.properties?.[name];
    if (typeof target !== "object") continue;
    json.properties = {
      ...json.properties,
      [alias]: {
        ...target,
        description: `Another name of \`${name}\`; \`${name}\` wins when both are sent.`,
        deprecated: true,
      },
    };
    if (json.required?.includes(name) !== true) continue;
    json.required = json.required.filter((one) => one !== name);
    json.anyOf = [{ required: [name] }, { required: [alias] }];
  }
}
