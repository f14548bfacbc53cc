import * as z from "zod";
import { AppError } from "../errors";
import { namesGivenTwice, parseJson } from "../text/json";
import { cut } from "../text/strings";
import { isForm } from "./router";

/** The largest accepted request body, in bytes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** The request's body as text, read up to the limit. @throws AppError `too_large` above 1 MiB, by its declared or its real length. */
export async function readBody(request: Request): Promise<string> {
  const tooLarge = () => new AppError("too_large", "The request body must not be larger than 1 MiB");
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  if (request.body === null) return "";
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_BODY_BYTES) {
      await reader.cancel();
      throw tooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * The raw input of a request: its query for GET (and HEAD), its JSON object for POST (no body is `{}`), whatever its
 * content type; the form of a page. Half characters, which clients produce by cutting texts, become the replacement character.
 * @throws AppError `invalid_request` when the body is not a JSON object.
 */
export function rawInput(request: Request, body: string, hasForm: boolean): Record<string, unknown> {
  if (request.method !== "POST") return Object.fromEntries(new URL(request.url).searchParams);
  if (hasForm && isForm(request)) return Object.fromEntries(new URLSearchParams(body));
  return bodyInput(body);
}

/** The raw input of a POST. @throws AppError `invalid_request` */
export function bodyInput(body: string): Record<string, unknown> {
  if (body.trim() === "") return {};
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    throw new AppError("invalid_request", "The request body is not valid JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new AppError("invalid_request", "The request body must be a JSON object");
  }
  return { ...parsed };
}

/**
 * For closed shapes: refuses a POST with a field in its address, or with a field twice, because ignoring either (above
 * all `dryRun`) would change what moves.
 * @throws AppError `invalid_request` naming the fields.
 */
export function refuseAmbiguous(shape: z.ZodType, request: Request, body: string): void {
  const isClosed = shape instanceof z.ZodObject && shape.def.catchall instanceof z.ZodNever;
  if (!isClosed || request.method !== "POST") return;
  const refuse = (names: readonly string[], where: string, rule: string) => {
    if (names.length === 0) return;
    const are = names.length === 1 ? "is" : "are";
    throw new AppError("invalid_request", `${namesShown(names)} ${are} ${where}: where money moves, ${rule}`);
  };
  const inAddress = [...new URL(request.url).searchParams.keys()];
  refuse(inAddress, "in the address", "every field belongs in the JSON body");
  refuse(namesGivenTwice(body), "in the body more than once", "every field may stand there once");
}

/** Names of fields, safe to repeat in an answer. */
function namesShown(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).map((name) => cut(name, 40).replace(/[^\x20-\x7e]/g, "?"));
  const more = names.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const MOST_NAMES = 20;

/** What clients send for a field that they leave out: `null`, or its name in a programming language. */
const NOTHING: ReadonlySet<unknown> = new Set([null, "null", "undefined", "None", "NaN", "[object Object]"]);

/** The fields that have a value. Unknown ones stay, for shapes that refuse them. */
function present(shape: z.ZodType, raw: Record<string, unknown>): Record<string, unknown> {
  const isField = (name: string) => !(shape instanceof z.ZodObject) || Object.hasOwn(shape.shape, name);
  const isNothing = (value: unknown) => NOTHING.has(typeof value === "string" ? value.trim() : value);
  return Object.fromEntries(
    Object.entries(raw).filter(([name, value]) => !isNothing(value) || !isField(name)),
  );
}

/**
 * Checks the raw input against an endpoint's schema.
 * @throws AppError `invalid_request` naming the fields that are missing, or the first one that is malformed.
 */
export function parseInput<Shape extends z.ZodType>(
  shape: Shape,
  raw: Record<string, unknown>,
): z.output<Shape> {
  const given = present(shape, raw);
  const parsed = shape.safeParse(given, { reportInput: true, error: problemOf });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const [name, ...inner] = issue?.code === "unrecognized_keys" ? issue.keys : (issue?.path ?? []);
  if (issue === undefined || name === undefined) {
    throw new AppError("invalid_request", `The input ${issue?.message ?? MALFORMED}`);
  }
  if (issue.code === "unrecognized_keys") {
    throw new AppError("invalid_request", `${namesShown(issue.keys)} ${issue.message}`);
  }
  const isMissing = ({ input }: z.core.$ZodIssue) => input === undefined || input === null;
  const missing = parsed.error.issues.filter((one) => isMissing(one) && one.path.length === 1);
  if (isMissing(issue) && missing.length > 1)
    throw new AppError(
      "invalid_request",
      `${namesShown(missing.map(({ path }) => String(path[0])))} are required`,
    );
  const field = [nameSent(shape, given, String(name)), ...inner].join(".");
  throw new AppError("invalid_request", `${field} ${isMissing(issue) ? "is required" : issue.message}`);
}

const MALFORMED = "is malformed";

const KINDS: Readonly<Record<string, string>> = {
  object: "an object",
  array: "an array",
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
};

const UNITS: Readonly<Record<string, string>> = { string: "characters", array: "items" };

/** Completes the sentence "<field> …" if a schema has no message of its own. */
function problemOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${KINDS[issue.expected] ?? "of another kind"}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}`;
    case "too_big":
    case "too_small": {
      const [bound, limit] =
        issue.code === "too_big" ? ["at most", issue.maximum] : ["at least", issue.minimum];
      const unit = UNITS[issue.origin];
      return unit === undefined ? `must be ${bound} ${limit}` : `must have ${bound} ${limit} ${unit}`;
    }
    case "unrecognized_keys":
      return `must not hold ${issue.keys.join(", ")}`;
    default:
      return MALFORMED;
  }
}

const aliased = z.object({ aliases: z.record(z.string(), z.string()) });

/** The name under which a field was sent: its own, or an alias. */
function nameSent(shape: z.ZodType, raw: Record<string, unknown>, name: string): string {
  if (raw[name] !== undefined) return name;
  const { data } = aliased.safeParse(shape.meta());
  return (
    Object.entries(data?.aliases ?? {}).find(([alias, of]) => of === name && raw[alias] !== undefined)?.[0] ??
    name
  );
}
