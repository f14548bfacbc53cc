import { AsyncLocalStorage } from "node:async_hooks";
import type { ValidatorJSON } from "convex/values";
import type { LoadHook } from "node:module";

/**
 * Rewrites a dozen places of Convex's test library, on the stack and in the tests. The library finds the fitting member of a
 * union by throwing for every other one, serialises and parses a function's validators at each call and a query's bounds at
 * each row, keeps what each query has found for ever, guards every global although a transaction changes six, and has six
 * contexts, which Node hands to every promise. The library itself still describes an unfitting value. Added are refusals of
 * the platform that the library lacks (of values, and of transactions that take too long) and the count of calls that it bills.
 */
const QUICKER = [
  [
    "function validateValidator(validator, value) {",
    "function validateValidator(validator, value) { refuse(value); if (fits(validator, value)) return; if (validator.type === 'record') return validateRecord(validator, value, validateValidator);",
  ],
  [
    "await nestedTxStorage.run(childLock, invokeInContext)",
    "await runMeasured(functionPath.udfPath, isNested, transactionManager, () => nestedTxStorage.run(childLock, invokeInContext))",
  ],
  [
    "function evaluateFieldPath(fieldPath, document) {",
    "function evaluateFieldPath(fieldPath, document) { if (isPlainField(document[fieldPath])) return document[fieldPath];",
  ],
  ["const value = evaluateQueryValue(expr.value);", "const value = readBound(expr, evaluateQueryValue);"],
  [
    "await transactionManager.begin(isNested, transactionLimits);",
    "countCall(functionPath, isNested); await transactionManager.begin(isNested, transactionLimits);",
  ],
  [
    "authStorage.run(authForChild, () => a.invokeAction(",
    "authStorage.run(authForChild, () => (countCall(functionPath, false), a).invokeAction(",
  ],
  ["a.invokeHttpAction(", "(countCall(httpCtx, false), a).invokeHttpAction("],
  ['case "1.0/queryCleanup": {', 'case "1.0/queryCleanup": { delete db._queryResults[args.queryId];'],
  ["for (const key of PATCHABLE_GLOBALS)", "for (const key of OVERRIDDEN)"],
  ["JSON.parse(func.exportArgs())", "readValidators(func).args"],
  ["JSON.parse(func.exportReturns())", "readValidators(func).returns"],
  ["new AsyncLocalStorage()", "new Context()"],
] as const;

export const isTestLibrary = (id: string) => id.endsWith("/convex-test/dist/index.js");

/** The test library's code with the shortcuts in it, which it imports from `here`, this file. */
export function quickenLibrary(code: string, here: string): string {
  let quick = `import { readBound, Context, countCall, fits, isPlainField, runMeasured, OVERRIDDEN, refuse, validateRecord, readValidators } from ${JSON.stringify(here)};\n${code}`;
  for (const [usual, quicker] of QUICKER) {
    if (!quick.includes(usual)) throw new Error(`convex-test no longer has: ${usual}`);
    quick = quick.replaceAll(usual, quicker);
  }
  return quick;
}

/** Node's hook: the test library as this file makes it. */
export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (!isTestLibrary(url) || loaded.source === undefined || loaded.source === null) return loaded;
  const code = typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
  return { ...loaded, source: quickenLibrary(code, import.meta.url) };
};

/**
 * Whether a value certainly fits the validator. It accepts nothing that the test library refuses, and leaves unknown
 * validators to the library.
 */
export function fits(validator: ValidatorJSON, value: unknown): boolean {
  switch (validator.type) {
    case "any":
      return true;
    case "null":
      return value === null;
    case "number":
    case "bigint":
    case "boolean":
    case "string":
      return typeof value === validator.type;
    case "literal":
      return value === validator.value;
    case "bytes":
      return value instanceof ArrayBuffer;
    case "id":
      return typeof value === "string" && /^[0-9]+(.*)$/s.exec(value)?.[1] === validator.tableName;
    case "union":
      return validator.value.some((one) => fits(one, value));
    case "array":
      return Array.isArray(value) && value.every((one) => fits(validator.value, one));
    case "record":
      return (
        isPlain(value) &&
        Object.entries(value).every(
          ([key, one]) => fits(validator.keys, key) && fits(validator.values.fieldType, one),
        )
      );
    case "object": {
      if (!isPlain(value)) return false;
      const fields = validator.value;
      for (const [name, field] of Object.entries(fields)) {
        if (value[name] === undefined ? !field.optional : !fits(field.fieldType, value[name])) return false;
      }
      return Object.keys(value).every((name) => fields[name] !== undefined);
    }
    default:
      return false;
  }
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** The globals that are others inside a transaction. */
export const OVERRIDDEN = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "fetch", "Date"];

type Exported = { exportArgs: () => string; exportReturns: () => string };
type Validators = { args: unknown; returns: unknown };
const validatorsByFunction = new WeakMap<Exported, Validators>();

/** A function's validators, read once. */
export function readValidators(func: Exported): Validators {
  let validators = validatorsByFunction.get(func);
  if (validators === undefined) {
    validators = { args: JSON.parse(func.exportArgs()), returns: JSON.parse(func.exportReturns()) };
    validatorsByFunction.set(func, validators);
  }
  return validators;
}

/** Whether a row's field is a plain value, and no object with pending parts. */
export function isPlainField(field: unknown): boolean {
  return field !== undefined && typeof field !== "object";
}

