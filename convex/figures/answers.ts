import * as z from "zod";
import { extractJson, parseWholeJson } from "../lib/text/json";
import { removeForeignLinksDeep } from "../lib/text/markup";
import { groupBy } from "../lib/objects";
import { cut } from "../lib/text/strings";

/**
 * The JSON schema for a model's answer, and its parser: tolerant of form (code fences and prose around it, keys and words
 * in another case, numbers as text, extra keys), strict in everything else.
 */

/** The largest plausible value; a larger number is a mistake in the unit. */
const MAX_USD = 1e15;

/** A price or a worth in USD: positive. */
export const positiveUsd = z.number().positive().max(MAX_USD);

/** The same, where it may be unknown: a number that cannot be a value counts as unknown. */
export const usdOrNull = z
  .number()
  .nullable()
  .overwrite((value) => (positiveUsd.safeParse(value).success ? value : null));

/** A rank: 1, 2, 3, … */
export const rank = z.number().int().positive();

const short = (max: number, clean = (text: string) => text) =>
  z
    .string()
    .overwrite((value) => clean(value.toWellFormed()))
    .trim()
    .min(1)
    .overwrite((value) => (value.length <= max ? value : `${cut(value, max - 1).trimEnd()}…`));

/** A short text, trimmed, never empty, and well-formed whatever escapes it contained. */
export const shortText = (max: number) => short(max);

/** A short text on one line, so that it cannot imitate other lines of a message. */
export const shortLine = (max: number) => short(max, (value) => value.replace(/\s+/g, " "));

/** A token symbol as models write it: `btc`, `$BTC` and `BTC` alike; as long as a list of coins may have it. */
export const symbol = z
  .string()
  .overwrite((value) => value.toWellFormed().trim().replace(/^\$/, "").toUpperCase())
  .min(1)
  .max(40);

/** The keywords that strict structured outputs support; the parser checks the rest. */
const KEYWORDS = new Set(
  "type properties required additionalProperties items anyOf enum description".split(" "),
);

/** A shape as a JSON schema for strict structured outputs. @throws Error for a part that has none. */
export function toWireSchema(shape: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, {
    override: ({ jsonSchema }) => {
      for (const keyword of Object.keys(jsonSchema)) if (!KEYWORDS.has(keyword)) delete jsonSchema[keyword];
    },
  });
  return schema;
}

/** The form of an answer, for the prompt, because a gateway may drop the schema: without what a sentence says once. */
export const describeSchema = (schema: Record<string, unknown>): string =>
  "Answer with one JSON object of this JSON schema and nothing else: every key present and no other, numbers plain (no " +
  `units or separators).\n${JSON.stringify(schema, (key, value: unknown) => (IMPLIED.has(key) ? undefined : value))}`;

const IMPLIED = new Set(["required", "additionalProperties"]);

type Reading<Value> = { value: Value } | { problem: string };

/**
 * Reads the JSON value in a text: of several that fit the shape the last, because writers correct themselves; without
 * links and addresses that are not in `context`. `problem` names everything that is wrong.
 * @param context The prompt, and what its sources cite.
 */
export function parseAnswer<Shape extends z.ZodType>(
  shape: Shape,
  answer: string,
  context: string,
): Reading<z.output<Shape>> {
  const readings = extractJson(answer)
    .slice(-MOST_VALUES)
    .map((json) => (shape instanceof z.ZodObject && Array.isArray(json) ? unwrapList(json) : json))
    .map((json) => readValue(shape, removeForeignLinksDeep(json, context)));
  const fitting = readings.findLast((reading) => "value" in reading);
  // Brackets in the prose around an answer are values as well: the one with the fewest faults is the answer.
  const [closest] = readings.toSorted((a, b) => countFaults(a) - countFaults(b));
  return fitting ?? closest ?? { problem: "it holds no complete JSON value" };
}

/** The one object, also as text, in a list around an answer; the list itself for any other list. */
function unwrapList(list: unknown[]): unknown {
  const [only, ...others] = list.flat(2).map((one) => (typeof one === "string" ? parseWholeJson(one) : one));
  return others.length === 0 && isObject(only) ? only : list;
}

/** The last of more: prose may cite sources in brackets without end. */
const MOST_VALUES = 100;

