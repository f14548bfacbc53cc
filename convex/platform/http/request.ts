import * as z from "zod";
import { AppError } from "../../lib/errors";
import { decodeText } from "../../lib/text/markup";
import { parseJson } from "../../lib/text/json";
import { cut, isNothing, TOO_LARGE } from "../../lib/text/strings";
import { isForm } from "./router";

/** The largest accepted request body, in bytes. */
const MAX_BODY_BYTES = 1024 * 1024;

/** A body as text. `flaw`: why it is not valid in its charset; the text then has replacement characters. */
type ReadBody = { text: string; flaw: string | null };

/** The request's body. @throws AppError `too_large` above 1 MiB, by its declared or its real length. */
export async function readRequestBody(request: Request): Promise<ReadBody> {
  const tooLarge = () => new AppError("too_large", "The request body must not be larger than 1 MiB");
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > MAX_BODY_BYTES) throw tooLarge();
  const type = request.headers.get("content-type") ?? "";
  const { text, isBroken, charset } = decodeText(new Uint8Array(bytes), type);
  const flaw = `The request body is not readable as ${cut(charset, 40)}: send it in UTF-8, or name its charset in Content-Type`;
  return { text, flaw: isBroken ? flaw : null };
}

/**
 * The raw input of a request: the query of a GET (or HEAD), the JSON object of a POST whatever its content type (no
 * body is `{}`), or a page's form. Lone surrogates, from clients that truncate text, become replacement characters.
 * @throws AppError `invalid_request` when the body is not a JSON object.
 */
export function readRawInput(request: Request, body: string, hasForm: boolean): Record<string, unknown> {
  if (request.method !== "POST") {
    // Links that were copied from a page's source have `&amp;` between their fields.
    const fields = [...new URL(request.url).searchParams];
    return Object.fromEntries(fields.map(([name, value]) => [name.replace(/^amp;/, ""), value]));
  }
  if ((hasForm && isForm(request)) || isEncodedForm(request, body))
    return Object.fromEntries(new URLSearchParams(body));
  return parseBodyInput(body);
}

const EXAMPLE = 'such as {"token":"BTC"}';

/** Whether a body is the fields of a form; many clients name that type for JSON. */
function isEncodedForm({ headers }: Request, body: string): boolean {
  const isNamed = /^\s*application\/x-www-form-urlencoded/i.test(headers.get("content-type") ?? "");
  return isNamed && /^[\w.%[\]-]{1,100}=/.test(body);
}

