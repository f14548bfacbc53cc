import type { ValidatorJSON } from "convex/values";

/**
 * Whether a value certainly is what the validator asks for. It says yes to nothing that the test library refuses; to
 * what it does not know it says no, and the library decides.
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
      return isPlain(value) && Object.values(value).every((one) => fits(validator.values.fieldType, one));
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
const known = new WeakMap<Exported, Validators>();

/** A function's validators, read once. */
export function validatorsOf(func: Exported): Validators {
  let validators = known.get(func);
  if (validators === undefined) {
    validators = { args: JSON.parse(func.exportArgs()), returns: JSON.parse(func.exportReturns()) };
    known.set(func, validators);
  }
  return validators;
}

/** Whether a row's field is what it seems: no object in which something could still be pending. */
export function isPlainField(field: unknown): boolean {
  return field !== undefined && typeof field !== "object";
}

const bounds = new WeakMap<object, { value: unknown }>();

/** The value that a query's bound compares with, read once a query. */
export function boundOf(bound: { value: unknown }, read: (value: unknown) => unknown): unknown {
  let known = bounds.get(bound);
  if (known === undefined) {
    known = { value: read(bound.value) };
    bounds.set(bound, known);
  }
  return known.value;
}
