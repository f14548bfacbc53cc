import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as z from "zod";
import { rendered } from "../../scripts/bench/table";

/**
 * `npm run test:hostile`: every attack that is tried, how often, and what got through. Hundreds of hostile chains and
 * thousands of dishonest swaps are commands of their own (`npm run test:long -- reorgs`, `-- swaps`).
 */

const ELSEWHERE = [
  ...["troubles/paidForgeries", "troubles/paidDoubts", "paidFocus", "relayer"].map(
    (name) => `tests/payments/${name}.node`,
  ),
  "tests/wallets/machine.node",
  "tests/messenger/named",
  "tests/web/recovery",
];
const RUNS = [
  ["run", "tests/hostile", ...ELSEWHERE],
  ["run", "--config", "vitest.long.config.ts", "tests/long/starvation.node.test.ts"],
];

const reportShape = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          meta: z
            .object({
              tries: z.number().optional(),
              through: z.number().optional(),
              figures: z.string().optional(),
            })
            .optional(),
        }),
      ),
    }),
  ),
});

const USAGE = `Usage: npm run test:hostile

Tries every attack and shows what got through, with figures. This takes some minutes. npm run test:long runs parts of it at
greater length.`;

if (process.argv.includes("--help")) {
  console.log(USAGE);
  process.exit(0);
}

const folder = mkdtempSync(path.join(tmpdir(), "hostile-"));
const rows: string[][] = [];
const notes: string[] = [];
let failed = 0;
for (const [index, args] of RUNS.entries()) {
  const file = path.join(folder, `${index}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", ...args, ...reporters], {
    stdio: "inherit",
  });
  const report = reportShape.parse(JSON.parse(readFileSync(file, "utf8")));
  for (const { fullName, status, meta = {} } of report.testResults.flatMap((one) => one.assertionResults)) {
    const through = status === "passed" ? 0 : Math.max(1, meta.through ?? 1);
    failed += through;
    if (meta.figures !== undefined) notes.push(meta.figures);
    rows.push([fullName.trim(), String(meta.tries ?? 1), String(through)]);
  }
}
rmSync(folder, { recursive: true });
const columns = ["attack", "tries", "got through"];
console.log(rendered("What got through?", { inputs: [], columns, rows, notes }));
process.exit(failed === 0 ? 0 : 1);
