import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import { withLimits } from "../../scripts/reference/limits";
import type { Operation } from "../../scripts/reference/types";
import { documented } from "../support/document";

/** The documents' lists are what they say: of the web application's functions, and of the endpoints with their input. */

const functionShape = z.object({
  isPublic: z.literal(true),
  isQuery: z.literal(true).optional(),
  isMutation: z.literal(true).optional(),
  exportArgs: z.custom<() => string>(),
});
const argsShape = z.object({ value: z.record(z.string(), z.object({ optional: z.boolean() })) });
const modules = import.meta.glob<object>("../../convex/**/*.ts");
const NO_FUNCTIONS = /_generated|\.config\.ts$|schema\.ts$|tables\.ts$|crons\.ts$|\/http\.ts$/;

/** `accounts/keys:addRecipient` → `mutation { address }` */
async function publicFunctions(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [file, load] of Object.entries(modules)) {
    if (NO_FUNCTIONS.test(file)) continue;
    const path = file.replace("../../convex/", "").replace(/\.ts$/, "");
    for (const [name, value] of Object.entries(await load())) {
      const { data } = functionShape.safeParse(typeof value === "function" ? { ...value } : null);
      if (data === undefined) continue;
      const args = Object.entries(argsShape.parse(JSON.parse(data.exportArgs())).value);
      const names = args.map(([arg, { optional }]) => `${arg}${optional ? "?" : ""}`).join(", ");
      const kind = data.isQuery ? "query" : data.isMutation ? "mutation" : "action";
      found.set(`${path}:${name}`, `${kind} ${names === "" ? "{}" : `{ ${names} }`}`);
    }
  }
  return found;
}

test("the web application's functions are all listed, with their arguments and what they are called as", async () => {
  const page = await readFile(new URL("../../docs/payments.md", import.meta.url), "utf8");
  const listed = new Map<string, string>();
  for (const [, named = "", called = ""] of page.matchAll(
    /^\| (`[a-z]+\/[a-zA-Z/]+:[^|]+) \| ([^|]+) \|/gm,
  )) {
    let module = "";
    const kinds = called.trim().split(", ");
    const functions = [...named.matchAll(/`([a-z]+\/[a-zA-Z/]+:)?(\w+) (\{[^`]*\})`/g)];
    for (const [at, [, path = "", name = "", args = ""]] of functions.entries()) {
      if (path !== "") module = path;
      listed.set(`${module}${name}`, `${kinds[at] ?? kinds[0] ?? ""} ${args}`);
    }
  }
  const functions = await publicFunctions();
  expect(functions.size).toBeGreaterThan(25);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(functions));
});

test("the table of limits is that of the limits: `npm run codegen` writes it", async () => {
  const page = await readFile(new URL("../../docs/endpoints.md", import.meta.url), "utf8");
  expect(withLimits(page)).toBe(page);
});

/** `GET /mcp/market` → `token?`; `null` where the page tells the input in words. */
async function listedEndpoints(): Promise<Map<string, string[] | null>> {
  const page = await readFile(new URL("../../docs/endpoints.md", import.meta.url), "utf8");
  const listed = new Map<string, string[] | null>();
  for (const [, names = "", input = ""] of page.matchAll(/^\| (`[^|]+) \| ([^|]*) \|/gm)) {
    const methods: string[] = [];
    const fields = /^(?:`([\w?, ]+)`)?(?: \([^`]*\))?$/.exec(input.trim());
    for (const [, name = ""] of names.matchAll(/`([^`]+)`/g)) {
      const [first = "", path] = name.startsWith("/") ? ["", name] : name.split(" ");
      if (first !== "") methods.push(first);
      if (path === undefined) continue;
      for (const method of methods) {
        listed.set(`${method} ${path}`, fields === null ? null : (fields[1]?.split(", ") ?? []));
      }
    }
  }
  return listed;
}

/** The fields of an operation's input, and which of them have to be given. */
function inputOf({ parameters = [], requestBody }: Operation): Map<string, boolean> {
  const queried = parameters.flatMap(({ in: place, name, required = false }) =>
    place === "query" ? [[name, required] as const] : [],
  );
  const body = bodyShape.safeParse(resolved(requestBody?.content["application/json"]?.schema));
  const { properties = {}, required = [] } = body.data ?? {};
  const given = Object.keys(properties).map((name) => [name, required.includes(name)] as const);
  return new Map([...queried, ...given]);
}
const bodyShape = z.object({
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});

function resolved(schema: unknown): unknown {
  const reference = z.object({ $ref: z.string() }).safeParse(schema).data?.$ref;
  if (reference === undefined) return schema;
  return documented().document.components.schemas[reference.split("/").at(-1) ?? ""];
}

/** The names of the fields at the top of an answer, in each of its forms. */
function answerOf({ responses }: Operation): Set<string> {
  const names = new Set<string>();
  const add = (schema: unknown): void => {
    const { properties = {}, ...forms } = formsShape.parse(resolved(schema));
    for (const name of Object.keys(properties)) names.add(name);
    for (const form of Object.values(forms).flat()) add(form);
  };
  for (const status of ["200", "202"]) {
    const schema = responses[status]?.content?.["application/json"]?.schema;
    if (schema !== undefined) add(schema);
  }
  return names;
}
const forms = z.array(z.unknown()).optional();
const formsShape = z.object({
  properties: z.record(z.string(), z.unknown()).optional(),
  anyOf: forms,
  oneOf: forms,
  allOf: forms,
});

/** The page tells of them once, above the list. */
const TOLD_ONCE = new Set(["idempotencyKey?", "telegramChatId?", "telegramBotToken?"]);

test("the endpoints are all listed, with what each takes", async () => {
  const listed = await listedEndpoints();
  const { paths } = documented().document;
  const told = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
  // The tools' address speaks the Model Context Protocol: its forms are in no API document.
  expect([...listed.keys()].sort()).toEqual([...told.map(({ name }) => name), "POST /mcp"].sort());
  for (const { name, operation } of told) {
    const fields = listed.get(name);
    if (fields === null || fields === undefined) continue;
    const taken = inputOf(operation);
    const names = [...taken].map(([field, isRequired]) => (isRequired ? field : `${field}?`));
    expect([name, fields.filter((field) => !names.includes(field))]).toEqual([name, []]);
    const untold = names.filter((field) => !fields.includes(field) && !TOLD_ONCE.has(field));
    expect([name, untold]).toEqual([name, []]);
  }
});

test("the fields that the list shows of an answer are those that it has", async () => {
  const page = await readFile(new URL("../../docs/endpoints.md", import.meta.url), "utf8");
  const { paths } = documented().document;
  let checked = 0;
  for (const [, called = "", answer = ""] of page.matchAll(/^\| (`[^|]+) \| [^|]*\| ([^|]*) \|/gm)) {
    const [, list] = /^`([\w?, …]+)`/.exec(answer.trim()) ?? [];
    if (list === undefined) continue;
    const fields = list.split(", ").filter((name) => name !== "…");
    for (const [path = ""] of called.matchAll(/\/[\w/.-]*/g))
      for (const [method, operation] of Object.entries(paths[path] ?? {})) {
        if (!called.includes(method.toUpperCase())) continue;
        const names = answerOf(operation);
        const missing = fields.filter((field) => !names.has(field.replace("?", "")));
        expect([path, missing]).toEqual([path, []]);
        checked++;
      }
  }
  expect(checked).toBeGreaterThan(40);
});
