import {
  compareValues,
  convexToJson,
  getConvexSize,
  getDocumentSize,
  jsonToConvex,
  CommitTsPlaceholder,
  type Value,
} from "convex/values";
import * as z from "zod";

/** Values as the platform takes and stores them: what it refuses, their copies, sizes and order. */

export type Fields = Record<string, Value | undefined>;
export type Document = Fields & { _id: string; _creationTime: number };

/** The platform's limits of one value; a document may be 1 MiB, arguments and results 16 MiB. */
const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_VALUE_BYTES = 16 * 1024 * 1024;
const MAX_ARRAY = 8_192;
const MAX_FIELDS = 1_024;
const MAX_DOCUMENT_NESTING = 16;
const MAX_VALUE_NESTING = 64;
const MAX_INT64 = 2n ** 63n - 1n;

const anyValue = z.custom<Value>();

/** A copy that shares nothing with the original. @throws Error for what is no Convex value. */
export function copied(value: unknown, depth = 0): Value {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed())
        throw new Error("Strings must be well-formed: this one has an unpaired surrogate");
      return value;
    case "number":
    case "boolean":
      return value;
    case "bigint":
      if (BigInt.asIntN(64, value) !== value)
        throw new Error(`BigInt ${value} does not fit into a 64-bit signed integer.`);
      return value;
    case "object":
      break;
    default:
      throw new Error(`${typeof value} is not a valid Convex value.`);
  }
  if (value === null) return null;
  if (depth >= MAX_VALUE_NESTING) throw new Error(`Value is too nested (maximum ${MAX_VALUE_NESTING})`);
  if (Array.isArray(value)) {
    if (value.length > MAX_ARRAY)
      throw new Error(`Array length is too long (${value.length} > maximum length ${MAX_ARRAY})`);
    return value.map((one) => copied(one, depth + 1));
  }
  if (value instanceof ArrayBuffer) return value.slice(0);
  if (value instanceof CommitTsPlaceholder) return value;
  return copiedObject(value, depth);
}

function copiedObject(value: object, depth: number): Value {
  if (!isPlain(value)) {
    throw new Error(`${Object.prototype.toString.call(value)} is not a valid Convex value.`);
  }
  const copy: Fields = {};
  let count = 0;
  for (const [name, field] of Object.entries(value)) {
    if (field === undefined) continue;
    if (!FIELD.test(name) || name.length > 1_024) throw new Error(`Field name ${name} is invalid`);
    if (++count > MAX_FIELDS) throw new Error(`Object has too many fields (maximum ${MAX_FIELDS})`);
    copy[name] = copied(field, depth + 1);
  }
  return copy;
}

/** Non-control ASCII that does not begin with `$`. */
const FIELD = /^(?!\$)[ -~]*$/;

/** Also a plain object of another realm, as the tests' environment makes them. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || value.constructor?.name === "Object";
}

/** Arguments and results, checked and copied. */
export function passed(value: unknown): Value {
  const copy = copied(value);
  if (getConvexSize(copy) > MAX_VALUE_BYTES) throw new Error("Arguments and results may be 16 MiB at most");
  return copy;
}

/** A document's size. @throws Error for one that the platform does not store. */
export function sizeOf(document: Document): number {
  const { _id, _creationTime, ...fields } = document;
  const size = getDocumentSize({ ...present(fields), _id, _creationTime });
  if (size > MAX_DOCUMENT_BYTES) throw new Error(`Value is too large (${size} bytes > maximum size 1 MiB)`);
  if (size > MAX_DOCUMENT_NESTING && nesting(document) > MAX_DOCUMENT_NESTING)
    throw new Error(`Document is too nested (maximum ${MAX_DOCUMENT_NESTING})`);
  return size;
}

function present(fields: Fields): Record<string, Value> {
  const found: Record<string, Value> = {};
  for (const [name, field] of Object.entries(fields)) if (field !== undefined) found[name] = field;
  return found;
}

function nesting(value: Value | undefined): number {
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return 0;
  if (value instanceof CommitTsPlaceholder) return 0;
  let deepest = 0;
  for (const one of innerOf(value)) deepest = Math.max(deepest, nesting(one));
  return deepest + 1;
}

/** Convex's JSON text of a value, and back. */
export const toJson = (value: Value): string => JSON.stringify(convexToJson(value));
export const fromJson = (json: unknown): Value => jsonToConvex(jsonShape.parse(json));
const jsonShape = z.custom<Parameters<typeof jsonToConvex>[0]>();

/** The field at a path such as `state.kind`. */
export function fieldAt(document: Fields, path: string): Value | undefined {
  if (!path.includes(".")) return document[path];
  let value: Value | undefined = document;
  for (const name of path.split(".")) {
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

/** The order of the UTF-8 forms, which is that of the code points. */
function comparedStrings(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above all others.
    const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;
    if (isHigh(x) !== isHigh(y)) return isHigh(x) ? 1 : -1;
    return x < y ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

/**
 * What stands for a commit's time, as the transaction sees it before its end (`time` absent), or as it is stored. Few
 * values have one: the others are answered as they are.
 */
export function withCommitTime(value: Value, time: bigint = MAX_INT64): Value {
  return isPending(value) ? filledIn(value, time) : value;
}

function filledIn(value: Value, time: bigint): Value {
  if (value instanceof CommitTsPlaceholder) return time;
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return value;
  if (Array.isArray(value)) return value.map((one) => filledIn(one, time));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      field === undefined ? [] : [[name, filledIn(field, time)]],
    ),
  );
}

/** Whether a commit's time is yet to be filled in somewhere. */
export function isPending(value: Value | undefined): boolean {
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return false;
  if (value instanceof CommitTsPlaceholder) return true;
  return innerOf(value).some(isPending);
}

function innerOf(value: Value[] | Record<string, Value | undefined>): readonly (Value | undefined)[] {
  return Array.isArray(value) ? value : Object.values(value);
}
