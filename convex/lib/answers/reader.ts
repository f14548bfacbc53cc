import * as z from "zod";
import { jsonValues } from "../text/json";
import { inOwnWords } from "../text/prose";
import { amountIn } from "./amounts";
import { wireSchema, type ObjectSchema, type WireSchema } from "./schema";

/**
 * Reads a model's answer: tolerant of form (code fences and prose around it, keys and words in another case, numbers as
 * text, extra keys), strict in everything else.
 */

export type Reading<Value> = { value: Value } | { problem: string };

/**
 * Reads the JSON value in a text: of several that fit the shape the last, because writers correct themselves; without links and addresses that are not in `known`. `problem` names everything that
 * is wrong, each path once.
 * @param known The prompt, and what its sources cite.
 */
export function readAnswer<Shape extends z.ZodType>(
  shape: Shape,
  text: string,
  known: string,
): Reading<z.output<Shape>> {
  const readings = jsonValues(text).map((json) => readValue(shape, inOwnWords(json, known)));
  const fitting = readings.findLast((reading) => "value" in reading);
  // Brackets in the prose around an answer are values as well: the one with the fewest faults is the answer.
  const [closest] = readings.toSorted((a, b) => faults(a) - faults(b));
  return fitting ?? closest ?? { problem: "it holds no complete JSON value" };
}

function faults(reading: Reading<unknown>): number {
  return "problem" in reading ? reading.problem.split("; ").length : 0;
}

/** The same for a value that is JSON already. */
export function readValue<Shape extends z.ZodType>(shape: Shape, json: unknown): Reading<z.output<Shape>> {
  const schema = wireSchema(shape);
  const parsed = shape.safeParse(fitted(unwrapped(json, schema), schema));
  return parsed.success ? { value: parsed.data } : { problem: problemsOf(parsed.error) };
}

/** `{"result": {…}}`: a single extra key around the answer. */
function unwrapped(json: unknown, schema: ObjectSchema): unknown {
  if (!isObject(json)) return json;
  const [only, ...others] = Object.entries(json);
  if (only === undefined || others.length > 0) return json;
  const [name, inner] = only;
  const isKey = Object.keys(schema.properties).some((one) => sameWord(one, name));
  return !isKey && isObject(inner) ? inner : json;
}

/** The value with keys, words and numbers spelled as in the schema. What does not fit stays, and is refused later. */
function fitted(value: unknown, schema: WireSchema): unknown {
  if ("anyOf" in schema) {
    const [inner] = schema.anyOf;
    if (value === undefined || isNothing(value)) return null;
    const read = fitted(value, inner);
    const isNumber = "type" in inner && (inner.type === "number" || inner.type === "integer");
    // A figure that cannot be read is unknown.
    return isNumber && typeof read === "string" ? null : read;
  }
  switch (schema.type) {
    case "object":
      return isObject(value) ? fittedObject(value, schema) : value;
    case "array":
      return Array.isArray(value) ? value.map((item: unknown) => fitted(item, schema.items)) : value;
    case "number":
    case "integer":
      return typeof value === "string" ? (amountIn(value) ?? value) : value;
    case "string": {
      const text = typeof value === "number" ? plainDecimal(value) : value;
      if (!("enum" in schema) || typeof text !== "string") return text;
      return schema.enum.find((word) => sameWord(word, text)) ?? text;
    }
    default:
      return value;
  }
}

function fittedObject(value: Record<string, unknown>, schema: ObjectSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, part]) => [name, fitted(valueAt(value, name), part)]),
  );
}

/** The value of a key, or of the one key that differs only in spelling; with two such keys there is none. */
function valueAt(value: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(value, name)) return value[name];
  const alike = Object.keys(value).filter((key) => sameWord(key, name));
  const [key] = alike;
  return key === undefined || alike.length > 1 ? undefined : value[key];
}

/** Whether two keys are the same word: `change24h`, `change_24h`, `Change 24H`. */
function sameWord(a: string, b: string): boolean {
  const bare = squashed(a);
  return bare !== "" && bare === squashed(b);
}

function squashed(word: string): string {
  return word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

function isNothing(value: unknown): boolean {
  return (
    value === null ||
    (typeof value === "string" && /^(?:null|none|nil|n\/?a|unknown|[-–—]?)$/i.test(value.trim()))
  );
}

/** A number where text is expected, as a person would write it; one that needs an exponent stays a number. */
function plainDecimal(value: number): string | number {
  const text = String(value);
  return text.includes("e") ? value : text;
}

/** Every problem, each path once; list items with the same problem are named together. */
function problemsOf(error: z.ZodError): string {
  const byPath = new Map<string, { message: string; places: number[] }>();
  for (const { path, message } of error.issues) {
    const place = path.findLast((part) => typeof part === "number");
    const at = path.lastIndexOf(place ?? "");
    const name = path.map((part, index) => written(part, index === at ? PLACES : String(part))).join("");
    const known = byPath.get(name) ?? { message, places: [] };
    if (place !== undefined) known.places.push(place);
    byPath.set(name, known);
  }
  return [...byPath]
    .map(([name, { message, places }]) => {
      const path = name.replace(PLACES, listed(places)).replace(/^\./, "");
      return `${path === "" ? "value" : path}: ${message}`;
    })
    .join("; ");
}

/** Placeholder for list indexes until all are known; no key of a schema contains it. */
const PLACES = "\u0000";
/** Further ones are only counted. */
const NAMED_PLACES = 8;

function written(part: PropertyKey, text: string): string {
  return typeof part === "number" ? `[${text}]` : `.${text}`;
}

/** `0, 1, 2 and 17 more` */
function listed(places: readonly number[]): string {
  const more = places.length - NAMED_PLACES;
  const first = places.slice(0, NAMED_PLACES).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
