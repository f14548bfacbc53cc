import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { PUBLIC_SOURCES, SOURCE_NAMES } from "../../convex/figures/publicSources";
import { tools } from "../../convex/tools/list";
import { PAGES, readPage } from "./documents";

/** What the documents name exists: pages, files, commands, and functions of the state diagrams. */

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync("package.json", "utf8")));

test.for(PAGES)("%s links to pages that exist", (page) => {
  const links = [...readPage(page).matchAll(/\]\(([^)#\s]+)(#[^)\s]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !target.includes("://"));
  expect(links.filter((target) => !existsSync(normalize(join(dirname(page), target))))).toEqual([]);
});

test.for(PAGES)("%s names scripts and files that exist", (page) => {
  const text = readPage(page);
  const commands = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name);
  expect(commands.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  const files = [...text.matchAll(/(?:npx tsx|npx vitest run) ([\w./-]+)/g)].map(([, file = ""]) => file);
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
  const named = [...text.matchAll(/`((?:convex|scripts|tests|docs|assets)\/[\w./-]+)`/g)].map(
    ([, file = ""]) => file,
  );
  expect(named.filter((file) => !existsSync(file))).toEqual([]);
});

/** `wallets/orders/placing.placeOrder`, `lib/env`, `pages/home.tsx`: a module or a folder of convex/, and a name in it. */
const MODULE = /`((?:\w+\/)+\w+)(?:\.(?!tsx?`)(\w+))?(?:\.tsx?)?`/g;

/** Rooms of the service: another path in backticks is a package's, or a built file's. */
const ROOMS = readdirSync("convex");

test.for(PAGES)("%s names modules and functions that exist", (page) => {
  const found = [...readPage(page).matchAll(MODULE)].filter(([, path = ""]) =>
    ROOMS.includes(path.split("/")[0] ?? ""),
  );
  const missing = found.filter(([, path = "", name]) => {
    const file = [`convex/${path}.ts`, `convex/${path}.tsx`].find((one) => existsSync(one));
    if (name === undefined) return file === undefined && !existsSync(`convex/${path}`);
    return (
      file === undefined || !new RegExp(`(?:function|const) ${name}\\b`).test(readFileSync(file, "utf8"))
    );
  });
  expect(missing.map(([all]) => all)).toEqual([]);
});

test("docs/ name every tool and every public source", () => {
  const clients = readPage("docs/clients.md");
  expect(tools.filter(({ name }) => !clients.includes(`\`${name}\``))).toEqual([]);
  const [research, operating] = [readPage("docs/research.md"), readPage("docs/operating.md")];
  const untold = PUBLIC_SOURCES.filter(
    (source) => !research.includes(SOURCE_NAMES[source]) || !operating.includes(`\`${source}\``),
  );
  expect(untold).toEqual([]);
});

test("ARCHITECTURE.md names every file that sends a card", () => {
  const [, table = ""] =
    /^## Where the words of a card are$([^]*?)^## /m.exec(readPage("ARCHITECTURE.md")) ?? [];
  const files = readdirSync("convex", { recursive: true, encoding: "utf8" });
  const senders = files.filter(
    (file) =>
      /\.tsx?$/.test(file) &&
      /\b(?:enqueue\w*Card|announce|broadcast|notifyEverywhere)\(ctx/.test(
        readFileSync(join("convex", file), "utf8"),
      ),
  );
  expect(senders.length).toBeGreaterThan(10);
  // They send the words of other files.
  const passing = ["messenger/model.ts", "messenger/subscriptions.ts", "bot/outcomes.ts"];
  const named = (file: string) => table.includes(`\`${file.replace(/\.ts$/, "")}`);
  expect(senders.filter((file) => !passing.includes(file) && !named(file))).toEqual([]);
});

/** `orders/steps.ts mined, astray (another block decides)`: a file beside the page, and names that it declares. */
const REFERENCE = /([\w/]+\.ts) ((?:\w+)(?:, \w+(?![\w/]*\.ts))*)/g;

test.for(PAGES.filter((page) => page.endsWith("states.md")))("%s names functions that exist", (page) => {
  const references = [...readPage(page).matchAll(REFERENCE)];
  expect(references.length).toBeGreaterThan(0);
  const missing = references.flatMap(([, file = "", names = ""]) => {
    const path = [join(dirname(page), file), join("convex", file)].find((one) => existsSync(one));
    if (path === undefined) return [file];
    const source = readFileSync(path, "utf8");
    const declares = (name: string) =>
      new RegExp(`^(?:export )?(?:async )?(?:function|const) ${name}\\b`, "m").test(source);
    return names.split(", ").flatMap((name) => (declares(name) ? [] : [`${file} ${name}`]));
  });
  expect(missing).toEqual([]);
});
