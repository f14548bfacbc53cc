import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { repository } from "../stack/processes";

/** What is installed is what was locked: every package by its hash, and from whatever registry the reader uses. */

const lockShape = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ integrity: z.string().optional(), resolved: z.string().optional() }),
  ),
});

test.for(["package-lock.json", "tests/clients/package-lock.json"])(
  "%s has a hash of every package, and no address",
  (file) => {
    const { packages } = lockShape.parse(JSON.parse(readFileSync(path.join(repository, file), "utf8")));
    const { "": _root, ...locked } = packages;
    expect(Object.keys(locked).length).toBeGreaterThan(200);
    const bare = Object.entries(locked).filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ""));
    expect(bare.map(([name]) => name)).toEqual([]);
    expect(Object.values(locked).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  },
);

test("a workflow runs actions by their commit, whose code nobody can change", () => {
  const workflow = readFileSync(path.join(repository, ".github/workflows/check.yml"), "utf8");
  const uses = Array.from(workflow.matchAll(/uses: (\S+)/g), ([, action = ""]) => action);
  expect(uses.length).toBeGreaterThan(1);
  for (const action of uses) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
});
