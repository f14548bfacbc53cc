import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import * as z from "zod";
import { root, type PushedModule } from "../push";

/** The globals used by modules, compared with those of Convex's own runtime: `npm run check -- runtime` verifies the list. */

/** In addition to the language's own. */
export const GLOBALS = `
  AbortController AbortSignal AsyncLocalStorage Blob console Convex crypto DOMException Event EventTarget fetch File FormData
  Headers performance process ReadableStream Request Response self TextDecoder TextEncoder TransformStream URL
  URLSearchParams WebAssembly WritableStream atob btoa clearInterval clearTimeout setInterval setTimeout structuredClone
`
  .trim()
  .split(/\s+/);

/** Optional globals of packages; the service's own code uses none of them. */
const LOOKED_FOR = `
  Buffer Deno DOMMatrix document EdgeRuntime global location navigator onmessage postMessage queueMicrotask WebKitCSSMatrix WebSocket
  window Worker
`
  .trim()
  .split(/\s+/);

const report = z.object({
  diagnostics: z.array(z.object({ message: z.string(), filename: z.string() })),
});

/** The globals used by a module of the service or of the bundle that the runtime lacks. */
export async function findMissingGlobals(modules: readonly PushedModule[]): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "globals-"));
  try {
    for (const { path: name, source } of modules) {
      const file = path.join(folder, "push", name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, source);
    }
    const ownProblems = await lintGlobals(folder, path.join(root, "convex"), GLOBALS);
    return [
      ...ownProblems,
      ...(await lintGlobals(folder, path.join(folder, "push"), [...GLOBALS, ...LOOKED_FOR])),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function lintGlobals(folder: string, where: string, names: readonly string[]): Promise<string[]> {
  const config = path.join(folder, "oxlintrc.json");
  const globals = Object.fromEntries(names.map((name) => [name, "readonly"]));
  const only = { plugins: [], categories: { correctness: "off" }, rules: { "eslint/no-undef": "error" } };
  await writeFile(config, JSON.stringify({ ...only, env: { builtin: true, es2024: true }, globals }));
  const oxlint = path.join(
    path.dirname(createRequire(import.meta.url).resolve("oxlint/package.json")),
    "bin/oxlint",
  );
  const output = await new Promise<string>((resolve) =>
    // The exit code is 1 if it has found something.
    execFile(
      process.execPath,
      [oxlint, "-c", config, "--format=json", where],
      { maxBuffer: 2 ** 26 },
      (_, text) => resolve(text),
    ),
  );
  return report
    .parse(JSON.parse(output))
    .diagnostics.map(
      ({ message, filename }) =>
        `${path.relative(where, path.resolve(filename))}: ${message.replace(/\.$/, "")} on the platform`,
    );
}
