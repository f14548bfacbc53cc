import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as z from "zod";
import schema from "../../convex/schema";
import { corrects, mayFollow } from "../../convex/wallets/transactions/states";

/** The diagrams beside the code, and the walks through it, say what the code has. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const texts = new Map<string, string>();
function read(path: string): string {
  const text = texts.get(path) ?? readFileSync(`${root}${path}`, "utf8");
  texts.set(path, text);
  return text;
}
const convex = readdirSync(`${root}convex`, { recursive: true, encoding: "utf8" });
const architecture = read("ARCHITECTURE.md");

const vField = z.object({
  kind: z.string(),
  isOptional: z.string(),
  value: z.unknown().optional(),
  get members() {
    return z.array(vField).optional();
  },
});
const tables = z
  .record(z.string(), z.object({ validator: z.object({ fields: z.record(z.string(), vField).optional() }) }))
  .parse(schema.tables);

/** The literals of a validator; `null` where it takes other values too. */
function literalsOf({ kind, value, members }: z.output<typeof vField>): string[] | null {
  if (kind === "literal") return [String(value)];
  if (kind !== "union" || members === undefined) return null;
  const all = members.map(literalsOf);
  return all.some((one) => one === null) ? null : all.flatMap((one) => one ?? []);
}

/** Every state that a field can be in; of a field that may be left out, whether it is there. */
function statesOf(table: string, field: string): string[] {
  const validator = tables[table]?.validator.fields?.[field];
  if (validator === undefined) return [`${table}.${field} does not exist`];
  const absence = validator.isOptional === "optional" ? ["absent", "set"] : null;
  return literalsOf(validator) ?? absence ?? [`${table}.${field} has no states`];
}

type Transition = { from: string; to: string; label: string };
type Diagram = { folder: string; table: string; field: string; transitions: Transition[] };

const pages = convex.filter((path) => path.endsWith("states.md")).map((path) => `convex/${path}`);
const diagrams: Diagram[] = pages.flatMap((page) => {
  const sections = read(page).split(/^```mermaid\n/m);
  return sections.slice(1).map((section, i) => {
    const told = [...(sections[i] ?? "").matchAll(/^Table `(\w+)`, field `(\w+)`\.$/gm)];
    const [, table = "", field = ""] = told.at(-1) ?? [];
    const [first, ...lines] = (section.split("\n```")[0] ?? "").split("\n");
    expect([page, first]).toEqual([page, "stateDiagram-v2"]);
    const transitions = lines.map((line) => {
      // A colon or a semicolon would end a label.
      const arrow = /^ {2}(\[\*\]|\w+) --> (\[\*\]|\w+) : ([^:;]+)$/.exec(line);
      expect(arrow, `${page}: ${line}`).not.toBeNull();
      const [, from = "", to = "", label = ""] = arrow ?? [];
      return { from, to, label };
    });
    return { folder: page.replace(/\/states\.md$/, ""), table, field, transitions };
  });
});

/** Whether a module exports a function, or what a declaration of the platform's makes of one. */
function isExported(path: string, name: string): boolean {
  if (!existsSync(`${root}${path}`)) return false;
  return new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, "m").test(read(path));
}

/** `file.ts name`, beside the page or below `convex/`. */
function isThere(folder: string, named: string): boolean {
  const [file = "", name] = named.split(" ");
  const beside = `${folder}/${file}`;
  const path = existsSync(`${root}${beside}`) ? beside : `convex/${file}`;
  return name === undefined ? existsSync(`${root}${path}`) : isExported(path, name);
}

test("a diagram has the states of its table's field, and each can be come to", () => {
  expect(diagrams.length).toBeGreaterThan(20);
  for (const { table, field, transitions } of diagrams) {
    const drawn = new Set(transitions.flatMap(({ from, to }) => [from, to]));
    drawn.delete("[*]");
    expect([table, field, [...drawn].sort()]).toEqual([table, field, statesOf(table, field).sort()]);
    const reached = new Set(["[*]"]);
    for (const from of reached) for (const one of transitions) if (one.from === from) reached.add(one.to);
    expect([table, field, [...drawn].filter((state) => !reached.has(state))]).toEqual([table, field, []]);
  }
});

