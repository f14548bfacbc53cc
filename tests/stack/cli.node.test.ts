import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished, expect, test } from "vitest";
import { PERMIT2 } from "../../scripts/stack/chain/addresses";
import { createRpc } from "../../scripts/stack/chain/rpc";
import { keptKeys } from "../../scripts/stack/keys";
import { loadSources } from "../../scripts/stack/modules";
import { addressesOf, freePorts, scripts, startMain, startProcess, temporaryDirectory } from "./processes";

const convex = fileURLToPath(new URL("../../convex/", import.meta.url));

test("npm start serves the whole service, logs what it answers, and ends cleanly on SIGTERM", async () => {
  const stack = startMain(["--ephemeral"]);
  const { site } = await addressesOf(stack);
  const market = await fetch(`${site}/mcp/market`);
  expect(market.status).toBe(200);
  expect(await market.json()).toHaveProperty("keyPrices");

  const unknown = await fetch(`${site}/no/such/path`);
  expect(unknown.status).toBe(404);
  expect(await unknown.json()).toHaveProperty("error");
  await stack.output(/^\d\d:\d\d:\d\d http GET unknown 404 \d+ ms$/m);

  stack.kill("SIGTERM");
  expect(await stack.ended).toMatchObject({ code: 0, stderr: "" });
});

test("run by npm, it ends with the shell that npm ends", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const main = `"${process.execPath}" --import tsx "${path.join(scripts, "main.ts")}"; true`;
  const env = { ...freePorts, LOCAL_STATE_DIR, npm_lifecycle_event: "start" };
  const shell = startProcess("sh", ["-c", main], env);
  await addressesOf(shell);
  shell.kill("SIGTERM");
  // The shell's output ends when nothing that it started is left.
  await shell.ended;
  expect(await readFile(path.join(LOCAL_STATE_DIR, "data.json"), "utf8")).toContain('"components"');
});

test("rows and keys outlive a restart", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const first = startMain([], { LOCAL_STATE_DIR });
  const started = await fetch(`${(await addressesOf(first)).site}/mcp/research/start`, {
    method: "POST",
    body: JSON.stringify({ userId: "restart-user-1", token: "BTC" }),
  });
  const { jobId } = (await started.json()) as { jobId: string };
  first.kill("SIGINT");
  expect((await first.ended).code).toBe(0);
  const keys = await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8");

  const second = startMain([], { LOCAL_STATE_DIR });
  const { site } = await addressesOf(second);
  const status = await fetch(`${site}/mcp/research/status?userId=restart-user-1`);
  expect(await status.json()).toMatchObject({ activeJob: { jobId, status: "active" } });
  expect(await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8")).toBe(keys);
  expect((await stat(path.join(LOCAL_STATE_DIR, "keys.json"))).mode & 0o777).toBe(0o600);
});

const PORTS = ["PORT", "API_PORT", "PROVIDERS_PORT", "CHAIN_PORT"];

test.each(PORTS)("a busy %s is one line that names it", async (variable) => {
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
  [["--speed", "-1"], {}, /from 1 to 3000/],
  [["--sped", "2"], {}, /--sped/],
  [["--speed", "2"], { LLM_GATEWAY_API_KEY: "bk_real_one" }, /refused.*LLM gateway/],
  [["--speed", "2"], { CHAIN_RPC_URL: "https://rpc.test" }, /refused.*chain/],
  [[], { SWAP_API_KEY: "a-real-swap-key" }, /SWAP_API_KEY.*CHAIN_RPC_URL/],
  [[], { PORT: "http" }, /PORT must be a port number/],
  [[], { CHAIN_PORT: "99999" }, /CHAIN_PORT must be a port number/],
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

test("with a real chain there is no local one, and a real swap provider is let in", async () => {
  const CHAIN_RPC_URL = "https://rpc.test/secret-path";
  const stack = startMain(["--ephemeral"], { CHAIN_RPC_URL, SWAP_API_KEY: "a-real-swap-key" });
  const [banner, shown] = await stack.output(/The service is up[^]*real providers: (.*)/);
  expect(shown).toBe("chain, swap provider");
  expect(banner).not.toMatch(/account 0|secret-path/);
  stack.kill("SIGTERM");
  expect((await stack.ended).code).toBe(0);
});

test("rows of another version are refused with what to do about it", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  await keptKeys(LOCAL_STATE_DIR);
  await writeFile(path.join(LOCAL_STATE_DIR, "data.json"), '{"version":0}');
  const { code, stderr } = await startMain([], { LOCAL_STATE_DIR }).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/data\.json does not fit .* delete it to start afresh\. version: .*\n$/);
});

test("a chain of another version is refused in one line with what to do about it", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const first = startMain([], { LOCAL_STATE_DIR });
  await createRpc((await addressesOf(first)).chain).call("anvil_setCode", [PERMIT2, "0x00"]);
  first.kill("SIGTERM");
  await first.ended;
  const { code, stderr } = await startMain([], { LOCAL_STATE_DIR }).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^\S+chain\.json holds a chain with other contracts.*delete it.*\n$/);
});

test("every component of the application is hosted", async () => {
  const declared = await readFile(path.join(convex, "_generated/api.d.ts"), "utf8");
  const names = [...declared.matchAll(/^ {2}(\w+): import\("/gm)].map(([, name]) => name);
  const hosted = (await loadSources(convex)).map((source) => source.path);
  expect(names.length).toBeGreaterThan(0);
  expect(hosted.filter((name) => name !== "" && !name.includes("/")).sort()).toEqual([...names].sort());
});
