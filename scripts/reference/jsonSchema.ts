import * as z from "zod";

/** JSON Schema (draft 2020-12) of the zod schemas. An input's describes the proper form; the service accepts more spellings. */

export type JsonSchema = z.core.JSONSchema.BaseSchema;

export function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const json: JsonSchema = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => tidy(jsonSchema, io),
  });
  delete json.$schema;
  return json;
}

/** The category written out: readers that do not set the flag `u` do not know pattern categories. */
const UNPRINTABLE = [
  String.raw`\u0000-\u001F\u007F-\u009F\u00AD\u0600-\u0605\u061C\u06DD\u070F\u180E\u200B-\u200F\u202A-\u202E`,
  String.raw`\u2060-\u206F\uE000-\uF8FF\uFEFF\uFFF0-\uFFFB\uFFFE\uFFFF`,
].join("");

function tidy(json: JsonSchema, io: "input" | "output"): void {
  // Any text is a key.
  if (typeof json.propertyNames === "object" && Object.keys(json.propertyNames).join() === "type") {
    delete json.propertyNames;
  }
  delete json["aliases"];
  if (json.pattern !== undefined) json.pattern = json.pattern.replaceAll(String.raw`\p{C}`, UNPRINTABLE);
  // The format suffices; zod's own pattern for it fills a screen.
  if (json.format === "date-time") delete json.pattern;
  if (io === "input") {
    // Client generators treat a field with a default as always present, so its description names the default instead.
    delete json.default;
    return;
  }
  // Zod's bounds of safe integers mean nothing to the reader of an answer.
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
}
