/** Part of the gateway's stand-in for local use: the smallest JSON value that satisfies a JSON Schema. */

type Schema = Record<string, unknown>;

/** Deeper than any schema of a prompt; in a schema that nests without end, `null` ends it. */
const MAX_DEPTH = 40;

export function minimalValue(schema: Schema): unknown {
  return valueOf(schema, schema, 0);
}

function valueOf(given: Schema, root: Schema, depth: number): unknown {
  if (depth > MAX_DEPTH) return null;
  const schema = resolved(given, root);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return listOf(schema["enum"])[0] ?? null;
  for (const keyword of ["anyOf", "oneOf"]) {
    const options = schemasOf(schema[keyword]);
    // If nothing is allowed, nothing is the smallest answer.
    const chosen = options.find(({ type }) => type === "null") ?? options[0];
    if (chosen !== undefined) return valueOf(chosen, root, depth + 1);
  }
  const all = schemasOf(schema["allOf"]).map((one) => resolved(one, root));
  if (all.length > 0) return valueOf(merged([{ ...schema, allOf: undefined }, ...all]), root, depth + 1);

  switch (typeOf(schema)) {
    case "object":
      return objectOf(schema, root, depth);
    case "array":
      return arrayOf(schema, root, depth);
    case "string":
      return stringOf(schema);
    case "integer":
      return numberOf(schema, 1);
    case "number":
      return numberOf(schema, 0.5);
    case "boolean":
      return false;
    default:
      return null;
  }
}

function typeOf(schema: Schema): string | undefined {
  const { type } = schema;
  if (typeof type === "string") return type;
  if (Array.isArray(type)) {
    const types = listOf(type);
    return types.includes("null") ? "null" : types.find((one): one is string => typeof one === "string");
  }
  return "properties" in schema ? "object" : undefined;
}

function objectOf(schema: Schema, root: Schema, depth: number): Record<string, unknown> {
  const properties = asSchema(schema["properties"]);
  const required = listOf(schema["required"]).filter((name) => typeof name === "string");
  return Object.fromEntries(
    required.map((name) => [name, valueOf(asSchema(properties[name]), root, depth + 1)]),
  );
}

function arrayOf(schema: Schema, root: Schema, depth: number): unknown[] {
  const first = schemasOf(schema["prefixItems"]);
  const length = Math.max(first.length, numeric(schema["minItems"]) ?? 0);
  const rest = asSchema(schema["items"]);
  return Array.from({ length }, (_, index) => valueOf(first[index] ?? rest, root, depth + 1));
}

const FORMATS = new Map(
  Object.entries({
    "date-time": "2026-01-01T00:00:00Z",
    date: "2026-01-01",
    email: "nobody@example.com",
    uri: "https://example.com",
    uuid: "00000000-0000-4000-8000-000000000000",
  }),
);

function stringOf(schema: Schema): string {
  const { format } = schema;
  const shaped = typeof format === "string" ? FORMATS.get(format) : undefined;
  return shaped ?? "x".repeat(numeric(schema["minLength"]) ?? 0);
}

function numberOf(schema: Schema, step: number): number {
  const above = numeric(schema["exclusiveMinimum"]);
  const below = numeric(schema["exclusiveMaximum"]);
  const least = Math.max(
    numeric(schema["minimum"]) ?? -Infinity,
    above === undefined ? -Infinity : above + step,
  );
  const most = Math.min(
    numeric(schema["maximum"]) ?? Infinity,
    below === undefined ? Infinity : below - step,
  );
  const value = Math.min(Math.max(0, least), Math.max(most, least));
  return step === 1 ? Math.ceil(value) : value;
}

/** Follows references inside the same schema. */
function resolved(schema: Schema, root: Schema): Schema {
  const reference = schema["$ref"];
  if (typeof reference !== "string" || !reference.startsWith("#")) return schema;
  const keys = reference.split("/").slice(1);
  return keys.reduce((part, key) => asSchema(part[key.replaceAll("~1", "/").replaceAll("~0", "~")]), root);
}

function merged(parts: Schema[]): Schema {
  return {
    ...joined(parts),
    properties: joined(parts.map(({ properties }) => asSchema(properties))),
    required: parts.flatMap(({ required }) => listOf(required)),
    allOf: undefined,
  };
}

function joined(parts: Schema[]): Schema {
  return parts.reduce((all, part) => ({ ...all, ...part }), {});
}

function schemasOf(value: unknown): Schema[] {
  return listOf(value).map(asSchema);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function numeric(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
