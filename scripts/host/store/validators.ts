import { CommitTsPlaceholder, type Value } from "convex/values";
import * as z from "zod";
import { tableOf } from "./tables";

/** Validators as `defineTable` and functions export them, made into checks once. */

/** Returns what is wrong, or null. */
export type Check = (value: Value | undefined) => string | null;

type Shape =
  | { type: "null" | "number" | "bigint" | "boolean" | "string" | "bytes" | "any" | "commitTs" }
  | { type: "literal"; value: unknown }
  | { type: "id"; tableName: string }
  | { type: "array"; value: Shape }
  | { type: "record"; keys: Shape; values: { fieldType: Shape } }
  | { type: "union"; value: Shape[] }
  | { type: "object"; value: Record<string, { fieldType: Shape; optional: boolean }> };

const shape: z.ZodType<Shape> = z.lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.enum(["null", "number", "bigint", "boolean", "string", "bytes", "any", "commitTs"]) }),
    z.object({ type: z.literal("literal"), value: z.unknown() }),
    z.object({ type: z.literal("id"), tableName: z.string() }),
    z.object({ type: z.literal("array"), value: shape }),
    z.object({ type: z.literal("record"), keys: shape, values: z.object({ fieldType: shape }) }),
    z.object({ type: z.literal("union"), value: z.array(shape) }),
    z.object({
      type: z.literal("object"),
      value: z.record(z.string(), z.object({ fieldType: shape, optional: z.boolean() })),
    }),
  ]),
);

/** A mismatch, which is put into words only on request: most alternatives of a union do not fit. */
type Misfit = { expected: string; value: Value | undefined } | { field: string; isMissing: boolean };
type Fit = (value: Value | undefined) => Misfit | null;

const passes: Fit = () => null;

/** The check of a validator's JSON; null stands for no validator. */
export function checkOf(json: unknown): Check {
  if (json === null) return () => null;
  const fit = compiled(shape.parse(json));
  return (value) => {
    const misfit = fit(value);
    return misfit === null ? null : `Validator error: ${told(misfit)}`;
  };
}

function told(misfit: Misfit): string {
  if ("field" in misfit) {
    const { field, isMissing } = misfit;
    return isMissing
      ? `Missing required field \`${field}\` in object`
      : `Unexpected field \`${field}\` in object`;
  }
  const { expected, value } = misfit;
  const shown = typeof value === "bigint" ? `${value}n` : (JSON.stringify(value) ?? "undefined");
  return `Expected ${expected}, got \`${shown.slice(0, 200).toWellFormed()}\``;
}

function compiled(of: Shape): Fit {
  switch (of.type) {
    case "any":
      return passes;
    case "null":
      return where("`null`", (value) => value === null);
    case "number":
    case "boolean":
    case "string":
      return where(`\`${of.type}\``, (value) => typeof value === of.type);
    case "bigint":
      return where("`bigint`", isInteger);
    case "bytes":
      return where("`ArrayBuffer`", (value) => value instanceof ArrayBuffer);
    case "commitTs":
      return where("`v.commitTs()`", isInteger);
    case "literal":
      return where(`\`${String(of.value)}\``, (value) => value === of.value);
    case "id":
      return where(
        `ID for table "${of.tableName}"`,
        (value) => typeof value === "string" && tableOf(value) === of.tableName,
      );
    case "array":
      return arrayFit(compiled(of.value));
    case "record":
      return recordFit(compiled(of.keys), compiled(of.values.fieldType));
    case "union":
      return unionFit(of.value);
    case "object":
      return objectFit(of.value);
  }
}

function where(expected: string, fits: (value: Value | undefined) => boolean): Fit {
  return (value) => (fits(value) ? null : { expected, value });
}

/** A commit's time counts as the integer it will be. */
function isInteger(value: Value | undefined): boolean {
  return typeof value === "bigint" || value instanceof CommitTsPlaceholder;
}

function arrayFit(item: Fit): Fit {
  return (value) => {
    if (!Array.isArray(value)) return { expected: "`Array`", value };
    for (const one of value) {
      const misfit = item(one);
      if (misfit !== null) return misfit;
    }
    return null;
  };
}

function recordFit(key: Fit, field: Fit): Fit {
  return (value) => {
    if (!isObject(value)) return { expected: "`object`", value };
    for (const name of Object.keys(value)) {
      const one = value[name];
      const misfit = key(name) ?? (one === undefined ? null : field(one));
      if (misfit !== null) return misfit;
    }
    return null;
  };
}

function unionFit(members: readonly Shape[]): Fit {
  const fits = members.map(compiled);
  const expected = `one of ${members.map(({ type }) => type).join(", ")}`;
  return (value) => (fits.some((fit) => fit(value) === null) ? null : { expected, value });
}

function objectFit(fields: Record<string, { fieldType: Shape; optional: boolean }>): Fit {
  const known = Object.entries(fields).map(([name, { fieldType, optional }]) => {
    return { name, fit: compiled(fieldType), optional };
  });
  return (value) => {
    if (!isObject(value)) return { expected: "`object`", value };
    let present = 0;
    for (const { name, fit, optional } of known) {
      const field = value[name];
      if (field === undefined) {
        if (!optional) return { field: name, isMissing: true };
        continue;
      }
      present += 1;
      const misfit = fit(field);
      if (misfit !== null) return misfit;
    }
    const names = Object.keys(value);
    if (names.length === present) return null;
    const unknown = names.find((name) => value[name] !== undefined && !Object.hasOwn(fields, name));
    return unknown === undefined ? null : { field: unknown, isMissing: false };
  };
}

function isObject(value: Value | undefined): value is Record<string, Value | undefined> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ArrayBuffer)
  );
}
