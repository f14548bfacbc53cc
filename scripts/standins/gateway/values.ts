/** Part of the stand-ins for local use: puts a simulated model's knowledge into the requested form. */

import { minimalValue } from "./schemaValue";

type Schema = Record<string, unknown>;

/**
 * Known values in the form of a schema: each requested part gets the known value of its name, otherwise the smallest
 * value that fits. A part without a type gets none.
 */
export function conforming(known: unknown, schema: Schema): unknown {
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
  if (types.includes("array") && Array.isArray(known)) {
    const items = isRecord(schema["items"]) ? schema["items"] : {};
    return known.map((item: unknown) => conforming(item, items));
  }
  if (Array.isArray(schema["enum"])) {
    const words: unknown[] = schema["enum"];
    const same = (word: unknown) => String(word).toLowerCase() === String(known).toLowerCase();
    return words.find(same) ?? words[0] ?? null;
  }
  if (types.includes("string") && typeof known === "string") return known;
  if (types.includes("integer") && typeof known === "number") return Math.round(known);
  if (types.includes("number") && typeof known === "number") return known;
  if (types[0] === undefined) return "unspecified";
  return minimalValue(schema);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
