import { readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * Loads modules that functions import while they run, before the first test: loading from disk takes real time, during
 * which simulated time would run ahead.
 */

const LOADED = Symbol.for("the bundle's shared modules are loaded");
const shared = fileURLToPath(new URL("../../.local/bundle/isolate/_deps", import.meta.url));

if (!Reflect.has(globalThis, LOADED)) {
  Reflect.set(globalThis, LOADED, true);
  const modules = (await readdir(shared)).filter((name) => name.endsWith(".js"));
  // A module that needs more than Node is for a function that no test runs; otherwise the test would fail.
  await Promise.allSettled(modules.map((name) => import(pathToFileURL(path.join(shared, name)).href)));
}
