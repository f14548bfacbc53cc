import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isTestLibrary, quickenLibrary } from "./scripts/stack/quicker.ts";

const REFERENCE = fileURLToPath(new URL("convex/pages/reference/bytes.ts", import.meta.url));
const SCHEMAS = fileURLToPath(new URL("convex/tools/schemas.ts", import.meta.url));
const TOOL_SCHEMAS = fileURLToPath(new URL("scripts/reference/toolSchemas.ts", import.meta.url));
const PUBLICATION = fileURLToPath(new URL("scripts/reference/publication.ts", import.meta.url));

/** They start a service's own packages. */
const ELSEWHERE = ["tests/clients/**"];

/** What a function may ask of its platform is `npm run check -- deploy`'s matter. */
const everywhere = {
  environment: "node",
  // Modules are loaded once for all files of a process: a file extends a shared `test`, since `override` at its top level
  // would change that of every file after it.
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

/** The API's document and the tools' schemas are build output: tests take them as the code makes them now, whatever was built last. */
export const freshReference: Plugin = {
  name: "fresh-reference",
  enforce: "pre",
  resolveId: (id, importer) =>
    id === "./bytes" && importer?.endsWith("/convex/pages/reference/texts.ts") === true
      ? REFERENCE
      : id === "./schemas" && importer?.endsWith("/convex/tools/http.ts") === true
        ? SCHEMAS
        : null,
  load: (id) =>
    id === REFERENCE
      ? `import { buildPublication } from ${JSON.stringify(PUBLICATION)};
export const { TAG, PROXY_SHA256, TEXTS, PAGE_HEADERS } = buildPublication();`
      : id === SCHEMAS
        ? `import { buildToolSchemas } from ${JSON.stringify(TOOL_SCHEMAS)};
export const SCHEMAS = buildToolSchemas();`
        : null,
};

/**
 * Small files that take long. Where no earlier run has told how long a file takes, the largest come first: these would
 * be the last, and end with one of two cores at work.
 */
const LONG = /tests\/(?:contract|invariants|stack)\//;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => (LONG.test(moduleId) ? 0 : 1);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

const QUICKER = fileURLToPath(new URL("scripts/stack/quicker.ts", import.meta.url));
export const quickerLibrary: Plugin = {
  name: "quicker-library",
  transform: (code, id) => (isTestLibrary(id) ? { code: quickenLibrary(code, QUICKER), map: null } : null),
};

export default defineConfig({
  plugins: [freshReference, quickerLibrary],
  test: {
    ...everywhere,
    // Much of the suite waits, for a chain or a process: three files at a time keep two cores at work.
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    include: ["tests/**/*.test.ts"],
    exclude: ELSEWHERE,
    // What a run has made of the sources serves the next one: half of a domain's start.
    experimental: { fsModuleCache: true },
  },
});
