import type { ObjectSchema, WireSchema } from "./schema";

/**
 * The form of an answer in words, for the prompt, because a gateway may drop the schema. A placeholder such as
 * `<number, USD>` names kind and unit; the lines below the form describe lists and nested parts.
 */
export function formOf(schema: ObjectSchema): string {
  return [
    "Answer with one JSON object of this form and nothing else. Every key is present, numbers are plain (no units, no separators), < > marks what you fill in:",
    templateOf(schema),
    ...notesOf(schema, []),
  ].join("\n");
}

function templateOf(schema: WireSchema): string {
  if ("anyOf" in schema) {
    const [inner] = schema.anyOf;
    const isPart = "type" in inner && (inner.type === "object" || inner.type === "array");
    return isPart ? `${templateOf(inner)} or null` : placeholder(inner, schema.description, " or null");
  }
  switch (schema.type) {
    case "object": {
      const entries = Object.entries(schema.properties);
      return `{${entries.map(([name, part]) => `${JSON.stringify(name)}: ${templateOf(part)}`).join(", ")}}`;
    }
    case "array":
      return `[${templateOf(schema.items)}, ...]`;
    default:
      return placeholder(schema, schema.description, "");
  }
}

const KINDS = {
  string: "text",
  number: "number",
  integer: "whole number",
  boolean: "true or false",
} as const;

function placeholder(schema: WireSchema, description: string | undefined, orNull: string): string {
  if ("anyOf" in schema || schema.type === "object" || schema.type === "array") return templateOf(schema);
  const kind =
    "enum" in schema ? schema.enum.map((word) => JSON.stringify(word)).join(" | ") : KINDS[schema.type];
  return `<${kind}${orNull}${description === undefined ? "" : `, ${description}`}>`;
}

/** Descriptions of the parts that have no placeholder. */
function notesOf(schema: WireSchema, path: readonly string[]): string[] {
  const inner = "anyOf" in schema ? schema.anyOf[0] : schema;
  if ("anyOf" in inner || (inner.type !== "object" && inner.type !== "array")) return [];
  const { description = inner.description } = schema;
  const own = description === undefined ? [] : [`- ${path.join(".")}: ${description}`];
  if (inner.type === "array") return [...own, ...notesOf(inner.items, path)];
  const parts = Object.entries(inner.properties);
  return [...own, ...parts.flatMap(([name, part]) => notesOf(part, [...path, name]))];
}
