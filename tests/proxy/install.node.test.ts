import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { startProcess } from "../stack/processes";
import { buildProxy, type Built } from "./support";

/** `install --write` on the files that people have. */

let built: Built;
let home: string;
let file: string;

beforeAll(async () => {
  built = await buildProxy();
});
afterAll(() => built.remove());
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "home ü "));
  file = join(home, ".cursor", "mcp.json");
  await mkdir(join(home, ".cursor"));
  return () => rm(home, { recursive: true, force: true });
});

const ADDRESS = "https://some.convex.site";

async function install(...words: string[]) {
  const args = [built.file, "install", "--client", "cursor", "--write", ...words];
  const env = { HOME: home, NOELCLAW_CONVEX_URL: ADDRESS };
  const { code, stdout, stderr } = await startProcess(process.execPath, args, env, { cwd: home }).ended;
  return { code, said: stdout + stderr };
}

const entry = () => ({ command: "node", args: [built.file], env: { NOELCLAW_CONVEX_URL: ADDRESS } });
const text = () => readFile(file, "utf8");
const beside = async () => (await readdir(join(file, ".."))).filter((name) => name !== "mcp.json");
/** What a client reads. */
const entered = async () =>
  z
    .looseObject({ mcpServers: z.record(z.string(), z.unknown()) })
    .parse(parse((await text()).replace(/^\ufeff/, ""), [], { allowTrailingComma: true }));

describe("the entry", () => {
  test.for([
    [
      "comments and a last comma",
      '{\n  // mine\n  "mcpServers": {\n    "other": { "command": "x" }, // why\n  },\n}\n',
    ],
    ["a byte order mark", '\ufeff{\n  "mcpServers": {\n    "other": { "command": "x" }\n  }\n}\n'],
    [
      "line ends and tabs of its own",
      '{\r\n\t"mcpServers": {\r\n\t\t"other": {\r\n\t\t\t"command": "x"\r\n\t\t}\r\n\t}\r\n}\r\n',
    ],
    [
      "numbers and letters as they were typed",
      '{\n  "n": 12345678901234567890,\n  "f": 1.0,\n  "e": "\\u00e9",\n  "mcpServers": {\n    "other": { "command": "x" }\n  }\n}\n',
    ],
  ] as const)("leaves %s", async ([, before]) => {
    await writeFile(file, before);
    expect(await install()).toMatchObject({ code: 0 });
    expect((await entered()).mcpServers).toEqual({ other: { command: "x" }, "market-research": entry() });
    const after = await text();
    for (const piece of before.split(/[\s{}]+/)) expect(after).toContain(piece);
    expect(after.includes("\r\n")).toBe(before.includes("\r\n"));
    expect(/[^\r]\n/.test(after)).toBe(!before.includes("\r\n"));
    expect(/\n\t/.test(after)).toBe(/\n\t/.test(before));
    const [backup = ""] = await beside();
    expect(await readFile(join(file, "..", backup), "utf8")).toBe(before);
  });

  test.for(["", "\n", "{}", '{"mcpServers":null}'])("is made where there is none: %j", async (before) => {
    await writeFile(file, before);
    expect(await install()).toMatchObject({ code: 0 });
    expect((await entered()).mcpServers).toEqual({ "market-research": entry() });
  });

  test("leaves what a person has set on it, and nothing at all when it is entered already", async () => {
    const mine = { command: "old", disabled: true, alwaysAllow: ["ask_noel"], env: { A: "1" } };
    await writeFile(file, JSON.stringify({ mcpServers: { "market-research": mine } }));
    expect(await install("--read-only")).toMatchObject({ code: 0 });
    const expected = {
      ...mine,
      ...entry(),
      args: [built.file, "--read-only"],
      env: { A: "1", ...entry().env },
    };
    expect((await entered()).mcpServers).toEqual({ "market-research": expected });
    const [first, ...more] = await beside();
    expect([typeof first, more]).toEqual(["string", []]);
    expect((await install("--read-only")).said).toContain("already: nothing was changed");
    expect(await beside()).toEqual([first]);
  });

  test("leaves the file as private as it was, and a link a link", async () => {
    const real = join(home, "dotfiles.json");
    await writeFile(real, '{"mcpServers":{"other":{"command":"x","env":{"TOKEN":"s"}}}}');
    await chmod(real, 0o600);
    await symlink("../dotfiles.json", file);
    expect(await install()).toMatchObject({ code: 0 });
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    expect((await stat(real)).mode & 0o777).toBe(0o600);
    expect(await readFile(real, "utf8")).toContain("market-research");
    const [backup = ""] = await beside();
    expect((await stat(join(file, "..", backup))).mode & 0o777).toBe(0o600);
    await rm(real);
    expect(await install()).toMatchObject({ code: 0 });
    expect([(await lstat(file)).isSymbolicLink(), (await stat(real)).isFile()]).toEqual([true, true]);
  });

  test.for([
    ["{ // mine", "in line 1"],
    ['{\n  "mcpServers": {\n    x\n  }\n}', "in line 3"],
    ["[]", "not JSON as expected"],
    ['{"mcpServers":[]}', "mcpServers"],
    ['{"mcpServers":{"a":{}},"mcpServers":{"b":{}}}', "not JSON as expected"],
    [Buffer.from('\ufeff{"mcpServers":{}}', "utf16le"), "not text in UTF-8"],
  ] as const)("is not made where something would be lost: %s", async ([before, problem]) => {
    await writeFile(file, before);
    const { code, said } = await install();
    expect([code, said]).toEqual([2, expect.stringContaining(problem)]);
    expect(said).toContain("nothing was changed");
    expect(said.trim().split("\n")).toHaveLength(1);
    expect([await readFile(file), await beside()]).toEqual([Buffer.from(before), []]);
  });

  test("is not made where the file cannot be one, which is said in a sentence", async () => {
    await mkdir(file);
    const { code, said } = await install();
    expect([code, said]).toEqual([
      2,
      expect.stringContaining("cannot be changed (EISDIR): nothing was changed"),
    ]);
    expect(await beside()).toEqual([]);
  });
});
