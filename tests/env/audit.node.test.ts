import { expect, test } from "vitest";
import { ranHere } from "../support/commands";
import { project, useProject } from "./support";

/** A stand-in for the Convex CLI: two pages of a trail, as `convex run` prints them, or a failure behind the first. */
const CLI = `
const [run, name, args, ...options] = process.argv.slice(2);
const { cursor } = JSON.parse(args);
console.error("asked " + [run, name, String(cursor), ...options].join(" "));
const line = (subject) => ({ at: "2026-01-05T09:00:00.000Z", actor: "operator", action: "key rotated", subject });
if (cursor === null) console.log(JSON.stringify({ lines: [line("a"), line("b")], cursor: "next" }, null, 2));
else if (process.env.CLI_EXIT !== undefined) process.exit(Number(process.env.CLI_EXIT));
else if (process.env.CLI_SAYS !== undefined) console.log(process.env.CLI_SAYS);
else console.log(JSON.stringify({ lines: [line("c")], cursor: null }, null, 2));
`;

useProject(CLI);

async function exported(args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await ranHere("scripts/audit/export.ts", args, { env, cwd: project });
  const subjects = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { subject: string }).subject);
  return { code, subjects, stderr };
}

test("writes every page's lines and nothing else to its standard output", async () => {
  expect(await exported(["--prod"])).toEqual({ code: 0, subjects: ["a", "b", "c"], stderr: "" });
});

test("a trail that ends early is told, with the CLI's own word and exit code", async () => {
  const { code, subjects, stderr } = await exported(["--prod"], { CLI_EXIT: "3" });
  expect({ code, subjects }).toEqual({ code: 3, subjects: ["a", "b"] });
  expect(stderr).toContain("asked run ops/audit:page next --prod");
  expect(stderr).toContain("The trail is not complete.");
});

test("an answer that is no page is no trail", async () => {
  const { code, stderr } = await exported([], { CLI_SAYS: "null" });
  expect(code).toBe(1);
  expect(stderr).toContain("The trail is not complete.");
});
