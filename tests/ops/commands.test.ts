import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";

/**
 * Every command that documents, settings and the service's own texts name runs as it is written: `npx convex run` names a
 * function that there is, with its arguments, and none goes to another deployment than the one that people use.
 */

const root = new URL("../../", import.meta.url);
const modules = import.meta.glob<object>("../../convex/**/*.ts");

async function texts(): Promise<[file: string, text: string][]> {
  const inFolder = async (folder: string, ending: RegExp) =>
    (await readdir(new URL(folder, root), { recursive: true }))
      .filter((file) => ending.test(file) && !file.startsWith("_generated"))
      .map((file) => `${folder}${file}`);
  const files = [
    ...["README.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ".env.local.example"],
    ...(await inFolder("docs/", /\.md$/)),
    ...(await inFolder("convex/", /\.tsx?$/)),
    ...(await inFolder("scripts/", /\.ts$/)),
  ];
  const read = async (file: string): Promise<[string, string]> => [
    file,
    // A command may go on in the next line, of a comment as well.
    (await readFile(new URL(file, root), "utf8")).replace(/ *\\\n\s*/g, " ").replace(/`\n \* |\n# /g, " "),
  ];
  return Promise.all(files.map(read));
}

type Command = { file: string; verb: string; rest: string };

/** What the text has behind `npx convex`, to the command's end. */
async function commands(): Promise<Command[]> {
  return (await texts()).flatMap(([file, text]) =>
    [...text.matchAll(/npx convex ([a-z]+)((?: (?:'[^'\n]*'|(?![|#])[^\s`";,'|]+))*)/g)].map(
      ([, verb = "", rest = ""]) => ({ file, verb, rest: rest.trim() }),
    ),
  );
}

const functionShape = z.object({ exportArgs: z.custom<() => string>((one) => typeof one === "function") });
const argsShape = z.object({ value: z.record(z.string(), z.looseObject({ optional: z.boolean() })) });

/** The arguments of a function that there is; `null` if there is none of that name. */
async function argsOf(name: string) {
  const [path = "", exported = ""] = name.split(":");
  const found: unknown = Reflect.get((await modules[`../../convex/${path}.ts`]?.()) ?? {}, exported);
  const { data } = functionShape.safeParse(typeof found === "function" ? { ...found } : null);
  return data === undefined ? null : argsShape.parse(JSON.parse(data.exportArgs())).value;
}

const RUN = /^--prod ([\w/]+:\w+)(?: '(.*)')?$/;

test("every function that is to be run by hand is there, and takes what is written", async () => {
  const runs = (await commands()).filter(({ verb }) => verb === "run");
  expect(runs.length).toBeGreaterThan(10);
  for (const { file, rest } of runs) {
    const [, name = "", given = "{}"] = RUN.exec(rest) ?? [];
    expect([file, rest, name === "" ? "is no such command" : ""]).toEqual([file, rest, ""]);
    const args = await argsOf(name);
    const needed = Object.entries(args ?? {}).filter(([, { optional }]) => !optional);
    const names = Object.keys(z.record(z.string(), z.unknown()).parse(JSON.parse(given)));
    expect([file, name, args === null ? null : names.toSorted()]).toEqual([
      ...[file, name],
      needed.map(([one]) => one).toSorted(),
    ]);
  }
});

test("what is named in words as a function to run is there, too", async () => {
  const named = (await texts()).flatMap(([file, text]) =>
    /\.md$|example$/.test(file)
      ? [...text.matchAll(/(?<![\w/.:])((?:[a-z]\w*\/)+\w+:[a-z]\w*)(?![\w/])/g)].map(([, name = ""]) => [
          file,
          name,
        ])
      : [],
  );
  expect(named.length).toBeGreaterThan(20);
  for (const [file, name = ""] of named)
    expect([file, name, (await argsOf(name)) !== null]).toEqual([file, name, true]);
});

test("variables are set in and removed from the deployment that people use, and what a push leaves set is said to be removed", async () => {
  const all = await commands();
  for (const { file, rest, verb } of all)
    if (["env", "export", "import", "logs", "data"].includes(verb) && !/^(?:remove|set)?$/.test(rest))
      expect([file, verb, rest]).toEqual([file, verb, expect.stringContaining("--prod")]);
  const removed = all.flatMap(({ verb, rest }) =>
    verb === "env" && rest.startsWith("remove") ? [rest.split(" ").at(-1)] : [],
  );
  expect(new Set(removed)).toEqual(new Set(["TRADING_PAUSED", "WALLET_ENCRYPTION_KEY_PREVIOUS"]));
  const rotating = (await texts()).filter(
    ([file, text]) => /\.md$|example$/.test(file) && text.includes("rotation:rotate"),
  );
  expect(rotating.length).toBeGreaterThan(1);
  for (const [file, text] of rotating)
    for (const words of ["`rotated: 0`", "`failed: []`"])
      expect([file, text.replace(/\s+/g, " ").includes(words)]).toEqual([file, true]);
});
