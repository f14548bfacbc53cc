import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { onTestFinished, expect, test } from "vitest";
import * as z from "zod";
import { startStack } from "../../../scripts/stack/stack";
import { ranHere } from "../../support/commands";
import {
  addressesOf,
  freePorts,
  scripts,
  startMain,
  startProcess,
  STRONG_KEY,
  TSX,
  temporaryDirectory,
} from "../processes";

const jobShape = z.object({ jobId: z.string() });

test("npm start serves the whole service and logs what it answers; rows and keys outlive a restart", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const main = `"${process.execPath}" --import ${TSX} "${path.join(scripts, "main.ts")}"; true`;
  const env = { ...freePorts, LOCAL_STATE_DIR, npm_lifecycle_event: "start" };
  const shell = startProcess("sh", ["-c", main], env);
  const started = await fetch(`${(await addressesOf(shell)).site}/mcp/research/start`, {
    method: "POST",
    body: JSON.stringify({ userId: "restart-user-1", token: "BTC" }),
  });
  const { jobId } = jobShape.parse(await started.json());
  // npm ends its shell alone. The shell's output ends when nothing that it started is left.
  shell.kill("SIGTERM");
  expect(await shell.ended).toMatchObject({ stderr: "" });
  const keys = await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8");

  const stack = startMain([], { LOCAL_STATE_DIR });
  const { site } = await addressesOf(stack);
  const status = await fetch(`${site}/mcp/research/status?userId=restart-user-1`);
  expect(await status.json()).toMatchObject({ activeJob: { jobId, status: "active" } });
  expect(await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8")).toBe(keys);
  expect((await stat(path.join(LOCAL_STATE_DIR, "keys.json"))).mode & 0o777).toBe(0o600);

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

test("what the settings name is real, the rest is not; it ends cleanly on SIGINT", async () => {
  const file = path.join(await temporaryDirectory(), ".env.local");
  await writeFile(file, "LLM_GATEWAY_API_KEY=bk_of-the-operator\nSENTIMENT_API_KEY=\n");
  const env = {
    CHAIN_RPC_URL: "https://rpc.test/secret-path",
    SWAP_API_KEY: "a-real-swap-key",
    WALLET_ENCRYPTION_KEY: STRONG_KEY,
    LOCAL_STATE_DIR: await temporaryDirectory(),
  };
  const stack = startMain([], { ...env, LOCAL_ENV_FILE: file });
  const [banner, shown] = await stack.output(/The service is up[^]*real providers: (.*)/);
  expect(shown?.split(", ").sort()).toEqual(["LLM gateway", "agent API", "chain", "swap provider"]);
  // A real chain has no accounts of the stack's own, and its address can be a secret.
  expect(banner).not.toMatch(/account 0|secret-path|a-real-swap-key|bk_/);
  stack.kill("SIGINT");
  expect((await stack.ended).code).toBe(0);
});

const PORTS = ["PORT", "API_PORT", "PROVIDERS_PORT", "CHAIN_PORT"];

test.each(PORTS)("a busy %s is one line that names it", async (variable) => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  const port = String(typeof address === "object" ? address?.port : "");
  const env = { ...freePorts, [variable]: port };
  const { code, stderr } = await ranHere("scripts/stack/main.ts", ["--ephemeral"], { env });
  expect([code, stderr]).toEqual([
    1,
    `Port ${port} is in use: stop what is using it, or set ${variable} to another port.\n`,
  ]);
});

test.each([
  [["--speed", "3001"], {}, /from 1 to 3000/, 2],
  [["--speed", "2"], { LLM_GATEWAY_API_KEY: "bk_real_one" }, /refused.*LLM gateway/, 1],
  [[], { SWAP_API_KEY: "a-real-swap-key" }, /SWAP_API_KEY.*CHAIN_RPC_URL/, 1],
  [[], { PORT: "http" }, /PORT must be a port number/, 1],
])("%j with %j is refused in one line", async (args, env, expected, status) => {
  const { code, stderr } = await ranHere("scripts/stack/main.ts", args, { env: { ...freePorts, ...env } });
  expect(code).toBe(status);
  expect(stderr).toMatch(expected);
  expect(stderr.trimEnd()).not.toContain("\n");
});

test("rows of other tables are refused with what to do about it", async () => {
  const dataDir = await temporaryDirectory();
  await writeFile(path.join(dataDir, "rows.json"), '{"schema":"another","dueTimes":{},"rows":{}}');
  const refused = startStack({ dataDir, envFile: "/dev/null" });
  await expect(refused).rejects.toThrow(/another version of this repository.*delete .* to start afresh/);
});
