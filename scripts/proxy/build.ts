import { chmod } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle";

/** `npm run build`: makes `dist/proxy.js`, the command that `package.json` names. npm runs it after every install. */

if (process.argv.includes("--help")) {
  console.log("Usage: npm run build\n\nMakes dist/proxy.js, the stdio proxy for AI clients.");
  process.exit(0);
}

const outfile = fileURLToPath(new URL("../../dist/proxy.js", import.meta.url));
await bundle(outfile);
await chmod(outfile, 0o755);
