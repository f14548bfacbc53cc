import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { endpoints } from "../../convex/endpoints";
import { tools, type Tool, type ToolSchemas } from "../../convex/tools/list";
import { toJsonSchema } from "./jsonSchema";

/**
 * The tools' endpoints' schemas in a form for models; some clients validate with them. For the service itself they are a
 * module of `convex/`: making them evaluates every endpoint, which no request should.
 */

export function buildToolSchemas(of: readonly Tool[] = tools): ToolSchemas {
  const schemas = of.map(({ name, method, path, withheld }) => {
    const found = endpoints.find((one) => one.path === path && one.methods.includes(method));
    if (found === undefined) throw new Error(`${name}: the service has no ${method} ${path}`);
    const { input, returns } = found;
    return [
      name,
      { inputSchema: buildInputSchema(input, withheld), outputSchema: buildOutputSchema(returns) },
    ] as const;
  });
  return Object.fromEntries(schemas);
}

const field = z.record(z.string(), z.json());
const objectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), field).default({}),
  required: z.array(z.string()).optional(),
});
type ObjectSchema = z.output<typeof objectSchema>;

/** Fields that many tools share: the instructions explain them once for all. */
const SHARED: Readonly<Record<string, string>> = {
  userId: "The person's secret id, a bearer secret: the same in every call.",
  idempotencyKey: "Repeating a call with the same key returns its first outcome.",
};

/**
 * The input that a model should send. The endpoint checks lengths itself; a model only needs keywords that every client
 * understands.
 */
function buildInputSchema(schema: z.ZodType, withheld: readonly string[] = []): ObjectSchema {
  const { properties, ...rest } = objectSchema.parse(toJsonSchema(schema, "input"));
  const shown = Object.entries(properties).filter(([name]) => !withheld.includes(name));
  const proper = shown.map(([name, given]): [string, unknown] => {
    const description = SHARED[name];
    return [name, { ...getProperForm(given), ...(description === undefined ? {} : { description }) }];
  });
  // Other names of a field, which earlier prompts use, are fields: a strict client would drop them.
  const aliases = Object.entries(aliased.safeParse(schema.meta()).data?.aliases ?? {}).map(
    ([alias, name]): [string, unknown] => [alias, { type: "string", description: `The same as ${name}.` }],
  );
  const fields = Object.fromEntries([...proper, ...aliases]);
  return objectSchema.parse({ ...rest, properties: fields, additionalProperties: false });
}

const aliased = z.object({ aliases: z.record(z.string(), z.string()) });

/** A field's proper form, without the other accepted spellings, lengths, and patterns that only JavaScript reads. */
function getProperForm(schema: z.output<typeof field>): z.output<typeof field> {
  const { anyOf, pattern, minLength: _least, maxLength: _most, ...rest } = schema;
  const listed = z.array(field).safeParse(anyOf).data ?? [];
  const [first] = listed.filter((one) => one.const !== "");
  if (first !== undefined) {
    const proper = { ...getProperForm(first), ...rest };
    // An empty text clears the setting, so it must get through.
    if (listed.some((one) => one.const === "")) delete proper.pattern;
    return proper;
  }
  const inner = z.record(z.string(), field).safeParse(rest.properties);
  if (inner.success) return { ...rest, additionalProperties: false };
  const items = field.safeParse(rest.items);
  if (items.success) return { ...rest, items: getProperForm(items.data) };
  const isPlain = typeof pattern === "string" && !pattern.includes(String.raw`\u`);
  return isPlain ? { ...rest, pattern } : rest;
}

const answerFields = z.record(z.string(), z.looseObject({ type: z.unknown().optional() })).default({});
const answerSchema = z.looseObject({
  properties: answerFields,
  anyOf: z.array(z.looseObject({ properties: answerFields })).default([]),
});

/** What the proxy adds to answers. */
const ADDED = {
  notices: { type: "array", items: { type: "string" } },
  nothingMoved: { type: "boolean" },
  error: { type: "string" },
};

/**
 * What an answer holds: the names and plain types of its fields. A model pays for it at every start of a chat, so the
 * rest is in the API document. An answer that failed has none of them but `error`.
 */
function buildOutputSchema(schema: z.ZodType): ObjectSchema {
  const { properties, anyOf } = answerSchema.parse(toJsonSchema(schema, "output"));
  const shapes = [properties, ...anyOf.map((one) => one.properties)];
  const own = shapes.flatMap((fields) =>
    Object.entries(fields).map(([name, { type }]): [string, unknown] => {
      const isSame = shapes.every((others) => others[name] === undefined || others[name].type === type);
      return [name, typeof type === "string" && isSame ? { type } : {}];
    }),
  );
  return objectSchema.parse({ type: "object", properties: { ...Object.fromEntries(own), ...ADDED } });
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(
    fileURLToPath(new URL("../../convex/tools/schemas.ts", import.meta.url)),
    [
      "/** Build output: written by `npm run build` and `npm run codegen`, and not in the repository. */",
      `export const SCHEMAS: import("./list").ToolSchemas = ${JSON.stringify(buildToolSchemas())};`,
      "",
    ].join("\n\n"),
  );