function countFaults(reading: Reading<unknown>): number {
  return "problem" in reading ? reading.problem.split("; ").length : 0;
}

/** The most faults that are named. */
const NAMED = 20;

/** The same for a value that is JSON already. */
export function readValue<Shape extends z.ZodType>(shape: Shape, json: unknown): Reading<z.output<Shape>> {
  const parsed = shape.safeParse(fitToShape(unwrapAnswer(json, shape), shape));
  if (parsed.success) return { value: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "value"}: ${message}`);
  const more = problems.length - NAMED;
  return { problem: problems.slice(0, NAMED).join("; ") + (more > 0 ? `; and ${more} more` : "") };
}

const MAX_ENVELOPES = 5;

/**
 * `{"result": {…}}`, `{"tool_calls": [{"function": {"arguments": "{…}"}}]}`: the one value in envelopes of any names that
 * has a key of the answer; `undefined` for none, or for several.
 */
function unwrapAnswer(json: unknown, shape: z.ZodType, depth = 0): unknown {
  if (!(shape instanceof z.ZodObject) || (depth === 0 && !isObject(json))) return json;
  const value = typeof json === "string" ? parseWholeJson(json) : json;
  if (depth > MAX_ENVELOPES || typeof value !== "object" || value === null) return undefined;
  const expected = new Set(Object.keys(shape.shape).map(toBareKey));
  if (isObject(value) && Object.keys(value).some((name) => expected.has(toBareKey(name)))) return value;
  const inner = Object.values(value)
    .slice(0, MOST_VALUES)
    .map((one: unknown) => unwrapAnswer(one, shape, depth + 1));
  const [found, ...others] = inner.filter((one) => one !== undefined);
  return others.length === 0 ? found : undefined;
}

/** The value with keys, words and numbers spelled as in the shape. What does not fit stays, and is refused later. */
function fitToShape(value: unknown, shape: z.core.$ZodType): unknown {
  if (shape instanceof z.ZodNullable) {
    const inner = shape.unwrap();
    if (value === undefined || value === null || (typeof value === "string" && NOTHING.test(value.trim())))
      return null;
    const read = fitToShape(value, inner);
    // A figure that cannot be read is unknown.
    return inner instanceof z.ZodNumber && typeof read === "string" ? null : read;
  }
  const isNested = shape instanceof z.ZodArray || shape instanceof z.ZodObject;
  if (isNested && typeof value === "string") {
    const written = parseWholeJson(value);
    if (written !== undefined) return fitToShape(written, shape);
    return shape instanceof z.ZodArray
      ? splitList(value).map((item) => fitToShape(item, shape.element))
      : value;
  }
  if (shape instanceof z.ZodArray) {
    return listItems(value)?.map((item) => fitToShape(item, shape.element)) ?? value;
  }
  if (shape instanceof z.ZodObject && isObject(value)) {
    const keys = groupBy(Object.keys(value), toBareKey);
    const parts = Object.entries<z.core.$ZodType>(shape.shape);
    return Object.fromEntries(
      parts.map(([name, part]) => [name, fitToShape(getValue(value, name, keys), part)]),
    );
  }
  const only = isNested ? value : getOnlyValue(value, shape);
  if (only !== value) return fitToShape(only, shape);
  if (shape instanceof z.ZodNumber && typeof value === "string") return parseAmountText(value) ?? value;
  if (shape instanceof z.ZodBoolean && typeof value === "string")
    return { true: true, yes: true, false: false, no: false }[value.trim().toLowerCase()] ?? value;
  if (shape instanceof z.ZodEnum && typeof value === "string")
    return shape.options.find((word) => toBareKey(String(word)) === toBareKey(value)) ?? value;
  // A number where text is expected, unless it needs an exponent.
  if (shape instanceof z.ZodString && typeof value === "number")
    return String(value).includes("e") ? value : String(value);
  return value;
}

/** The items of what stands where a list belongs: a list, numbered entries, or a list in an envelope of one key. */
function listItems(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return Array.from<unknown>(value);
  if (!isObject(value)) return null;
  const entries = Object.entries(value);
  if (entries.length > 0 && entries.every(([name]) => /^\d{1,3}$/.test(name)))
    return entries.map(([, one]) => one);
  const [[, inner] = []] = entries;
  return entries.length === 1 && Array.isArray(inner) ? Array.from<unknown>(inner) : [value];
}

/** The items of a list that is written as lines, as symbols between commas, or as its only item. */
function splitList(written: string): string[] {
  const text = written.trim();
  if (text === "" || NOTHING.test(text)) return [];
  if (/^[\w$.-]{1,20}(?:, ?[\w$.-]{1,20})+$/.test(text)) return text.split(/, ?/);
  const lines = text.split("\n").map((line) => line.replace(/^\s*(?:[-*•]|\d{1,2}[.)])\s+/, "").trim());
  return lines.filter((line) => line !== "");
}

const ONLY = /^(?:value|text|content|answer|result|amount)$/i;
const UNIT = /^(?:usd|us ?dollars?|\$|%|percent)$/i;

/** The value in a list of one, in `{"value": …}`, or in paragraphs; what is anything else stays. */
function getOnlyValue(value: unknown, shape: z.core.$ZodType): unknown {
  if (Array.isArray(value) && value.length === 1) return value[0];
  if (Array.isArray(value) && shape instanceof z.ZodString && value.every((one) => typeof one === "string"))
    return value.join("\n\n");
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const [inner, ...others] = entries.filter(([name]) => ONLY.test(name));
  const isPlain = entries.every(([name, one]) => name === inner?.[0] || UNIT.test(String(one)));
  return inner !== undefined && others.length === 0 && isPlain ? inner[1] : value;
}

const NOTHING = /^(?:null|none|nil|n\/?a|unknown|[-–—]?)$/i;

/** The value of a key, or of the one key that differs only in spelling; with two such keys there is none. */
function getValue(value: Record<string, unknown>, name: string, keys: Map<string, string[]>): unknown {
  if (Object.hasOwn(value, name)) return value[name];
  const [key, ...others] = keys.get(toBareKey(name)) ?? [];
  return key === undefined || others.length > 0 ? undefined : value[key];
}

/** The same for all spellings of a key: `change24h`, `change_24h`, `Change 24H`. */
const toBareKey = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const FIGURE =
  /^([+-]?(?:[1-9]\d{0,2}(?:([ ,'’_])\d{3})(?:\2\d{3})*(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+))(?:e([+-]?\d{1,3})| ?(%|k|thousand|mn?|million|bn?|billion|tn?|trillion))?$/;

/**
 * The number in a text as English writes it: `$14.5M`, `1,234.50`, `12 %`, `USD 2 billion`.
 * @returns `undefined` for everything else: other units, ranges, words, and a figure such as `1,234M`, whose comma may
 * separate thousands or decimals.
 */
export function parseAmountText(written: string): number | undefined {
  const plain = written
    .replace(/[\uFF0B-\uFF19]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0))
    .replace(/[\u00A0\u2007\u2009\u202F]/g, " ")
    .trim()
    .toLowerCase()
    .replace(/(?: ?\[\^?f?\d{1,3}\]){1,9}$|(?<=\d)\.$/g, "")
    .replace(/^(?:[a-z]\w*\.)*(?:decimal|float\d*|int\d*|number)\(['"]?([^()'"]*)['"]?\)$/, "$1")
    .replace(/^[~≈=] ?/, "")
    .replace(/^\u2212/, "-")
    .replace(/^([+-]?)(?:us ?\$|\$|usd) ?/, "$1")
    .replace(/ ?(?:\$|usd|(?:us )?dollars)$/, "");
  const [, figure, , exponent, unit = "%"] = FIGURE.exec(plain) ?? [];
  if (figure === undefined) return undefined;
  const power = unit === "%" ? 0 : 3 * (1 + "kmbt".indexOf(unit.replace(/^th.*/, "k").charAt(0)));
  if (power > 0 && /^[+-]?\d{1,3},\d{3}$/.test(figure)) return undefined;
  // Shifted as text: multiplying would add the rounding of binary fractions.
  const amount = Number(`${figure.replace(/[ ,'’_]/g, "")}e${exponent ?? power}`);
  return Number.isFinite(amount) ? amount : undefined;
}
