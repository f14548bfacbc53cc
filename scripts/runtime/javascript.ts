import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { OperatorError } from "../command";

/**
 * Convex's own JavaScript, which its backend runs under every function. It is not part of this project, and is read
 * from a checkout of it.
 */

/** The commit of get-convex/convex-backend whose operations this check knows. */
const COMMIT = "94a42c3";

const here = fileURLToPath(new URL(".", import.meta.url));

/** The folder of the runtime. @throws OperatorError with the source of the runtime. */
export function runtimeFolder(): string {
  const folder = process.env["CONVEX_RUNTIME"] ?? "";
  if (existsSync(path.join(folder, "src/setup.ts"))) return path.resolve(folder);
  throw new OperatorError(
    `Set CONVEX_RUNTIME to the folder npm-packages/udf-runtime of a checkout of github.com/get-convex/convex-backend at commit ${COMMIT}: Convex's own runtime is no part of this repository.`,
  );
}

/** A script that evaluates to a function that installs the runtime as the globals of its context. */
export async function runtimeScript(folder: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { setup } from ${JSON.stringify(path.join(folder, "src/setup.ts"))};
import { enter } from "./inside.ts";
export const begin = (outside) => enter(outside, setup);`,
      resolveDir: here,
    },
    bundle: true,
    write: false,
    format: "iife",
    globalName: "runtime",
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "runtime",
        setup(bundler) {
          bundler.onResolve({ filter: /^udf-syscall-ffi$/ }, () => ({ path: "calls", namespace: "calls" }));
          bundler.onLoad({ filter: /./, namespace: "calls" }, () => ({
            contents: "export const performOp = (...given) => Convex.op(...given);",
          }));
          // A checkout has no packages, so use this project's.
          bundler.onResolve({ filter: /^[^./]/ }, ({ path: name, kind, pluginData }) =>
            pluginData === here ? null : bundler.resolve(name, { resolveDir: here, kind, pluginData: here }),
          );
        },
      },
    ],
  });
  return `(() => { ${outputFiles[0]?.text ?? ""}; return runtime.begin; })()`;
}
