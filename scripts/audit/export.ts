/**
 * `npm run --silent audit > audit.jsonl`: the deployment's audit trail as JSON lines, oldest first, read page by page
 * through the Convex CLI. `-- --prod` and `-- --deployment NAME` are the CLI's own. Users appear under their
 * pseudonyms.
 */

import * as z from "zod";
import { readFile } from "node:fs/promises";
import { convexCli } from "../convexCli";
import { settingsFile, settingsIn } from "../env/file";
import { parseJson } from "../json";

const pageShape = z.object({
  lines: z.array(z.record(z.string(), z.string())),
  cursor: z.string().nullable(),
});

const USAGE = `Usage: npm run --silent audit [-- --prod] [--deployment NAME] > audit.jsonl

Writes the deployment's audit trail as JSON lines, oldest first; the options are the Convex CLI's own.
The output is the same with --json and without it.`;

const options = process.argv.slice(2).filter((one) => one !== "--json");
if (options.includes("--help")) {
  console.log(USAGE);
  process.exit(0);
}
const settings = settingsIn(await readFile(settingsFile(), "utf8").catch(() => ""));
let cursor: string | null = null;
do {
  const args = JSON.stringify({ cursor });
  const { code, stdout, stderr } = await convexCli(["run", "ops/audit:page", args, ...options], "", {
    settings,
  });
  const page = code === 0 ? pageShape.safeParse(parseJson(stdout)) : null;
  if (!page?.success) {
    console.error(`${stderr.trim() || "The CLI returned no page of the trail."}\nThe trail is not complete.`);
    process.exitCode = code === 0 ? 1 : code;
    break;
  }
  for (const line of page.data.lines) console.log(JSON.stringify(line));
  cursor = page.data.cursor;
} while (cursor !== null);
