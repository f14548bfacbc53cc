import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import rootPackage from "../../package.json";
import proxyPackage from "../../scripts/proxy/package.json";
import { startProcess } from "../stack/processes";
import { connect, fakeService, json, textOf, type FakeService } from "./support";

/** The proxy's own package: packed, installed into an empty folder without a network, and used as a person would. */

const MOST_BYTES = 60_000;
const PACKAGE = fileURLToPath(new URL("../../scripts/proxy/", import.meta.url));
const NAME = proxyPackage.name;
const PATIENCE_MS = 600_000;

let folder: string;
let tarball: string;
let service: FakeService;

const run = promisify(execFile);
const inFolder = (...path: string[]) => join(folder, ...path);
const bin = (name = NAME) => inFolder("node_modules", ".bin", name);

/** The installed program, with a home of its own. */
async function program(words: string[], env: Record<string, string> = {}) {
  const place = { cwd: inFolder("project") };
  const { code, stdout, stderr } = await startProcess(
    bin(),
    words,
    { NOELCLAW_CONVEX_URL: "", XDG_CONFIG_HOME: "", HOME: inFolder("home"), ...env },
    place,
  ).ended;
  return { code, out: stdout, said: stderr };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "packed-"));
  service = await fakeService();
  await mkdir(inFolder("project"));
  await mkdir(inFolder("home"));
  await writeFile(inFolder("package.json"), '{ "private": true }');
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: PACKAGE });
  tarball = inFolder((await readdir(folder)).find((file) => file.endsWith(".tgz")) ?? "");
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder });
}, PATIENCE_MS);
beforeEach(() => service.answers(json(500, { error: "The test told no answer" })));
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("the package", () => {
  test("is small, holds what it needs and nothing else, and depends on nothing", async () => {
    expect((await stat(tarball)).size).toBeLessThanOrEqual(MOST_BYTES);
    const installed = inFolder("node_modules", NAME);
    const files = await readdir(installed, { recursive: true });
    expect(files.toSorted()).toEqual([
      "LICENSE",
      "README.md",
      "dist",
      "dist/proxy.js",
      "dist/readOnly.js",
      "package.json",
    ]);
    expect(await readdir(inFolder("node_modules"))).toEqual([".bin", ".package-lock.json", NAME]);
    expect(proxyPackage).toMatchObject({ version: rootPackage.version, engines: rootPackage.engines });
  });

  test("offers all tools, and its second command those that change nothing", async () => {
    const whole = await connect(bin(), service.url);
    const careful = await connect(bin(`${NAME}-read-only`), service.url);
    try {
      expect((await whole.client.listTools()).tools).toHaveLength(19);
      const { tools } = await careful.client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        "get_market_data",
        "get_token_data",
        "ask_noel",
        "get_signal_history",
        "run_research",
        "get_research_status",
        "get_research_report",
        "get_wallet_balance",
      ]);
      service.answers(json(200, { success: true, stopped: 2 }));
      expect(textOf(await whole.call("stop_research", { userId: "alice" }))).toContain("2");
      service.answers(json(200, { success: true, stopped: 2 }));
      await expect(careful.call("stop_research", { userId: "alice" })).rejects.toThrow(/read-only/);
      expect(service.received).toEqual([]);
    } finally {
      await Promise.all([whole.client.close(), careful.client.close()]);
    }
  });

  test("is run by npx from its file", { timeout: PATIENCE_MS }, async () => {
    const env = { PATH: process.env.PATH, HOME: inFolder("home"), npm_config_cache: inFolder("cache") };
    const npx = async (...words: string[]) =>
      (await run("npx", ["--offline", "--yes", ...words], { cwd: inFolder("project"), env })).stdout;
    expect((await npx("--package", tarball, NAME, "--version")).trim()).toBe(proxyPackage.version);
    // What it enters for a client runs the same file.
    const told = await npx("--package", tarball, NAME, "install", "--client", "cursor");
    const { mcpServers } = z
      .object({ mcpServers: z.object({ "market-research": z.object({ args: z.array(z.string()) }) }) })
      .parse(JSON.parse(told.slice(told.indexOf("{"))));
    const { args } = mcpServers["market-research"];
    expect(args).toContain(tarball);
    expect((await npx(...args.slice(1), "--version")).trim()).toBe(proxyPackage.version);
  });
});

