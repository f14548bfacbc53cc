/**
 * Part of the gateway's stand-in for local use: which JSON schemas strict structured outputs accept, and how the
 * refusal of others is worded (platform.openai.com/docs/guides/structured-outputs, "Supported schemas").
 */

const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
/** Anything else is refused: `default`, `allOf`, `not`, `if`, limits of length, range, pattern and number. */
const KEYWORDS = [
  ...["type", "properties", "required", "additionalProperties", "items", "enum", "const"],
  ...["anyOf", "$ref", "$defs", "description", "title"],
];
const MAX_DEPTH = 5;
const MAX_PROPERTIES = 100;
/** Of all names and words together. */
const MAX_CHARACTERS = 15_000;

type Context = readonly (string | number)[];

/** Why a schema is refused, in the gateway's words; `null` if it is accepted. */
export function schemaProblem(name: string, schema: unknown): string | null {
  const problem = rootProblem(schema);
  return problem === null ? null : `Invalid schema for response_format '${name}': ${problem}`;
}

function rootProblem(schema: unknown): string | null {
  if (!isRecord(schema) || schema["type"] !== "object") {
    const type = isRecord(schema) && typeof schema["type"] === "string" ? schema["type"] : "None";
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${type}"'.`;
  }
  const size = { properties: 0, characters: 0 };
  const problem = nodeProblem(schema, [], 0, size);
  if (problem !== null) return problem;
  if (size.properties > MAX_PROPERTIES) return `the schema has more than ${MAX_PROPERTIES} properties.`;
  return size.characters > MAX_CHARACTERS ? "the names and words of the schema are too long." : null;
}

function nodeProblem(
  node: unknown,
  context: Context,
  depth: number,
  size: { properties: number; characters: number },
): string | null {
  const refuse = (text: string) => `In context=${tuple(context)}, ${text}`;
  if (!isRecord(node)) return refuse("schema must be an object.");
  const unknown = Object.keys(node).find((keyword) => !KEYWORDS.includes(keyword));
  if (unknown !== undefined) return refuse(`'${unknown}' is not permitted.`);
  if ("$ref" in node) return null;
  const options = node["anyOf"];
  if (Array.isArray(options)) {
    return firstOf(options, (option, index) =>
      nodeProblem(option, [...context, "anyOf", index], depth, size),
    );
  }
  const types = [node["type"]].flat();
  if (types[0] === undefined) return refuse("schema must have a 'type' key.");
  const wrong = types.find((type) => typeof type !== "string" || !TYPES.includes(type));
  if (wrong !== undefined) return refuse(`${JSON.stringify(wrong)} is not a valid type.`);
  if (Array.isArray(node["enum"])) size.characters += node["enum"].join("").length;
  if (types.includes("array")) {
    if (!("items" in node)) return refuse("array schema missing items.");
    return nodeProblem(node["items"], [...context, "items"], depth, size);
  }
  if (!types.includes("object")) return null;

  if (depth >= MAX_DEPTH) return refuse(`objects may be nested ${MAX_DEPTH} levels deep.`);
  if (node["additionalProperties"] !== false) {
    return refuse("'additionalProperties' is required to be supplied and to be false.");
  }
  const properties = isRecord(node["properties"]) ? node["properties"] : {};
  const required: unknown[] = Array.isArray(node["required"]) ? node["required"] : [];
  const names = Object.keys(properties);
  size.properties += names.length;
  size.characters += names.join("").length;
  const missing = names.find((one) => !required.includes(one));
  if (missing !== undefined) {
    return refuse(
      "'required' is required to be supplied and to be an array including every key in properties. " +
        `Missing '${missing}'.`,
    );
  }
  return firstOf(names, (one) =>
    nodeProblem(properties[one], [...context, "properties", one], depth + 1, size),
  );
}

function firstOf<Item>(items: readonly Item[], problem: (item: Item, index: number) => string | null) {
  for (const [index, item] of items.entries()) {
    const found = problem(item, index);
    if (found !== null) return found;
  }
  return null;
}

/** A path in the gateway's form: `('properties', 'signals')`. */
function tuple(context: Context): string {
  const parts = context.map((part) => (typeof part === "number" ? String(part) : `'${part}'`));
  return `(${parts.join(", ")}${parts.length === 1 ? "," : ""})`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
