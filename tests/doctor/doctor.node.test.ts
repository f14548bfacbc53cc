import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { bundled } from "../stack/bundled";

const repository = fileURLToPath(new URL("../..", import.meta.url));

let stack: Stack;
let folder: string;
/** What an operator would have in `.env.local`, pointing to the stack's own providers. */
let settings: Record<string, string>;

beforeAll(async () => {
  stack = await startStack({ ephemeral: true });
  folder = await mkdtemp(path.join(tmpdir(), "operator-"));
});
beforeEach(() => {
  stack.standins.clear();
  settings = {
    ...stack.standins.env(stack.providersUrl),
    CHAIN_RPC_URL: stack.chain?.url ?? "",
    WALLET_ENCRYPTION_KEY: "8f1d0c3b5a7e92461f3d8b6c0a5e7d9244c6f81b3e5a70d92c8b4f6e1a3d5c70",
  };
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true });
});

async function doctor(
  args: string[] = ["--site", stack.siteUrl],
): Promise<{ code: unknown; output: string }> {
  const script = bundled(path.join(repository, "scripts/doctor/main.ts"));
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    env: { PATH, ...settings },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, output };
}

test("finds the local stack fit, and shows no secret", async () => {
  const { code, output } = await doctor();
  expect(output).not.toContain("✗");
  expect(code).toBe(0);
  for (const subject of [
    "LLM gateway",
    "agent API",
    "sentiment model",
    "messenger",
    "swap provider",
    "tickers",
  ]) {
    expect(output).toMatch(new RegExp(`✓ ${subject}: `));
  }
  expect(output).toMatch(/✓ chain RPC: is on Base/);
  for (const name of ["ETH", "BTC", "USDC", "USDT", "DAI"])
    expect(output).toMatch(`✓ ${name}/USD feed: is fresh`);
  expect(output).toContain("✓ USDC: is the contract that payments are signed for");
  for (const [name, value] of Object.entries(settings)) {
    if (/KEY|TOKEN|SECRET/.test(name)) expect(output).not.toContain(value);
  }
});

test("names what is wrong and what to do, and ends with 1", async () => {
  stack.standins.fail("llm", { mode: "status", status: 401 });
  stack.standins.fail("agent", { mode: "status", status: 403 });
  stack.standins.fail("sentiment", { mode: "garbage" });
  stack.standins.fail("swap", { mode: "status", status: 429 });
  settings.LLM_MODEL = "no-such-model";
  settings.WALLET_ENCRYPTION_KEY = "0".repeat(64);
  settings.MAX_TRANSFER_USD = "a lot";
  delete settings.MESSENGER_BOT_TOKEN;
  const { code, output } = await doctor(["--site", "http://127.0.0.1:9"]);
  expect(code).toBe(1);
  expect(output).toContain("✗ LLM gateway: refuses the key (401)");
  expect(output).toContain("✗ agent API: refuses the key (403)");
  expect(output).toContain("✗ sentiment model: answered with status 200, not as its protocol says");
  expect(output).toContain("! swap provider: is limiting requests (429)");
  expect(output).toContain("✗ WALLET_ENCRYPTION_KEY: has too little chance in it");
  expect(output).toContain("✗ MAX_TRANSFER_USD: must be an amount in USD");
  expect(output).toContain("– MESSENGER_BOT_TOKEN: is not set");
  expect(output).toContain("✗ deployment: could not be reached");
  expect(output).toMatch(/Not fit\. \d+ faults?, \d+ warnings?\.$/m);
  expect(output).not.toContain("a lot");
});

test("a model that the gateway does not list is a warning", async () => {
  settings.LLM_MODEL = "no-such-model";
  const { code, output } = await doctor();
  expect(output).toContain("! LLM gateway: answers, but does not list the model no-such-model");
  expect(code).toBe(0);
});

test("a chain that cannot be asked is a fault, whatever else is right", async () => {
  settings.CHAIN_RPC_URL = "http://127.0.0.1:9";
  const { code, output } = await doctor();
  expect(output).toContain("✗ chain RPC: could not be asked");
  expect(code).toBe(1);
});