test("every field with states has its diagram", () => {
  const drawn = diagrams.map(({ table, field }) => `${table}.${field}`);
  const fields = Object.entries(tables).flatMap(([table, { validator }]) =>
    Object.entries(validator.fields ?? {})
      .filter(([name, field]) => /^(?:state|status|phase)$/.test(name) && literalsOf(field) !== null)
      .map(([name]) => `${table}.${name}`),
  );
  expect(fields.filter((field) => !drawn.includes(field))).toEqual([]);
  expect(new Set(drawn).size).toBe(drawn.length);
});

test("a transaction's diagram has the transitions that its machine allows", () => {
  const { transitions = [] } = diagrams.find(({ table }) => table === "transactions") ?? {};
  const drawn = transitions.filter(({ from }) => from !== "[*]").map(({ from, to }) => `${from} ${to}`);
  const states = ["prepared", "signed", "broadcast", "unknown", "confirmed", "failed"] as const;
  const allowed = states.flatMap((from) =>
    states.filter((to) => mayFollow(from, to) || corrects(from, to)).map((to) => `${from} ${to}`),
  );
  expect(drawn.sort()).toEqual(allowed.sort());
});

test("what a page of states names is there", () => {
  for (const { folder, table, transitions } of diagrams) {
    for (const { label } of transitions) {
      const named = label.replaceAll(/ \([^()]*\)/g, "").split(", ");
      const missing = named.filter((one) => !/^\S+\.ts \w+$/.test(one) || !isThere(folder, one));
      expect([table, label, missing]).toEqual([table, label, []]);
    }
  }
  for (const page of pages) {
    const named = Array.from(read(page).matchAll(/`([\w/]+\.ts(?: \w+)?)`/g), ([, one = ""]) => one);
    const missing = named.filter((one) => !isThere(page.replace(/\/states\.md$/, ""), one));
    expect([page, missing]).toEqual([page, []]);
  }
});

test("the architecture lists every page of states", () => {
  const listed = Array.from(architecture.matchAll(/\]\((convex\/[\w/]+\/states\.md)\)/g), ([, page]) => page);
  expect(listed.sort()).toEqual(pages.sort());
});

test("the walks name functions that are there, in six to ten steps each", () => {
  const walks = (architecture.split("\n## Walks\n")[1] ?? "").split("\n## ")[0] ?? "";
  const sections = walks.split(/^### /m).slice(1);
  expect(sections.map((section) => section.split("\n")[0])).toEqual([
    "Market",
    "A shift, from start to delivered report",
    "A swap",
    "A paid report",
    "A deposit",
    "A mention",
    "A signal, from issue to outcome",
    "An alert, from words to card",
  ]);
  for (const section of sections) {
    const steps = section.split(/^\d+\. /m).slice(1);
    expect(steps.length).toBeGreaterThanOrEqual(6);
    expect(steps.length).toBeLessThanOrEqual(10);
    for (const step of steps) {
      const named = Array.from(
        step.replaceAll(/\s+/g, " ").matchAll(/`(convex\/[\w/]+\.ts)` → ((?:`\w+`(?:, )?)+)/g),
        ([, path = "", names = ""]) => ({ path, names: names.match(/\w+/g) ?? [] }),
      );
      expect(named, step).not.toEqual([]);
      for (const { path, names } of named) {
        expect([path, names.filter((name) => !isExported(path, name))]).toEqual([path, []]);
      }
    }
  }
});

test("every file of convex/ that a page names is there", () => {
  const documents = [
    "README.md",
    "ARCHITECTURE.md",
    ...readdirSync(`${root}docs`).map((name) => `docs/${name}`),
  ];
  for (const page of documents.filter((name) => name.endsWith(".md"))) {
    // What stands in a block is an example.
    const prose = read(page).replaceAll(/^```[^]*?^```/gm, "");
    const named = Array.from(prose.matchAll(/\bconvex\/[\w/]+\.(?:ts|md)\b/g), ([path]) => path);
    expect([page, named.filter((path) => !existsSync(`${root}${path}`))]).toEqual([page, []]);
  }
});
