import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { ELSEWHERE, everywhere } from "./vitest.config.ts";

/**
 * The tests as `npm test` runs them: with every module of `convex/` replaced by what `npx convex deploy` would push of it.
 * `npm run check:deploy` writes that bundle.
 */

const sources = fileURLToPath(new URL("convex/", import.meta.url));
const bundle = fileURLToPath(new URL(".local/bundle/isolate/", import.meta.url));

const fromBundle: Plugin = {
  name: "modules-from-the-bundle",
  enforce: "pre",
  load(id) {
    // What is asked for with a query, such as its own text, is no module.
    if (!id.startsWith(sources) || !id.endsWith(".ts")) return null;
    const pushed = path.join(bundle, `${id.slice(sources.length, -".ts".length)}.js`);
    // Generated code and the schema's own imports are not entry points of the bundle.
    if (!existsSync(pushed)) return null;
    const hasDefault = /\bas default\b/.test(readFileSync(pushed, "utf8"));
    const name = JSON.stringify(pushed);
    return `export * from ${name};${hasDefault ? `\nexport { default } from ${name};` : ""}`;
  },
};

/** They take longest, and begin first: whichever began last would end alone. */
const LONGEST = [
  "contract/contract.node.test.ts",
  "hostile/fairShare.test.ts",
  "proxy/tools.node.test.ts",
  "kit/kit.node.test.ts",
  "payments/troubles/paidCrashes.node.test.ts",
  "doctor/doctor.node.test.ts",
  "whales/measurements.node.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return found === -1 ? LONGEST.length : found;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  plugins: [fromBundle],
  test: {
    ...everywhere,
    sequence: { sequencer: LongestFirst },
    // Much of the suite waits, for a chain or a process: four files at a time keep two cores at work.
    maxWorkers: 4,
    include: ["tests/**/*.test.ts", "scripts/host/*.test.ts"],
    exclude: ELSEWHERE,
    // What was pushed runs as it is: Node's own imports are faster than what Vitest makes of them, too.
    server: { deps: { external: [/[/]\.local[/]bundle[/]/] } },
    globalSetup: ["tests/support/bundle.ts"],
    setupFiles: ["tests/support/preload.ts"],
  },
});