/** The raw input of a POST. @throws AppError `invalid_request` */
export function parseBodyInput(body: string): Record<string, unknown> {
  if (body.trim() === "") return {};
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch {
    throw new AppError("invalid_request", `The request body is not valid JSON, ${EXAMPLE}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new AppError("invalid_request", `The request body must be a JSON object, ${EXAMPLE}`);
  }
  return { ...parsed };
}

/**
 * Refuses fields in the address of a POST to a closed shape, because ignoring them (above all `dryRun`) could move
 * money that its caller meant to keep.
 * @throws AppError `invalid_request` naming the fields.
 */
export function refuseInAddress(shape: z.ZodType, request: Request): void {
  const isClosed = shape instanceof z.ZodObject && shape.def.catchall instanceof z.ZodNever;
  const names = [...new URL(request.url).searchParams.keys()];
  if (!isClosed || request.method !== "POST" || names.length === 0) return;
  const are = names.length === 1 ? "is" : "are";
  throw new AppError(
    "invalid_request",
    `${formatNames(names)} ${are} in the address: where money moves, every field belongs in the JSON body`,
  );
}

/** Field names in a form that is safe to repeat in an answer. */
function formatNames(names: readonly string[]): string {
  const shownNames = names.slice(0, MOST_NAMES).map((name) => cut(name, 40).replace(/[^\x20-\x7e]/g, "?"));
  const more = names.length - shownNames.length;
  return shownNames.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const MOST_NAMES = 20;

/** The fields that have a value. Unknown fields stay, for schemas that refuse them. */
function dropAbsent(shape: z.ZodType, raw: Record<string, unknown>): Record<string, unknown> {
  const isField = (name: string) => !(shape instanceof z.ZodObject) || Object.hasOwn(shape.shape, name);
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
  let given = dropAbsent(shape, raw);
  const parse = () => shape.safeParse(given, { reportInput: true, error: describeIssue });
  let parsed = parse();
  for (let turn = 0; !parsed.success && turn < MAX_NESTING; turn++) {
    const meant = coerceFields(
      given,
      parsed.error.issues.map((issue) => toSentIssue(shape, given, issue)),
    );
    if (meant === null) break;
    given = meant;
    parsed = parse();
  }
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const [name, ...inner] = issue?.path ?? [];
  const refuse = (problem: string) => new AppError("invalid_request", problem);
  // Ignoring an unknown field of an order could move money that its caller meant to keep.
  if (issue?.code === "unrecognized_keys" && shape instanceof z.ZodObject) {
    const are = issue.keys.length === 1 ? "is not a field" : "are not fields";
    if (name !== undefined) throw refuse(`${formatNames(issue.keys)} ${are} of ${String(name)}`);
    const fields = Object.keys(shape.shape).join(", ");
    throw refuse(`${formatNames(issue.keys)} ${are} here, where money moves: there are ${fields}`);
  }
  if (issue === undefined || name === undefined) throw refuse(`The input ${issue?.message ?? MALFORMED}`);
  const isMissing = ({ input }: z.core.$ZodIssue) => input === undefined || input === null;
  const missing = parsed.error.issues.filter((one) => isMissing(one) && one.path.length === 1);
  if (isMissing(issue) && missing.length > 1)
    throw refuse(`${formatNames(missing.map(({ path }) => String(path[0])))} are required`);
  const field = [getSentName(shape, given, String(name)), ...inner].join(".");
  throw refuse(`${field} ${isMissing(issue) ? "is required" : issue.message}`);
}

/** An issue with its field under the name that was sent. */
function toSentIssue(
  shape: z.ZodType,
  given: Record<string, unknown>,
  issue: z.core.$ZodIssue,
): z.core.$ZodIssue {
  const [name, ...inner] = issue.path;
  return name === undefined ? issue : { ...issue, path: [getSentName(shape, given, String(name)), ...inner] };
}

const aliased = z.object({ aliases: z.record(z.string(), z.string()) });

/** The sent name of a field: its own, or an alias. */
function getSentName(shape: z.ZodType, raw: Record<string, unknown>, name: string): string {
  if (raw[name] !== undefined) return name;
  const aliases = Object.entries(aliased.safeParse(shape.meta()).data?.aliases ?? {});
  return aliases.find(([alias, of]) => of === name && raw[alias] !== undefined)?.[0] ?? name;
}

type Fields = Record<string, unknown>;

/** The accepted levels of JSON text inside JSON text. */
const MAX_NESTING = 4;

/**
 * The input with values of a wrong type coerced to the expected one; `null` if none can be. Clients, above all language
 * models, send a list as JSON text, a number as text and an id of digits as a number; a query has only text. A value becomes
 * the type that its schema expects only if it is unambiguous.
 * @param issues The schema's issues, with the fields' names as they were sent.
 * @throws AppError `invalid_request` for a number that has lost its digits.
 */
function coerceFields(input: Fields, issues: readonly z.core.$ZodIssue[]): Fields | null {
  const read: Fields = {};
  for (const issue of issues) {
    const [first, ...inner] = issue.path;
    if (issue.code !== "invalid_type" || first === undefined) continue;
    const meant = coerce(issue.input, issue.expected, issue.path);
    const name = String(first);
    if (meant !== undefined) read[name] = withValue(read[name] ?? input[name], inner, meant);
  }
  return Object.keys(read).length === 0 ? null : { ...input, ...read };
}

function coerce(value: unknown, expected: string, path: readonly PropertyKey[]): unknown {
  if (expected === "string") return parseDigits(value, path);
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (expected === "boolean") return { true: true, false: false }[text.toLowerCase()];
  if (expected === "number" || expected === "int")
    return /^-?\d{1,16}(?:\.\d{1,16})?$/.test(text) ? Number(text) : undefined;
  return expected === "array" || expected === "object" ? parseNested(text, expected) : undefined;
}

function parseDigits(value: unknown, path: readonly PropertyKey[]): string | undefined {
  if (!Number.isInteger(value)) return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  throw new AppError("invalid_request", `${path.map(String).join(".")} ${TOO_LARGE}`);
}

/** The list or object in a JSON text. */
function parseNested(text: string, expected: "array" | "object"): unknown {
  if (!text.startsWith(expected === "array" ? "[" : "{")) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** A copy with another value at the path. The rest is shared with the request's input, and stays unchanged. */
function withValue(within: unknown, [name, ...inner]: readonly PropertyKey[], value: unknown): unknown {
  if (name === undefined) return value;
  if (typeof within !== "object" || within === null) return within;
  const copy: object = Array.isArray(within) ? within.slice() : { ...within };
  Reflect.set(copy, name, withValue(Reflect.get(within, name), inner, value));
  return copy;
}

const MALFORMED = "is malformed";

/** The problem as the end of the sentence "<field> …", for schemas without a message of their own. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "boolean" ? "must be true or false" : `must be of type ${issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}`;
    case "too_big":
      return `must be at most ${issue.maximum} (${issue.origin})`;
    case "too_small":
      return `must be at least ${issue.minimum} (${issue.origin})`;
    case "invalid_union":
      return Array.isArray(issue.options)
        ? `must be one of ${issue.options.map(String).join(", ")}`
        : MALFORMED;
    default:
      return MALFORMED;
  }
}

/** Callers with an unknown address count as one. */
const UNKNOWN = "unknown";

type AddressSources = {
  /**
   * The platform's value: of Convex's own edge in the cloud, or of the first entry of `X-Forwarded-For` on a
   * self-hosted backend.
   */
  platform: string | null;
  /** The header `X-Forwarded-For`. Each proxy appends its caller on the right; the caller could have written the rest. */
  forwardedFor: string | null;
  /** The number of the operator's proxies before the deployment; 0 if the platform's value can be trusted. */
  hops: number;
};

/**
 * The caller's network address: an IPv4 address unchanged, an IPv6 address as its /64 network, the size of one
 * customer's network.
 */
export function getCallerAddress({ platform, forwardedFor, hops }: AddressSources): string {
  if (hops === 0 || forwardedFor === null) return maskNetwork(platform ?? "");
  const entries = forwardedFor.split(",");
  return maskNetwork(entries[Math.max(0, entries.length - hops)] ?? "");
}

function maskNetwork(entry: string): string {
  // Some proxies write `[2001:db8::1]:443` and `192.0.2.1:443`, some a zone.
  const [, inBrackets, plain = ""] = /^(?:\[([^\]]*)\](?::\d+)?|(.*))$/.exec(entry.trim().slice(0, 64)) ?? [];
  const [, ipv4] = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d+)?$/.exec(plain) ?? [];
  const url = `http://${ipv4 ?? `[${(inBrackets ?? plain).split("%", 1)[0] ?? ""}]`}`;
  if (!URL.canParse(url)) return UNKNOWN;
  const { hostname } = new URL(url);
  if (ipv4 !== undefined) return hostname;
  // The parser writes the longest run of zeros as "::", and a mapped IPv4 address as two groups.
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const groups = [...before, ...zeros, ...after];
  if (groups.slice(0, 6).join(":") !== "0:0:0:0:0:ffff") return `${groups.slice(0, 4).join(":")}::/64`;
  const pairs = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return pairs.flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
}
