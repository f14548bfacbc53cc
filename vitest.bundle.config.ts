import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";

/**
 * The suite's HTTP half once more, with every module of `convex/` replaced by what `npx convex deploy` would push of
 * it (`npm run check:deploy` writes that bundle, and then runs this).
 */

const sources = fileURLToPath(new URL("convex/", import.meta.url));
const bundle = fileURLToPath(new URL(".local/bundle/isolate/", import.meta.url));

const fromBundle: Plugin = {
  name: "modules-from-the-bundle",
  enforce: "pre",
  load(id) {
    const file = id.split("?")[0] ?? id;
    // Its source maps name files of the machine that bundled.
    if (file.startsWith(bundle))
      return readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
    if (!file.startsWith(sources) || !file.endsWith(".ts")) return null;
    const pushed = path.join(bundle, `${file.slice(sources.length, -".ts".length)}.js`);
    // Generated code and the schema's own imports are not entry points of the bundle.
    if (!existsSync(pushed)) return null;
    const hasDefault = /\bas default\b/.test(readFileSync(pushed, "utf8"));
    const name = JSON.stringify(pushed);
    return `export * from ${name};${hasDefault ? `\nexport { default } from ${name};` : ""}`;
  },
};

export default defineConfig({
  plugins: [fromBundle],
  test: {
    name: "bundle",
    maxWorkers: 2,
    environment: "edge-runtime",
    include: ["tests/**/*.test.ts"],
    // What does not drive the application, and what asks how it behaves with a thousand users.
    exclude: [
      "tests/**/*.node.test.ts",
      "tests/architecture.test.ts",
      "tests/lib/**",
      "tests/standins/**",
      "tests/research/sharing.test.ts",
      // Puts one of the sources' modules in the place of another.
      "tests/whales/unstorable.test.ts",
    ],
    testTimeout: 60_000,
  },
});
