import * as z from "zod";
import { loadParts, own } from "../stack/modules";

/** The web application's functions as types, made from their validators, so that no backend has to be compiled for them. */

type Field = { fieldType: Validator; optional: boolean };
type Validator =
  | { type: "null" | "number" | "bigint" | "boolean" | "string" | "bytes" | "any" }
  | { type: "literal"; value: string | number | boolean }
  | { type: "id"; tableName: string }
  | { type: "array"; value: Validator }
  | { type: "record"; keys: Validator; values: Field }
  | { type: "object"; value: Record<string, Field> }
  | { type: "union"; value: Validator[] };

const field: z.ZodType<Field> = z.lazy(() => z.object({ fieldType: validator, optional: z.boolean() }));
const validator: z.ZodType<Validator> = z.lazy(() =>
  z.discriminatedUnion("type", [
    z.object({ type: z.enum(["null", "number", "bigint", "boolean", "string", "bytes", "any"]) }),
    z.object({ type: z.literal("literal"), value: z.union([z.string(), z.number(), z.boolean()]) }),
    z.object({ type: z.literal("id"), tableName: z.string() }),
    z.object({ type: z.literal("array"), value: validator }),
    z.object({ type: z.literal("record"), keys: validator, values: field }),
    z.object({ type: z.literal("object"), value: z.record(z.string(), field) }),
    z.object({ type: z.literal("union"), value: z.array(validator) }),
  ]),
);

const functionShape = z.object({
  isPublic: z.literal(true),
  isQuery: z.literal(true).optional(),
  isMutation: z.literal(true).optional(),
  isAction: z.literal(true).optional(),
  exportArgs: z.custom<() => string>((value) => typeof value === "function"),
  exportReturns: z.custom<() => string>((value) => typeof value === "function"),
});

type Tree = { [name: string]: Tree | string };

export async function webTypes(): Promise<string> {
  const [application] = await loadParts(own);
  if (application === undefined) throw new Error("There is no application");
  const api: Tree = {};
  for (const name of Object.keys(application.modules).toSorted()) {
    const module = z
      .record(z.string(), z.unknown())
      .safeParse({ ...Object(await application.modules[name]?.()) });
    for (const [called, value] of Object.entries(module.data ?? {})) {
      if (typeof value !== "function") continue;
      const found = functionShape.safeParse({ ...value });
      if (found.success)
        enter(api, [...name.replace(/\.js$/, "").split("/"), called], referenceOf(found.data));
    }
  }
  return [
    'import type { FunctionReference } from "convex/server";',
    'import type { GenericId } from "convex/values";',
    "",
    "/** The functions that the web application calls, with what each takes and answers. */",
    `export declare const api: ${treeText(api, "")};`,
    "",
  ].join("\n");
}

function enter(tree: Tree, [first = "", ...rest]: string[], text: string): void {
  if (rest.length === 0) {
    tree[first] = text;
    return;
  }
  const inner = tree[first];
  const branch = typeof inner === "object" ? inner : {};
  tree[first] = branch;
  enter(branch, rest, text);
}

function treeText(tree: Tree, indent: string): string {
  const lines = Object.entries(tree).map(
    ([name, one]) => `${indent}  ${name}: ${typeof one === "string" ? one : treeText(one, `${indent}  `)};`,
  );
  return `{\n${lines.join("\n")}\n${indent}}`;
}

function referenceOf(found: z.output<typeof functionShape>): string {
  const kind = found.isQuery === true ? "query" : found.isMutation === true ? "mutation" : "action";
  const [args, returns] = [found.exportArgs(), found.exportReturns()].map((text) =>
    typeText(validator.parse(JSON.parse(text))),
  );
  return `FunctionReference<"${kind}", "public", ${args}, ${returns}>`;
}

function typeText(of: Validator): string {
  switch (of.type) {
    case "any":
      return "unknown";
    case "bytes":
      return "ArrayBuffer";
    case "literal":
      return JSON.stringify(of.value);
    case "id":
      return `GenericId<${JSON.stringify(of.tableName)}>`;
    case "array":
      return `Array<${typeText(of.value)}>`;
    case "record":
      return `Record<${typeText(of.keys)}, ${typeText(of.values.fieldType)}>`;
    case "object": {
      const fields = Object.entries(of.value).map(
        ([name, { fieldType, optional }]) =>
          `${JSON.stringify(name)}${optional ? "?" : ""}: ${typeText(fieldType)}`,
      );
      return fields.length === 0 ? "Record<string, never>" : `{ ${fields.join("; ")} }`;
    }
    case "union":
      return of.value.length === 0 ? "never" : of.value.map(typeText).join(" | ");
    default:
      return of.type;
  }
}
