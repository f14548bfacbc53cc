import { renameSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

/**
 * A script of this repository in one file of plain JavaScript, with the packages it uses: the same code, started in a
 * tenth of the time that it takes to compile and load hundreds of modules. Not for scripts that load the application,
 * whose modules are read from its directory.
 */

const repository = fileURLToPath(new URL("../..", import.meta.url));
/** From here the one package that cannot be bundled is found: it runs a binary of its own. */
const cache = path.join(repository, "node_modules/.cache/scripts");
const NOT_BUNDLED = ["esbuild"];

const bundles = new Map<string, string>();

export function bundled(script: string): string {
  const known = bundles.get(script);
  if (known !== undefined) return known;
  const name = path.relative(path.join(repository, "scripts"), script).replace(/\W+/g, "-");
  const file = path.join(cache, `${name}.mjs`);
  const fresh = `${file}.${process.pid}`;
  buildSync({
    entryPoints: [script],
    outfile: fresh,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "esm",
    external: NOT_BUNDLED,
    logLevel: "error",
    // Packages that are not modules ask for Node's own parts by `require`.
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
  });
  // Another process may be doing the same.
  renameSync(fresh, file);
  bundles.set(script, file);
  return file;
}
