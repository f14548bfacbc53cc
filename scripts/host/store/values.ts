import { compareValues, convexToJson, jsonToConvex, CommitTsPlaceholder, type Value } from "convex/values";
import * as z from "zod";

/** Values as the platform accepts and stores them: what it refuses, copies, sizes and order. */

export type Fields = Record<string, Value | undefined>;
export type Document = Fields & { _id: string; _creationTime: number };

/** The platform's limits of one value; a document may be 1 MiB, arguments and results 16 MiB. */
const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_VALUE_BYTES = 16 * 1024 * 1024;
const MAX_ARRAY = 8_192;
const MAX_FIELDS = 1_024;
const MAX_DOCUMENT_NESTING = 16;
const MAX_VALUE_NESTING = 64;

const anyValue = z.custom<Value>();

/** A copy in the making: what it would take to store or to send. */
class Copying {
  bytes = 0;

  /** @param sorted Whether fields of objects are put in order, as in a store. */
  constructor(readonly sorted: boolean) {}

  of(value: unknown, depth: number): Value {
    switch (typeof value) {
      case "string":
        this.bytes += 2 + textBytes(value);
        return value;
      case "number":
        this.bytes += 9;
        return value;
      case "boolean":
        this.bytes += 1;
        return value;
      case "bigint":
        if (BigInt.asIntN(64, value) !== value)
          throw new Error(`BigInt ${value} does not fit into a 64-bit signed integer.`);
        this.bytes += 9;
        return value;
      case "object":
        return value === null ? this.#null() : this.#object(value, depth);
      default:
        throw new Error(`${typeof value} is not a valid Convex value.`);
    }
  }

  #null(): null {
    this.bytes += 1;
    return null;
  }

  #object(value: object, depth: number): Value {
    if (depth >= MAX_VALUE_NESTING) throw new Error(`Value is too nested (maximum ${MAX_VALUE_NESTING})`);
    if (Array.isArray(value)) {
      if (value.length > MAX_ARRAY)
        throw new Error(`Array length is too long (${value.length} > maximum length ${MAX_ARRAY})`);
      this.bytes += 2;
      return value.map((one) => this.of(one, depth + 1));
    }
    if (value instanceof ArrayBuffer) {
      this.bytes += 2 + value.byteLength;
      return value.slice(0);
    }
    if (value instanceof CommitTsPlaceholder) {
      this.bytes += 9;
      return value;
    }
    return this.fields(value, depth);
  }

  fields(value: object, depth: number): Record<string, Value> {
    if (!isPlain(value)) {
      throw new Error(`${Object.prototype.toString.call(value)} is not a valid Convex value.`);
    }
    this.bytes += 2;
    const copy: Record<string, Value> = {};
    let count = 0;
    for (const name of this.sorted ? Object.keys(value).sort() : Object.keys(value)) {
      const field = value[name];
      if (field === undefined) continue;
      if (!isFieldName(name)) throw new Error(`Field name ${name} is invalid`);
      if (++count > MAX_FIELDS) throw new Error(`Object has too many fields (maximum ${MAX_FIELDS})`);
      this.bytes += name.length + 1;
      copy[name] = this.of(field, depth + 1);
    }
    return copy;
  }
}

/** Shorter strings are scanned here, which is quicker than two calls of the engine. */
const SHORT = 64;

/** A string's length in UTF-8. @throws Error for half of a character. */
function textBytes(text: string): number {
  let plain = 0;
  if (text.length <= SHORT) while (plain < text.length && text.charCodeAt(plain) < 0x80) plain++;
  if (plain === text.length) return plain;
  if (!text.isWellFormed())
    throw new Error("Strings must be well-formed: this one has an unpaired surrogate");
  return Buffer.byteLength(text);
}

/** Non-control ASCII that does not begin with `$`. */
const FIELD = /^(?!\$)[ -~]*$/;

/** Also a plain object of another realm, as in the tests' environment. */
function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || value.constructor?.name === "Object";
}

/** Arguments and results: checked, and copied so that they share nothing with the original. */
export function passed(value: unknown): Value {
  const copying = new Copying(false);
  const copy = copying.of(value, 0);
  if (copying.bytes > MAX_VALUE_BYTES) throw new Error("Arguments and results may be 16 MiB at most");
  return copy;
}

/** A document's fields in stored form. @throws Error unless it is an object of Convex values. */
export function storedFields(value: unknown): Record<string, Value> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof ArrayBuffer)
    throw new Error("A document is an object");
  return new Copying(true).fields(value, 0);
}

/** One field's value in stored form. */
export const storedValue = (value: unknown): Value => new Copying(true).of(value, 1);

