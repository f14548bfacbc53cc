import * as z from "zod";

/**
 * A shape as a JSON schema for strict structured outputs (every part typed, every property required, nothing else
 * allowed, no keyword beyond these). Limits of length, range and pattern are not included: they are checked when the
 * answer is read.
 */
export type WireSchema = ObjectSchema | ArraySchema | WordSchema | PlainSchema | NullableSchema;

type Described = { description?: string };
export type ObjectSchema = Described & {
  type: "object";
  properties: Record<string, WireSchema>;
  required: string[];
  additionalProperties: false;
};
type ArraySchema = Described & { type: "array"; items: WireSchema };
type WordSchema = Described & { type: "string"; enum: string[] };
type PlainSchema = Described & { type: "string" | "number" | "integer" | "boolean" };
type NullableSchema = Described & { anyOf: [WireSchema, { type: "null" }] };

const keywords = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  enum: z.array(z.string()).optional(),
  description: z.string().optional(),
});

/** @throws Error for a shape with a part that cannot be described: a transformation, a default, a union, a record. */
export function wireSchema(shape: z.ZodType): ObjectSchema {
  const earlier = made.get(shape);
  if (earlier !== undefined) return earlier;
  const schema = schemaOf(z.toJSONSchema(shape, { io: "output" }));
  if (!("type" in schema) || schema.type !== "object")
    throw new Error("The shape for a model must be an object");
  made.set(shape, schema);
  return schema;
}

/** The form of an answer, for the prompt, because a gateway may drop the schema. */
export const formOf = (schema: ObjectSchema): string =>
  "Answer with one JSON object of this JSON schema and nothing else. Every key is present, numbers are plain (no units, " +
  `no separators).\n${JSON.stringify(schema)}`;

/** Each call needs it twice: for the prompt, and to read the answer. */
const made = new WeakMap<z.ZodType, ObjectSchema>();

function schemaOf(json: unknown): WireSchema {
  const { type, properties, items, anyOf, enum: words, description } = keywords.parse(json);
  const described: Described = description === undefined ? {} : { description };
  const choices = anyOf ?? (Array.isArray(type) ? type.map((one) => ({ type: one })) : []);
  if (choices.length > 0) {
    const [inner, none, ...others] = choices;
    if (others.length > 0 || keywords.parse(none).type !== "null")
      throw new Error("The shape for a model must not have a union");
    return { ...described, anyOf: [schemaOf(inner), { type: "null" }] };
  }
  switch (type) {
    case "object": {
      if (properties === undefined)
        throw new Error("The shape for a model must not have an object without fixed keys");
      const entries = Object.entries(properties).map(([name, part]) => [name, schemaOf(part)] as const);
      const required = entries.map(([name]) => name);
      return {
        ...described,
        type,
        properties: Object.fromEntries(entries),
        required,
        additionalProperties: false,
      };
    }
    case "array":
      return { ...described, type, items: schemaOf(items) };
    case "string":
      return words === undefined ? { ...described, type } : { ...described, type, enum: words };
    case "number":
    case "integer":
    case "boolean":
      return { ...described, type };
    default:
      throw new Error("A part of the shape has no JSON type");
  }
}
