import { CommitTsPlaceholder, type Value } from "convex/values";
import * as z from "zod";
import { tableOf } from "./tables";

/** Validators as `defineTable` and functions export them, made into checks once. */

/** Answers what is wrong, or null. */
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

const passes: Check = () => null;

/** The check of a validator's JSON; null stands for no validator. */
export function checkOf(json: unknown): Check {
  return json === null ? passes : compiled(shape.parse(json));
}

function compiled(of: Shape): Check {
  switch (of.type) {
    case "any":
      return passes;
    case "null":
      return (value) => (value === null ? null : expected("`null`", value));
    case "number":
    case "bigint":
    case "boolean":
    case "string":
      return (value) => (typeof value === of.type ? null : expected(`\`${of.type}\``, value));
    case "bytes":
      return (value) => (value instanceof ArrayBuffer ? null : expected("`ArrayBuffer`", value));
    case "commitTs":
      return (value) =>
        typeof value === "bigint" || value instanceof CommitTsPlaceholder
          ? null
          : expected("`v.commitTs()`", value);
    case "literal":
      return (value) => (value === of.value ? null : expected(`\`${String(of.value)}\``, value));
    case "id":
      return (value) =>
        typeof value === "string" && tableOf(value) === of.tableName
          ? null
          : expected(`ID for table "${of.tableName}"`, value);
    case "array":
      return arrayCheck(compiled(of.value));
    case "record":
      return recordCheck(compiled(of.keys), compiled(of.values.fieldType));
    case "union":
      return unionCheck(of.value);
    case "object":
      return objectCheck(of.value);
  }
}

function expected(what: string, value: Value | undefined): string {
  const shown = typeof value === "bigint" ? `${value}n` : (JSON.stringify(value) ?? "undefined");
  return `Validator error: Expected ${what}, got \`${shown.slice(0, 200).toWellFormed()}\``;
}

function arrayCheck(item: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return expected("`Array`", value);
    for (const one of value) {
      const problem = item(one);
      if (problem !== null) return problem;
    }
    return null;
  };
}

function recordCheck(key: Check, field: Check): Check {
  return (value) => {
    if (!isObject(value)) return expected("`object`", value);
    for (const [name, one] of Object.entries(value)) {
      const problem = key(name) ?? (one === undefined ? null : field(one));
      if (problem !== null) return problem;
    }
    return null;
  };
}

function unionCheck(members: readonly Shape[]): Check {
  const checks = members.map(compiled);
  const names = members.map(({ type }) => type).join(", ");
  return (value) =>
    checks.some((check) => check(value) === null) ? null : expected(`one of ${names}`, value);
}

function objectCheck(fields: Record<string, { fieldType: Shape; optional: boolean }>): Check {
  const known = new Map(
    Object.entries(fields).map(([name, { fieldType, optional }]) => [
      name,
      { check: compiled(fieldType), optional },
    ]),
  );
  return (value) => {
    if (!isObject(value)) return expected("`object`", value);
    for (const [name, { check, optional }] of known) {
      const field = value[name];
      if (field === undefined) {
        if (!optional) return `Validator error: Missing required field \`${name}\` in object`;
        continue;
      }
      const problem = check(field);
      if (problem !== null) return problem;
    }
    for (const name of Object.keys(value)) {
      if (value[name] !== undefined && !known.has(name))
        return `Validator error: Unexpected field \`${name}\` in object`;
    }
    return null;
  };
}

function isObject(value: Value | undefined): value is Record<string, Value | undefined> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ArrayBuffer)
  );
}
