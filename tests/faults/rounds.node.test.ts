import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

/** One of the rounds of `npm run test:long -- crashes`, in a process of its own: it replaces its clock. */

const ROUNDS = 1;

test("the service dies at random calls and commits, and nothing is lost or done twice", async () => {
  const main = ["scripts/run.cjs", "tests/faults/rounds/main.ts", "--rounds", String(ROUNDS), "--seed", "3"];
  const child = spawn(process.execPath, main, { stdio: ["ignore", "pipe", "inherit"] });
  const output = await text(child.stdout);
  const [, pictures, deaths] = /(\d+) pictures, through (\d+) deaths$/m.exec(output) ?? [];
  expect(output).toContain(`${ROUNDS} rounds of ${ROUNDS} held`);
  expect(Number(pictures)).toBeGreaterThan(0);
  expect(Number(deaths)).toBeGreaterThan(0);
});
