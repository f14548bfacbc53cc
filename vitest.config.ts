import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from "vitest/config";

const REFERENCE = fileURLToPath(new URL("convex/ops/reference/bytes.ts", import.meta.url));
const PUBLICATION = fileURLToPath(new URL("scripts/reference/publication.ts", import.meta.url));

/** They start a service's own packages. */
const ELSEWHERE = ["tests/clients/**"];

/** What a function may ask of its platform is `npm run check -- deploy`'s matter. */
const everywhere = {
  environment: "node",
  // Modules are loaded once for all files of a process.
  isolate: false,
  server: { deps: { inline: ["convex-test"] } },
  // The simulated world makes many short-lived objects: more room for the young ones, fewer collections.
  execArgv: ["--max-semi-space-size=64"],
  // They end what hangs, and nothing else.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // A failure that happened once has to tell all that it saw.
  chaiConfig: { truncateThreshold: 0 },
} satisfies TestProjectInlineConfiguration["test"];

/** The API's document is build output: tests take it as the code makes it now, whatever was built last. */
export const freshReference: Plugin = {
  name: "fresh-reference",
  enforce: "pre",
  resolveId: (id, importer) =>
    id === "./bytes" && importer?.endsWith("/convex/ops/reference/texts.ts") === true ? REFERENCE : null,
  load: (id) =>
    id === REFERENCE
      ? `import { published } from ${JSON.stringify(PUBLICATION)};
export const { TAG, TEXTS, PAGE_HEADERS } = published();`
      : null,
};

/**
 * What costs the test library most is done quicker: it finds the member of a union that fits by throwing for each that
 * does not, writes and reads a function's validators anew for each call, and a query's bounds for each row, and guards
 * every global although a transaction changes six. What a value lacks, it still says itself.
 */
const SHORTCUTS = fileURLToPath(new URL("tests/support/shortcuts.ts", import.meta.url));
const QUICKER = [
  [
    "function validateValidator(validator, value) {",
    "function validateValidator(validator, value) { if (fits(validator, value)) return;",
  ],
  [
    "function evaluateFieldPath(fieldPath, document) {",
    "function evaluateFieldPath(fieldPath, document) { if (isPlainField(document[fieldPath])) return document[fieldPath];",
  ],
  ["const value = evaluateQueryValue(expr.value);", "const value = boundOf(expr, evaluateQueryValue);"],
  ["for (const key of PATCHABLE_GLOBALS)", "for (const key of OVERRIDDEN)"],
  ["JSON.parse(func.exportArgs())", "validatorsOf(func).args"],
  ["JSON.parse(func.exportReturns())", "validatorsOf(func).returns"],
] as const;
export const quickerLibrary: Plugin = {
  name: "quicker-library",
  transform: (code, id) => {
    if (!id.endsWith("/convex-test/dist/index.js")) return null;
    let quicker = `import { boundOf, fits, isPlainField, OVERRIDDEN, validatorsOf } from ${JSON.stringify(SHORTCUTS)};\n${code}`;
    for (const [usual, quick] of QUICKER) {
      if (!quicker.includes(usual)) throw new Error(`convex-test no longer has: ${usual}`);
      quicker = quicker.replace(usual, quick);
    }
    return { code: quicker, map: null };
  },
};

export default defineConfig({
  plugins: [freshReference, quickerLibrary],
  test: {
    ...everywhere,
    // Much of the suite waits, for a chain or a process: three files at a time keep two cores at work.
    maxWorkers: 3,
    include: ["tests/**/*.test.ts"],
    exclude: ELSEWHERE,
    // What a run has made of the sources serves the next one: half of a domain's start.
    experimental: { fsModuleCache: true },
  },
});
