import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, expect, test } from "vitest";
import { createIssuer } from "../../scripts/stack/issuer";
import { keptKeys } from "../../scripts/stack/keys";
import { loadSources } from "../../scripts/stack/modules";
import { startProcess, startScript, temporaryDirectory } from "./processes";

const scripts = fileURLToPath(new URL("../../scripts/stack/", import.meta.url));
const convex = fileURLToPath(new URL("../../convex/", import.meta.url));
const freePorts = { PORT: "0", API_PORT: "0", PROVIDERS_PORT: "0", LOCAL_ENV_FILE: "/dev/null" };

function startMain(args: string[], env: Record<string, string> = {}) {
  return startScript(path.join(scripts, "main.ts"), args, { ...freePorts, ...env });
}

async function siteOf(stack: ReturnType<typeof startMain>): Promise<string> {
  const [, site = ""] = await stack.output(/HTTP +(\S+)/);
  return site;
}

test("npm start serves the whole service, logs what it answers, and ends cleanly on SIGTERM", async () => {
  const stack = startMain(["--ephemeral"]);
  const site = await siteOf(stack);
  const market = await fetch(`${site}/mcp/market`);
  expect(market.status).toBe(200);
  expect(await market.json()).toHaveProperty("keyPrices");

  const unknown = await fetch(`${site}/no/such/path`);
  expect(unknown.status).toBe(404);
  expect(await unknown.json()).toHaveProperty("error");
  await stack.output(/^\d\d:\d\d:\d\d http GET \/no\/such\/path 404 \d+ ms$/m);

  stack.kill("SIGTERM");
  expect(await stack.ended).toMatchObject({ code: 0, stderr: "" });
});

test("run by npm, it ends with the shell that npm ends", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const main = `"${process.execPath}" --import tsx "${path.join(scripts, "main.ts")}"; true`;
  const env = { ...freePorts, LOCAL_STATE_DIR, npm_lifecycle_event: "start" };
  const shell = startProcess("sh", ["-c", main], env);
  await siteOf(shell);
  shell.kill("SIGTERM");
  // The shell's output ends when nothing that it started is left.
  await shell.ended;
  expect(await readFile(path.join(LOCAL_STATE_DIR, "data.json"), "utf8")).toContain('"components"');
});

test("rows and keys outlive a restart", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const first = startMain([], { LOCAL_STATE_DIR });
  const started = await fetch(`${await siteOf(first)}/mcp/research/start`, {
    method: "POST",
    body: JSON.stringify({ userId: "restart-user-1", token: "BTC" }),
  });
  const { jobId } = (await started.json()) as { jobId: string };
  first.kill("SIGINT");
  expect((await first.ended).code).toBe(0);
  const keys = await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8");

  const second = startMain([], { LOCAL_STATE_DIR });
  const status = await fetch(`${await siteOf(second)}/mcp/research/status?userId=restart-user-1`);
  expect(await status.json()).toMatchObject({ activeJob: { jobId, status: "active" } });
  expect(await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8")).toBe(keys);
  expect((await stat(path.join(LOCAL_STATE_DIR, "keys.json"))).mode & 0o777).toBe(0o600);
});

test.each(["PORT", "API_PORT", "PROVIDERS_PORT"])("a busy %s is one line that names it", async (variable) => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = String(typeof address === "object" ? address?.port : "");
  const { code, stderr } = await startMain(["--ephemeral"], { [variable]: port }).ended;
  expect([code, stderr]).toEqual([
    1,
    `Port ${port} is in use: stop what is using it, or set ${variable} to another port.\n`,
  ]);
});

test.each([
  [["--speed", "3001"], {}, /from 1 to 3000/],
  [["--speed", "fast"], {}, /from 1 to 3000/],
  [["--sped", "2"], {}, /--sped/],
  [["--speed", "2"], { LLM_GATEWAY_API_KEY: "bk_real" }, /refused.*LLM gateway/],
  [[], { PORT: "http" }, /PORT must be a port number/],
])("%j with %j is refused in one line", async (args, env, expected) => {
  const { code, stderr } = await startMain(args, env).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(expected);
  expect(stderr.trimEnd()).not.toContain("\n");
});

test("a provider whose key is in the settings file is a real one, and the others are not", async () => {
  const directory = await temporaryDirectory();
  const file = path.join(directory, ".env.local");
  await writeFile(file, "SENTIMENT_API_KEY=xai-of-the-operator\nLLM_GATEWAY_API_KEY=\n");
  const stack = startMain(["--ephemeral"], { LOCAL_ENV_FILE: file });
  const [, shown] = await stack.output(/real providers: (.*)/);
  expect(shown).toBe("sentiment model");
});

test("rows of another version are refused with what to do about it", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  await writeFile(path.join(LOCAL_STATE_DIR, "data.json"), '{"version":0}');
  const { code, stderr } = await startMain([], { LOCAL_STATE_DIR }).ended;
  expect(code).toBe(1);
  expect(stderr).toContain("delete it to start afresh");
});

test("the token script prints a token of the stack's issuer and nothing else", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const { code, stdout } = await startScript(path.join(scripts, "token.ts"), ["alice"], { LOCAL_STATE_DIR })
    .ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const issuer = await createIssuer(await keptKeys(LOCAL_STATE_DIR));
  expect(await issuer.verify(stdout.trim())).toMatchObject({ subject: "alice" });
});

test("every component of the application is hosted", async () => {
  const declared = await readFile(path.join(convex, "_generated/api.d.ts"), "utf8");
  const names = [...declared.matchAll(/^ {2}(\w+): import\("/gm)].map(([, name]) => name);
  const hosted = (await loadSources(convex)).map((source) => source.path);
  expect(names.length).toBeGreaterThan(0);
  expect(hosted.filter((name) => name !== "" && !name.includes("/")).sort()).toEqual([...names].sort());
});