describe("a person who calls it", () => {
  test("is told how, and which version it is", async () => {
    const { code, out } = await program(["--help"]);
    expect([code, out]).toEqual([0, expect.stringContaining(`${NAME} install --client claude|claude-code`)]);
    for (const words of [["--version"], ["--read-only", "--version"]])
      expect(await program(words)).toEqual({ code: 0, out: `${proxyPackage.version}\n`, said: "" });
    expect((await program(["install", "--client", "emacs"])).said).toContain("--client is one of claude");
    expect(await program(["instal"])).toEqual({
      code: 2,
      out: "",
      said: `instal is not a command. See ${NAME} --help\n`,
    });
  });

  const files = {
    claude: [".config/Claude/claude_desktop_config.json", "mcpServers"],
    "claude-code": ["../project/.mcp.json", "mcpServers"],
    cursor: [".cursor/mcp.json", "mcpServers"],
    vscode: ["../project/.vscode/mcp.json", "servers"],
    windsurf: [".codeium/windsurf/mcp_config.json", "mcpServers"],
  } as const;

  // Where the configuration of Claude Desktop stands differs by system; tests run on one of them.
  test.for(Object.entries(files))("installs it into %s, and loses nothing", async ([client, [path, key]]) => {
    const env = { NOELCLAW_CONVEX_URL: `${service.url}/`, XDG_CONFIG_HOME: inFolder("home", ".config") };
    const file = inFolder("home", path);
    const printed = await program(["install", "--client", client], env);
    expect(printed.out).toContain(`"${key}"`);
    await expect(stat(file)).rejects.toThrow("ENOENT");

    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, JSON.stringify({ theme: "dark", [key]: { other: { command: "x" } } }));
    const { code, out } = await program(["install", "--client", client, "--write"], env);
    expect([code, out]).toEqual([0, expect.stringContaining(".backup")]);
    const entered = z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(file, "utf8")));
    expect(entered).toMatchObject({ theme: "dark", [key]: { other: { command: "x" } } });
    const { [key]: servers } = entered;
    const {
      command,
      args,
      env: given,
    } = z.object({ "market-research": serverShape }).parse(servers)["market-research"];
    expect([command, given]).toEqual(["node", { NOELCLAW_CONVEX_URL: service.url }]);
    const [backup = ""] = (await readdir(join(file, ".."))).filter((one) => one.endsWith(".backup"));
    expect(await readFile(join(file, "..", backup), "utf8")).toContain('"other"');

    // What was entered starts, and a tool answers.
    service.answers(json(200, { success: true, stopped: 3 }));
    const started = await connect(args[0] ?? "", given.NOELCLAW_CONVEX_URL);
    expect(textOf(await started.call("stop_research", { userId: "alice" }))).toContain("3");
    await started.client.close();
  });
  const serverShape = z.object({
    command: z.string(),
    args: z.array(z.string()),
    env: z.object({ NOELCLAW_CONVEX_URL: z.string() }),
  });

  test("learns by check what is wrong", async () => {
    const check = async (url: string) => program(["check"], { NOELCLAW_CONVEX_URL: url });
    service.answers(
      json(200, { status: "degraded", version: "0.1.0", reasons: ["SWAP_API_KEY is not set"] }),
    );
    expect(await check(service.url)).toEqual({
      code: 0,
      out: `The service at ${service.url} answers: version 0.1.0, degraded.\n- SWAP_API_KEY is not set\n`,
      said: "",
    });
    expect(service.received.map(({ path }) => path)).toEqual(["/health"]);
    service.answers(json(200, { hello: "world" }));
    expect(await check(service.url)).toMatchObject({
      code: 1,
      said: expect.stringContaining("not this service"),
    });
    const gone = await fakeService();
    await gone.stop();
    expect(await check(gone.url)).toMatchObject({ code: 1, said: expect.stringContaining("ECONNREFUSED") });
    // The service's own words name no way out; an address that is almost right gets the part that is wrong.
    service.answers(json(404, { error: "There is no endpoint at /mcp/health" }));
    expect((await check(`${service.url}/mcp`)).said).toBe(
      "There is no endpoint at /mcp/health. Set NOELCLAW_CONVEX_URL to the service's address. It ends after the host: leave out the path.\n",
    );
    expect((await check("http://some.convex.cloud.localhost:1")).said).toContain("ends in .convex.site");
    expect(await check("nowhere")).toMatchObject({
      code: 1,
      said: expect.stringContaining("is not an address"),
    });
  });
});
