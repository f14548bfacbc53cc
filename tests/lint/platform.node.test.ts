import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { repository, startProcess, temporaryDirectory } from "../stack/processes";

/**
 * `npm run check -- platform` proves from the text alone that every regular expression of the service takes time in
 * proportion to its text, that no function reads a whole table, and that no secret is compared with an operator that
 * stops at the first difference. Here is proved that it sees what it should, and that nothing is kept from it.
 */

const SEEN = {
  "a quadratic expression": [String.raw`/\s+$/`, "regexp(no-super-linear-move)"],
  "an exponential one": ["/^(?:a+)+$/", "regexp(no-super-linear-backtracking)"],
  "one made from a text": [String.raw`new RegExp("^(?:a+)+$")`, "regexp(no-super-linear-backtracking)"],
  "a linear one": ["/^a+b*$/"],
  "a whole table": ["ctx.db.query('users').collect()", "platform(whole-table)"],
  "a page of one": ["ctx.db.query('users').take(10)"],
  "a filter behind a table": ["ctx.db.query('users').filter(isOld)", "platform(filtered-read)"],
  "a filter of a list": ["users.filter(isOld)"],
  "a row without its table": ["ctx.db.get(id)", "platform(named-table)"],
  "a row of a table": ["ctx.db.get('users', id)"],
  "an action in an action": ["ctx.runAction(work, {})", "platform(action-in-action)"],
  "a secret compared": ["given === env.WEBHOOK_SECRET", "platform(secret-comparison)"],
  "a secret that is there": ["secret !== undefined"],
  "a secret that is none": ["signature === NO_SIGNATURE"],
  "a query that reads the clock": [
    "internalQuery({ args: {}, returns: v.null(), handler: () => find(Date.now()) })",
    "platform(clock-in-query)",
  ],
  "a query that is told the time": [
    "query({ args: { now: v.number() }, returns: v.null(), handler: (_, { now }) => find(new Date(now)) })",
  ],
  "a mutation that reads the clock": [
    "mutation({ args: {}, returns: v.null(), handler: () => find(Date.now()) })",
  ],
  "a function without validators": [
    "query({ handler: async (ctx) => null })",
    "@convex-dev(require-args-validator)",
  ],
} satisfies Record<string, [code: string, rule?: string]>;

/** Names a rule that holds here, or no rule at all. */
const EXEMPTS = /(?:es|ox)lint-disable(?:-next-line|-line)?\s*(?:\*\/|$|.*(?:regexp|platform)\/)/;

const report = z.object({ diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })) });

test("the platform's lint sees each thing for what it is", async () => {
  const folder = path.join(await temporaryDirectory(), "convex");
  await mkdir(folder);
  const cases = Object.entries(SEEN);
  await Promise.all(
    cases.map(([, [code]], index) =>
      writeFile(path.join(folder, `${index}.ts`), `export const one = ${code};\n`),
    ),
  );
  const config = path.join(repository, ".oxlintrc.platform.json");
  const oxlint = path.join(repository, "node_modules/oxlint/bin/oxlint");
  const { stdout } = await startProcess(process.execPath, [oxlint, "-c", config, "--format=json", folder])
    .ended;
  const { diagnostics } = report.parse(JSON.parse(stdout));
  const found = cases.map(([name], index) => [
    name,
    diagnostics.filter(({ filename }) => path.basename(filename) === `${index}.ts`).map(({ code }) => code),
  ]);
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(cases.map(([name, [, rule]]) => [name, rule === undefined ? [] : [rule]])),
  );
});

test("no source file is exempt", async () => {
  const convex = path.join(repository, "convex");
  const files = (await readdir(convex, { recursive: true })).filter(
    (file) => file.endsWith(".ts") && !file.startsWith("_generated"),
  );
  const exempt = files.map(async (file) => {
    const lines = (await readFile(path.join(convex, file), "utf8")).split("\n");
    return lines.filter((line) => EXEMPTS.test(line)).map((line) => `${file}: ${line.trim()}`);
  });
  expect((await Promise.all(exempt)).flat()).toEqual([]);
});
