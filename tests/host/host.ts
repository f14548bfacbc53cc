import { fileURLToPath } from "node:url";
import { startStack } from "../../scripts/stack/stack";

/** Runs the small application on the host, in a process of its own that a test can kill. */
const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error("Usage: host.ts <state directory>");
const source = {
  directory: fileURLToPath(new URL("app", import.meta.url)),
  load: (file: string) => import(`./app/${file}.ts`),
};
const { apiUrl } = await startStack({ source, dataDir });
console.log(`up ${apiUrl}`);
