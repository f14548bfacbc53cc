/**
 * Writes the parts of `convex/_generated` that change without a deployment: `npm run codegen`. With `--check` it fails
 * if a file would change. The Convex CLI writes the same lines when it is connected to a deployment.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const USAGE = `Usage: npm run codegen

Writes convex/_generated without a deployment. npm run check -- codegen fails when a file would change.`;

const check = process.argv.includes("--check");
const unknown = process.argv.slice(2).filter((name) => name !== "--check" && name !== "--help");
if (process.argv.includes("--help") || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no option ${unknown.join(", ")}.\n`);
  console.log(USAGE);
  process.exit(unknown.length > 0 ? 1 : 0);
}

const convex = fileURLToPath(new URL("../convex", import.meta.url));

/** All modules, with functions or without, as the CLI lists them. The API document is build output, and always listed. */
const modules = [
  ...new Set([
    "pages/reference/bytes.ts",
    "tools/schemas.ts",
    ...readdirSync(convex, { recursive: true, encoding: "utf8" }),
  ]),
]
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => /^(?!_generated\/|schema\.ts$|[\w.]*\.config\.ts$)[\w/]+\.tsx?$/.test(name))
  .map((name) => name.replace(/\.tsx?$/, ""))
  .sort();
const identifier = (name) => name.replaceAll("/", "_");

const config = readFileSync(join(convex, "convex.config.ts"), "utf8");
const variables = Array.from(
  config.matchAll(/^ {4}(\w+): v\.optional\(v\.string\(\)\),$/gm),
  ([, name]) => name,
);

const lists = {
  "api.d.ts": [
    [
      /(?:import type \* as .*\n)+/,
      modules.map((name) => `import type * as ${identifier(name)} from "../${name}.js";\n`).join(""),
    ],
    [
      /(?: {2}"?[\w/]+"?: typeof \w+;\n)+/,
      modules
        .map((name) => `  ${name.includes("/") ? `"${name}"` : name}: typeof ${identifier(name)};\n`)
        .join(""),
    ],
  ],
  "server.d.ts": [
    [
      /(?: {2}readonly \w+: string \| undefined;\n)+/,
      variables.map((name) => `  readonly ${name}: string | undefined;\n`).join(""),
    ],
  ],
};

const changed = Object.entries(lists).flatMap(([file, replaced]) => {
  const path = join(convex, "_generated", file);
  const before = readFileSync(path, "utf8");
  const after = replaced.reduce((text, [pattern, lines]) => text.replace(pattern, () => lines), before);
  if (after !== before) writeFileSync(path, after);
  return after === before ? [] : [file];
});
if (check && changed.length > 0) {
  console.error(`convex/_generated was out of date (now written): ${changed.join(", ")}`);
  process.exit(1);
}
console.log(changed.length > 0 ? `written: ${changed.join(", ")}` : "convex/_generated is up to date");
