import * as z from "zod";
import { jsonSchemaOf } from "../../convex/lib/http/jsonSchema";

const objectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.record(z.string(), z.json())).default({}),
  required: z.array(z.string()).optional(),
});
type ObjectSchema = z.output<typeof objectSchema>;

/** The endpoints' schemas in a form for chat clients: they pass them to models, and some validate with them. */

/**
 * The input that a model should send. The endpoint checks lengths itself; a model only needs keywords that every client
 * understands.
 */
export function inputSchema(schema: z.ZodType): ObjectSchema {
  const { properties, ...rest } = objectSchema.parse(jsonSchemaOf(schema, "input"));
  const proper = Object.entries(properties).map(
    ([name, property]) => [name, { ...properOf(property), ...wordsOf(name, property) }] as const,
  );
  return objectSchema.parse({ ...rest, properties: Object.fromEntries(proper) });
}

/** Descriptions of fields that many tools share: the instructions explain them once for all. */
const SHARED = [
  {
    field: "userId",
    meant: /only credential/,
    words: "The person's secret id, a bearer secret: the same in every call.",
  },
  {
    field: "idempotencyKey",
    meant: /first outcome/,
    words: "Repeating a call with the same key returns its first outcome.",
  },
  {
    field: "token",
    meant: /whole market\.$/,
    words: "Symbol or name of the token to focus on; omit for the whole market.",
  },
];

function wordsOf(name: string, { description }: Record<string, unknown>): { description?: string } {
  if (typeof description !== "string") return {};
  const shared = SHARED.find(({ field, meant }) => field === name && meant.test(description));
  return shared === undefined ? {} : { description: shared.words };
}

const anySchema = z.record(z.string(), z.unknown());
const alternatives = z.array(anySchema);

/** A field's proper form, without the other accepted spellings. */
function properOf(schema: Record<string, unknown>): Record<string, unknown> {
  const { anyOf, ...annotations } = schema;
  if (anyOf === undefined) return readable(schema);
  const listed = alternatives.parse(anyOf);
  const [first] = listed.filter((one) => one.const !== "");
  if (first === undefined) return readable(schema);
  const proper = { ...properOf(first), ...annotations };
  // An empty text clears the setting, so it must get through.
  if (listed.some((one) => one.const === "")) delete proper.pattern;
  return proper;
}

/** Without lengths, and without patterns in a dialect that only JavaScript reads. */
function readable(schema: Record<string, unknown>): Record<string, unknown> {
  const { pattern, minLength: _least, maxLength: _most, ...rest } = schema;
  if (typeof pattern !== "string" || pattern.includes(String.raw`\p{`)) return rest;
  return { ...rest, pattern };
}

/**
 * What an answer holds: the names and plain types of its fields. A model pays for it at every start of a chat, so the
 * rest is in the API document. An answer that failed has none of them but `error`.
 */
export function outputSchema(schema: z.ZodType): ObjectSchema {
  const { properties = {}, anyOf = [] } = answerSchema.parse(jsonSchemaOf(schema, "output"));
  const alternatives = [properties, ...anyOf.map((one) => one.properties ?? {})];
  const own = alternatives
    .flatMap((fields) => Object.entries(fields))
    .map(([name, { type }]) => {
      const isSame = alternatives.every((fields) => fields[name] === undefined || fields[name].type === type);
      return [name, typeof type === "string" && isSame ? { type } : {}] as const;
    });
  return objectSchema.parse({ type: "object", properties: { ...Object.fromEntries(own), ...NOTICED } });
}

const answerFields = z.record(z.string(), z.looseObject({ type: z.unknown().optional() })).optional();
const answerSchema = z.looseObject({
  properties: answerFields,
  anyOf: z.array(z.looseObject({ properties: answerFields })).optional(),
});

/** What the proxy adds to answers. */
const NOTICED = {
  notices: { type: "array", items: { type: "string" } },
  nothingMoved: { type: "boolean" },
  error: { type: "string" },
};
