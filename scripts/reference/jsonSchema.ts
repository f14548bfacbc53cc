import * as z from "zod";

/** JSON Schema (draft 2020-12) of the zod schemas. An input's names the proper form; the service accepts more spellings. */

export type JsonSchema = z.core.JSONSchema.BaseSchema;

export function jsonSchemaOf(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const json: JsonSchema = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => tidy(jsonSchema, io),
  });
  delete json.$schema;
  return json;
}

function tidy(json: JsonSchema, io: "input" | "output"): void {
  // Any key is text.
  if (typeof json.propertyNames === "object" && Object.keys(json.propertyNames).join() === "type") {
    delete json.propertyNames;
  }
  delete json["aliases"];
  // The format says it; zod's own pattern for it fills a screen.
  if (json.format === "date-time") delete json.pattern;
  if (io === "input") {
    // Client generators treat a field with a default as always present, so its description names the default instead.
    delete json.default;
    return;
  }
  // Zod's bounds of safe integers say nothing to the reader of an answer.
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
}
