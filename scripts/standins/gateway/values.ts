/** Part of the stand-ins for local use: puts a simulated model's knowledge into the requested form. */

type Schema = Record<string, unknown>;

/**
 * Known values in the form of a schema, as far as strict structured outputs have schemas (`strictSchema.ts`): each
 * requested part gets the known value of its name, otherwise the smallest value that fits. A part without a type gets none.
 */
export function conforming(known: unknown, schema: Schema): unknown {
  if ("const" in schema) return schema["const"];
  const options = Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter(isRecord) : null;
  if (options !== null) {
    const inner = options.find(({ type }) => type !== "null");
    return known === null || known === undefined || inner === undefined ? null : conforming(known, inner);
  }
  const types = [schema["type"]].flat();
  if (known === null && types.includes("null")) return null;
  if (isRecord(schema["properties"])) {
    const parts = Object.entries(schema["properties"]);
    const values = isRecord(known) ? known : {};
    return Object.fromEntries(
      parts.map(([name, part]) => [name, conforming(values[name], isRecord(part) ? part : {})]),
    );
  }
  if (Array.isArray(schema["enum"])) {
    const words: unknown[] = schema["enum"];
    const same = (word: unknown) => String(word).toLowerCase() === String(known).toLowerCase();
    return words.find(same) ?? words[0] ?? null;
  }
  switch (types[0]) {
    case "array": {
      const items = isRecord(schema["items"]) ? schema["items"] : {};
      return Array.isArray(known) ? known.map((item: unknown) => conforming(item, items)) : [];
    }
    case "string":
      return typeof known === "string" ? known : "";
    case "integer":
      return typeof known === "number" ? Math.round(known) : 0;
    case "number":
      return typeof known === "number" ? known : 0;
    case "boolean":
      return known === true;
    case "object":
      return {};
    default:
      return types[0] === undefined ? "unspecified" : null;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
