import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

/** A few of the rounds of `npm run test:long -- crashes`, in a process of their own: they replace its clock. */

const ROUNDS = 2;

test("the service dies at random calls and commits, and nothing is lost or done twice", async () => {
  const main = ["scripts/run.cjs", "tests/faults/rounds/main.ts", "--rounds", String(ROUNDS), "--seed", "3"];
  const child = spawn(process.execPath, main, { stdio: ["ignore", "pipe", "inherit"] });
  const output = await text(child.stdout);
  const [, pictures, deaths] = /(\d+) pictures, through (\d+) deaths$/m.exec(output) ?? [];
  expect(output).toContain(`${ROUNDS} rounds of ${ROUNDS} held`);
  expect(Number(pictures)).toBeGreaterThan(0);
  expect(Number(deaths)).toBeGreaterThanOrEqual(ROUNDS / 2);
}, 600_000);
