import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/**
 * `npm run check -- unused`: no file, dependency or export without a use. The application's functions are called through
 * `_generated/api`, by name: here it imports the public ones, which the web application calls, and each internal one
 * that some source names.
 */

const { scripts } = JSON.parse(read("package.json"));
const commands = Object.values(scripts)
  .flatMap((line) => line.match(/\S+\.ts\b/g) ?? [])
  // A package of its own, with its own dependencies.
  .filter((file) => !file.startsWith("tests/clients/"));

const PUBLIC = new Set(["query", "mutation", "action"]);

export default {
  // The plugin takes every export of every module for a function.
  convex: false,
  oxlint: { config: [".oxlintrc.json", ".oxlintrc.platform.json"] },
  entry: [
    ...new Set(commands),
    "convex/**/*.{ts,tsx}",
    // Commands without a name in package.json.
    "scripts/{bench/main,deploy,screenshots}.ts",
    "scripts/runtime/main.ts",
    "scripts/pictures/embed.ts",
    "scripts/chain/build.ts",
  ],
  project: ["convex/**/*.{ts,tsx}", "scripts/**/*.{ts,mjs,cjs}", "tests/**/*.ts", "!tests/clients/**"],
  includeEntryExports: true,
  // Called by name, by a file's path, or by the platform.
  ignoreIssues: {
    "*.config.ts": ["exports"],
    // The tests' configuration, and the check on Convex's own runtime, name them in modules of their own making.
    "scripts/reference/publication.ts": ["exports"],
    "scripts/runtime/inside.ts": ["exports"],
    "convex/_generated/**": ["exports", "types"],
    "convex/{auth,convex}.config.ts": ["exports"],
  },
  // Named in scripts/check.ts, what the contracts of scripts/chain import, and what Convex's own runtime does.
  ignoreDependencies: [
    "abortcontroller-polyfill",
    "object-inspect",
    "web-streams-polyfill",
    "@openzeppelin/contracts",
    "@uniswap/v4-periphery",
    "oxfmt",
    "oxlint",
    "oxlint-tsgolint",
  ],
  compilers: {
    ts: (text, file) => (file.endsWith("/convex/_generated/api.d.ts") ? generatedApi() : text),
  },
};

function generatedApi() {
  const sources = ["convex", "scripts", "tests"].flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => ({ name: `${folder}/${name}`, text: read(`${folder}/${name}`) })),
  );
  // The end of `internal.wallets.transactions.progress.signatures.send`: some take `signatures` out of it first.
  const chains = sources.flatMap(({ text }) => text.match(/\b\w+(\s*\.\s*\w+)+/g) ?? []);
  const called = new Set(
    chains.map((chain) =>
      chain
        .split(/\s*\.\s*/)
        .slice(-2)
        .join("."),
    ),
  );
  const imports = sources.flatMap(({ name, text }) => {
    const module = name.replace(/^convex\/(.*)\.ts$/, "$1");
    if (module === name) return [];
    return [...text.matchAll(/^export const (\w+) = (\w+)\(/gm)]
      .filter(
        ([, exported, builder]) => PUBLIC.has(builder) || called.has(`${path.basename(module)}.${exported}`),
      )
      .map(([, exported]) => `import { ${exported} } from "../${module}";`);
  });
  return `${imports.join("\n")}\nexport declare const api, internal, components;`;
}

function read(file) {
  return readFileSync(new URL(file, import.meta.url), "utf8");
}