/** Names that were already checked: most occur again and again. */
const goodNames = new Set<string>();
const GOOD_NAMES = 10_000;

/** Whether a name may be a field's. */
export function isFieldName(name: string): boolean {
  if (goodNames.has(name)) return true;
  if (!FIELD.test(name) || name.length > 1_024) return false;
  if (goodNames.size < GOOD_NAMES) goodNames.add(name);
  return true;
}

/** A copy of a stored value that its reader may change. */
export function forReader(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(forReader);
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (value instanceof CommitTsPlaceholder) return value;
  const copy: Record<string, Value> = {};
  for (const name of Object.keys(value)) {
    const field = value[name];
    if (field !== undefined) copy[name] = forReader(field);
  }
  return copy;
}

/** A document's size in bytes, and whether a commit's time still has to be filled in somewhere. */
export type Measured = { size: number; isPending: boolean };

/** @throws Error for a document that the platform does not store. */
export function measured(document: Document): Measured {
  const found = { deepest: 0, isPending: false };
  const size = bytesOf(document, 1, found);
  if (size > MAX_DOCUMENT_BYTES) throw new Error(`Value is too large (${size} bytes > maximum size 1 MiB)`);
  if (found.deepest > MAX_DOCUMENT_NESTING)
    throw new Error(`Document is too nested (maximum ${MAX_DOCUMENT_NESTING})`);
  return { size, isPending: found.isPending };
}

/** A value's size in bytes. */
export const sizeOf = (value: Value): number => bytesOf(value, 1, { deepest: 0, isPending: false });

/** Counted like the convex package's `getConvexSize`, together with other checks of every value. */
function bytesOf(
  value: Value | undefined,
  depth: number,
  found: { deepest: number; isPending: boolean },
): number {
  switch (typeof value) {
    case "string":
      return 2 + textBytes(value);
    case "object":
      break;
    case "undefined":
      return 0;
    case "boolean":
      return 1;
    default:
      return 9;
  }
  if (value === null) return 1;
  if (value instanceof ArrayBuffer) return 2 + value.byteLength;
  if (value instanceof CommitTsPlaceholder) {
    found.isPending = true;
    return 9;
  }
  if (depth > found.deepest) found.deepest = depth;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const one of value) bytes += bytesOf(one, depth + 1, found);
    return bytes;
  }
  for (const name of Object.keys(value)) {
    const field = value[name];
    if (field !== undefined) bytes += name.length + 1 + bytesOf(field, depth + 1, found);
  }
  return bytes;
}

/** Convex's JSON text of a value, and back. */
export const toJson = (value: Value): string => JSON.stringify(convexToJson(value));
export const fromJson = (json: unknown): Value => jsonToConvex(jsonShape.parse(json));
const jsonShape = z.custom<Parameters<typeof jsonToConvex>[0]>();

/** The field at a path such as `state.kind`, by its parts. */
export function fieldAt(document: Fields, path: readonly string[]): Value | undefined {
  const [first = ""] = path;
  if (path.length === 1) return document[first];
  let value: Value | undefined = document;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    value = anyValue.optional().parse(Reflect.get(value, name));
  }
  return value;
}

/** Convex's order of values; undefined comes first. */
export function compared(a: Value | undefined, b: Value | undefined): number {
  if (a === b && typeof a !== "number") return 0;
  if (typeof a === "string" && typeof b === "string") return comparedStrings(a, b);
  if (typeof a === "number" && typeof b === "number" && a !== 0 && b !== 0) {
    if (a < b) return -1;
    if (a > b) return 1;
    if (a === b) return 0;
  }
  return compareValues(a, b);
}

/** Texts whose order by code points may differ from that by UTF-16 units. */
const HIGH = /[\ud800-\uffff]/;

/** Whether a text sorts correctly by its UTF-16 units; true for other values. */
export const isLowText = (value: Value | undefined): boolean =>
  typeof value !== "string" || !HIGH.test(value);

/** The order of the UTF-8 forms, which is that of the code points. */
function comparedStrings(a: string, b: string): number {
  if (!HIGH.test(a) || !HIGH.test(b)) return a < b ? -1 : 1;
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above all others.
    if (isSurrogate(x) !== isSurrogate(y)) return isSurrogate(x) ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** The value with a commit's time filled in. */
export function withCommitTime(value: Value, time: bigint): Value {
  if (value instanceof CommitTsPlaceholder) return time;
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return value;
  if (Array.isArray(value)) return value.map((one) => withCommitTime(one, time));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      field === undefined ? [] : [[name, withCommitTime(field, time)]],
    ),
  );
}