const bounds = new WeakMap<object, { value: unknown }>();

/** The value that a query's bound compares with, read once a query. */
export function readBound(bound: { value: unknown }, read: (value: unknown) => unknown): unknown {
  let cached = bounds.get(bound);
  if (cached === undefined) {
    cached = { value: read(bound.value) };
    bounds.set(bound, cached);
  }
  return cached.value;
}

const frames = new AsyncLocalStorage<readonly unknown[]>();
let contexts = 0;

/** One of the library's contexts. All of them are in one of Node's. */
export class Context {
  private readonly index = contexts++;

  getStore(): unknown {
    return frames.getStore()?.[this.index];
  }

  run<Result>(value: unknown, work: () => Result): Result {
    const frame = [...(frames.getStore() ?? [])];
    frame[this.index] = value;
    return frames.run(frame, work);
  }

  exit<Result>(work: () => Result): Result {
    return this.run(undefined, work);
  }
}

const MOST_ITEMS = 8_192;
const MOST_FIELDS = 1_024;
const MOST_NESTING = 64;

/** Refuses values that the platform takes from no validator. @throws Error */
export function refuse(value: unknown, depth = 0): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new Error("The platform refuses a text with half a character");
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (depth > MOST_NESTING)
    throw new Error(`The platform refuses a value of more than ${MOST_NESTING} levels`);
  if (Array.isArray(value)) {
    if (value.length > MOST_ITEMS) throw new Error(`The platform refuses a list of ${value.length} values`);
    for (const one of value) refuse(one, depth + 1);
  } else if (isPlain(value)) {
    const entries = Object.entries(value);
    if (entries.length > MOST_FIELDS)
      throw new Error(`The platform refuses an object of ${entries.length} fields`);
    for (const [key, one] of entries) {
      if (!/^[ -#%-~][ -~]{0,1023}$/.test(key))
        throw new Error(`The platform refuses the field ${JSON.stringify(key)}`);
      refuse(one, depth + 1);
    }
  }
}

/** Validates each key and value of a record, like the platform; the library validates none. @throws Error */
export function validateRecord(
  { keys, values }: Extract<ValidatorJSON, { type: "record" }>,
  value: unknown,
  validate: (validator: ValidatorJSON, value: unknown) => void,
): void {
  if (!isPlain(value)) throw new Error(`Validator error: Expected \`record\`, got \`${String(value)}\``);
  for (const [key, one] of Object.entries(value)) {
    if (one === undefined) continue;
    validate(keys, key);
    validate(values.fieldType, one);
  }
}

type Metrics = Record<"bytesRead" | "bytesWritten", number>;
type Layer = { metrics: Metrics; enforce: boolean };
type Manager = { getMetricsTracker: () => { _current: () => Layer | undefined } | null };
/** The bytes that transactions read and write, since the process began. */
export const moved: Metrics = { bytesRead: 0, bytesWritten: 0 };

/** The calls that the platform bills, by the functions' names, since the process began; requests are `http`. */
export const billed = new Map<string, number>();

/** Counts a call; the platform bills none that a transaction makes, and none of a component. */
export function countCall(
  { componentPath, udfPath }: { componentPath: string; udfPath: string },
  isNested: boolean,
): void {
  if (!isNested && componentPath === "" && udfPath !== OWN)
    billed.set(udfPath, (billed.get(udfPath) ?? 0) + 1);
}

/** The platform ends a transaction with more processor time. */
const MOST_MS = 1_000;
const MANY_MS = 300;
/** The library's name of its user's own transactions. */
const OWN = "custom";
const usualNow = performance.now.bind(performance);
/** The functions that have run. */
const known = new Set<string>();

const READ_EVERY_MS = 100;
let lastRead = { at: -Infinity, ms: 0 };

/** The process's processor time in ms, at most 100 ms old: reading it at each call would take a twentieth of all tests. */
function processorTime(now: number): number {
  if (now - lastRead.at > READ_EVERY_MS) {
    const { user, system } = process.cpuUsage();
    lastRead = { at: now, ms: (user + system) / 1_000 };
  }
  return lastRead.ms;
}

/** Runs a query or mutation. @throws Error beyond the platform's limit of processor time. */
export async function runMeasured<Result>(
  name: string,
  isNested: boolean,
  manager: Manager,
  work: () => Promise<Result>,
): Promise<Result> {
  const layer = manager.getMetricsTracker()?._current();
  if (layer === undefined) return work();
  if (name === OWN) {
    layer.enforce = false;
    return work();
  }
  const before = { ...layer.metrics };
  const began = usualNow();
  const processorBefore = processorTime(began);
  const result = await work();
  if (!isNested)
    for (const key of ["bytesRead", "bytesWritten"] as const) moved[key] += layer.metrics[key] - before[key];
  const ended = usualNow();
  // The first call loads and compiles the function's modules, unlike on the platform.
  const isFirst = !known.has(name);
  known.add(name);
  if (isFirst || ended - began <= MANY_MS) return result;
  // It shares the processor with others, and the process with threads of its own.
  const ms = Math.min(ended - began, processorTime(ended) - processorBefore);
  const report = `${name} takes ${Math.round(ms)} ms of processor`;
  if (ms > MOST_MS) throw new Error(`${report}: the platform ends it after ${MOST_MS}`);
  if (ms > MANY_MS) process.stdout.write(`${report}, of ${MOST_MS} on the platform\n`);
  return result;
}
