import { readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * What functions import while they run is loaded before the first test: a module that comes from the disk takes real time,
 * in which simulated time would run ahead.
 */

const LOADED = Symbol.for("the bundle's shared modules are loaded");
const shared = fileURLToPath(new URL("../../.local/bundle/isolate/_deps", import.meta.url));

if (!Reflect.has(globalThis, LOADED)) {
  Reflect.set(globalThis, LOADED, true);
  const modules = (await readdir(shared)).filter((name) => name.endsWith(".js"));
  // One that needs what Node has not is for a function that no test runs: it would say so itself.
  await Promise.allSettled(modules.map((name) => import(pathToFileURL(path.join(shared, name)).href)));
}
