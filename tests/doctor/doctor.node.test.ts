import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import type { Finding } from "../../scripts/doctor/finding";
import { recordingsIn, replayed } from "../../scripts/doctor/recording/recordings";
import { forkScript } from "../../scripts/fork";
import { startStack, type Stack } from "../../scripts/stack/stack";

let stack: Stack;
/** Where the doctor runs, time and again. */
let examiner: ChildProcess;
let folder: string;
/** What an operator would have in `.env.local`, pointing to the stack's own providers. */
let settings: Record<string, string>;

beforeAll(async () => {
  examiner = forkScript(new URL("examiner.ts", import.meta.url), []);
  stack = await startStack({ ephemeral: true });
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "operator-"));
  stack.standins.clear();
  stack.standins.forget();
  settings = {
    ...stack.standins.env(stack.providersUrl),
    CHAIN_RPC_URL: stack.chain?.url ?? "",
    WALLET_ENCRYPTION_KEY: "8f1d0c3b5a7e92461f3d8b6c0a5e7d9244c6f81b3e5a70d92c8b4f6e1a3d5c70",
    // Nobody's: another stack on this machine is not this test's.
    PROVIDERS_PORT: "9",
  };
});
afterEach(() => rm(folder, { recursive: true }));
afterAll(async () => {
  examiner.disconnect();
  await stack.stop();
});

const asUsual = () => ["--site", stack.siteUrl];
const environment = () => ({ PATH: process.env.PATH ?? "", ...settings });
const toldShape = z.object({ code: z.number(), output: z.string() });

async function doctor(args = asUsual()): Promise<z.infer<typeof toldShape>> {
  const told = once(examiner, "message");
  examiner.send({ args, folder, env: environment() });
  const [answer] = await told;
  return toldShape.parse(answer);
}

const PUBLIC = ["CoinGecko", "Coinbase", "Binance", "Hyperliquid", "DefiLlama"];

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
    ...PUBLIC,
  ]) {
    expect(output).toMatch(new RegExp(`✓ ${subject}: `));
  }
  // It answers an address every five seconds: the tests before this one may have had its turn.
  expect(output).toMatch(/✓ GDELT: returns \d+ headlines|! GDELT: GDELT is limiting/);
  for (const source of ["CoinGecko", "Coinbase", "Binance"])
    expect(output).toMatch(new RegExp(`${source}: .*Its terms: .*SOURCES_OFF leaves it out`));
  expect(output).toMatch(/✓ chain RPC: is on Base/);
  expect(output).toMatch(/✓ LLM gateway: answers in the shape it is asked for, as simulated/);
  expect(output).toMatch(/✓ swap provider: quotes 1 USDC for at least \d+ wei of WETH/);
  expect(output).toMatch(/✓ eth_getLogs: answers/);
  expect(output).toMatch(/✓ eth_simulateV1: simulates/);
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
  stack.standins.fail("coingecko", { mode: "status", status: 429 });
  stack.standins.fail("tickers", { mode: "status", status: 451, ticker: "binance" });
  stack.standins.fail("tickers", { mode: "status", status: 429, ticker: "coingecko" });
  settings.LLM_MODEL = "no-such-model";
  settings.WALLET_ENCRYPTION_KEY = "0".repeat(64);
  settings.UNOWNED_DAILY_USD = "a lot";
  delete settings.MESSENGER_BOT_TOKEN;
  const { code, output } = await doctor(["--site", "http://127.0.0.1:9"]);
  expect(code).toBe(1);
  expect(output).toContain("✗ LLM gateway: refuses the key (401)");
  expect(output).toContain("→ Set LLM_GATEWAY_API_KEY to a key that it knows");
  expect(output).toContain("✗ agent API: refuses the key, or this use of it (403)");
  expect(output).toContain("→ Switch the agent API on for the key in LLM_GATEWAY_API_KEY");
  expect(output).toContain("→ Check SENTIMENT_ENDPOINT");
  expect(output).toMatch(
    /! tickers: BTC in USD: coinbase [\d.]+; binance refuses this machine \(451\); coingecko is limiting requests \(429\)\n/,
  );
  expect(output).toContain("→ Check TICKER_API_URL");
  expect(output).toMatch(/! CoinGecko: CoinGecko is limiting/);
  expect(output).toContain("→ Check EVIDENCE_API_URL");
  expect(output).toContain(
    "✗ sentiment model: answered with status 200, but not in the form of its protocol",
  );
  expect(output).toContain("! swap provider: is limiting requests (429)");
  expect(output).toContain("✗ WALLET_ENCRYPTION_KEY: is not random enough");
  expect(output).toContain("✗ UNOWNED_DAILY_USD: must be an amount in USD");
  expect(output).toContain("– MESSENGER_BOT_TOKEN: is not set");
  expect(output).toContain("✗ deployment: could not be reached");
  expect(output).toMatch(/Not fit\. \d+ faults?, \d+ warnings?\.$/m);
  expect(output).not.toContain("a lot");
});

test("what is used up, gone or elsewhere is told with the variable to change, and until when", async () => {
  const resetAt = Date.now() + 3 * 3_600_000;
  const limit = { error: "Daily limit exceeded", message: "x", resetAt, limit: 100, used: 100 };
  stack.standins.fail("llm", { mode: "status", status: 402 });
  stack.standins.fail("agent", { mode: "status", status: 429, body: limit });
  stack.standins.fail("sentiment", { mode: "status", status: 410 });
  stack.standins.fail("messenger", { mode: "status", status: 410 });
  stack.standins.fail("swap", { mode: "status", status: 429, retryAfter: 30 });
  const { output } = await doctor();
  expect(output).toContain("→ Top up the account that LLM_GATEWAY_API_KEY belongs to.");
  const until = new Date(resetAt).toISOString().slice(0, 19);
  expect(output).toContain(`! agent API: is limiting requests (429): the limit is used up until ${until}Z`);
  expect(output).toMatch(/→ Try again then, or raise the limit of the account that LLM_GATEWAY_API_KEY/);
  expect(output).toContain("✗ sentiment model: no longer offers what was asked (410)");
  expect(output).toContain(
    "→ Set SENTIMENT_MODEL, or SENTIMENT_ENDPOINT, to the name in its current documents",
  );
  expect(output).toContain("✗ messenger: no longer offers what was asked (410)");
  expect(output).toContain("→ Set MESSENGER_API_URL to the name in its current documents");
  expect(output).toMatch(/! swap provider: is limiting requests \(429\): the limit is used up until 20/);
});

test("a gateway that follows no schema, and one that answers in prose, are told with what to do", async () => {
  stack.standins.fail("llm", { mode: "reply", content: "Certainly! Water is wet." });
  const { code, output } = await doctor();
  expect(output).toContain("✗ LLM gateway: answers, but not in the shape it is asked for");
  expect(output).toContain("→ Set LLM_MODEL to one that follows JSON schemas");
  expect(code).toBe(1);
});

test("finds no fault with a healthy local stack, without any settings of the operator's", async () => {
  settings = { PROVIDERS_PORT: new URL(stack.providersUrl).port };
  const { code, output } = await doctor([]);
  expect(output).toContain(`✓ local stack: runs at ${stack.siteUrl}; real providers: all simulated`);
  expect(output).toContain("– .env.local: is missing: copy .env.local.example");
  expect(output).toMatch(/Fit\. 0 faults, \d+ warnings?\.$/m);
  expect(code).toBe(0);
});

test("says which lines of .env.local are none, which names nothing reads, and that the gateway answers on another scale", async () => {
  await writeFile(path.join(folder, ".env.local"), "garbage\nLLM_KEY_GATEWAY_API=x\nCONFIRMATIONS=two\n");
  settings.SENTIMENT_ENDPONT = "https://api.x.ai/v1";
  const onAnotherScale = JSON.stringify({ answer: "yes", confidence: 0.7, reason: "It is." });
  stack.standins.fail("llm", { mode: "reply", content: onAnotherScale });
  const { code, output } = await doctor();
  expect(output.match(/CONFIRMATIONS/g)).toHaveLength(2);
  expect(output).toContain(
    "! SENTIMENT_ENDPONT: is a name that nothing reads: did you mean SENTIMENT_ENDPOINT?",
  );
  expect(output).toContain("! .env.local: line 1 is neither NAME=value nor a # comment");
  expect(output).toContain(
    "line 2: LLM_KEY_GATEWAY_API is a name that nothing reads: did you mean LLM_GATEWAY_API_KEY?",
  );
  expect(output).toContain("✗ .env.local: line 3: CONFIRMATIONS must be a whole number from 1 to 1000");
  expect(output).toContain("✗ LLM gateway: answers, but not in the shape it is asked for");
  expect(code).toBe(1);
});

/** A stand-in for the Convex CLI, which lists these variables of the deployment. */
async function deployed(variables: string): Promise<void> {
  const cli = path.join(folder, "node_modules/convex");
  await mkdir(path.join(cli, "bin"), { recursive: true });
  await writeFile(path.join(folder, "package.json"), "{}");
  await writeFile(path.join(cli, "package.json"), "{}");
  await writeFile(path.join(cli, "bin/main.js"), `process.stdout.write(${JSON.stringify(variables)});`);
}

test("looks at the deployment's own variables, says where they and the file are at odds, and warns of sentiment without a search", async () => {
  const { PROVIDERS_PORT = "", ...theirs } = settings;
  const listed = { ...theirs, SENTIMENT_API_KY: "x", UNOWNED_DAILY_USD: "250" };
  await deployed(
    Object.entries(listed)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
  );
  settings = { PROVIDERS_PORT, CONVEX_DEPLOYMENT: "local:some-one" };
  stack.standins.fail("sentiment", { mode: "uncited" });
  await writeFile(path.join(folder, ".env.local"), "UNOWNED_DAILY_USD=99\nCONFIRMATIONS=3\n");
  const { code, output } = await doctor(["--site", stack.siteUrl]);
  expect(output).toContain("✓ variables: are those of the deployment local:some-one");
  expect(output).toContain("! UNOWNED_DAILY_USD: has another value on the deployment than in .env.local");
  expect(output).toContain("! CONFIRMATIONS: is not set on the deployment");
  expect(output).toContain("! SENTIMENT_API_KY: is set on the deployment, and nothing reads it");
  expect(output).toContain("→ Did you mean SENTIMENT_API_KEY?");
  expect(output).toMatch(/✓ LLM gateway: answers in the shape/);
  expect(output).toMatch(/! sentiment model: answers as .*, but without a search/);
  expect(code).toBe(0);
});

test("--cost says what it would ask and spend, and asks nobody", async () => {
  const { code, output } = await doctor(["--cost"]);
  expect(code).toBe(0);
  expect(output).toMatch(/LLM gateway +0\.002 USD +one structured answer/);
  expect(output).toMatch(/At most 0\.50 USD\. Nothing was asked\.$/m);
  for (const provider of ["llm", "sentiment", "swap", "tickers"] as const) {
    expect(stack.standins.sent(provider)).toEqual([]);
  }
});

const jsonShape = z.object({
  fit: z.boolean(),
  faults: z.number(),
  findings: z.array(
    z.object({ section: z.string(), subject: z.string(), level: z.string(), says: z.string() }),
  ),
});

test("--json is one document", async () => {
  stack.standins.fail("swap", { mode: "status", status: 401 });
  const { code, output } = await doctor(["--json", "--site", stack.siteUrl]);
  const { fit, faults, findings } = jsonShape.parse(JSON.parse(output));
  expect([code, fit, faults]).toEqual([1, false, 1]);
  const said = { section: "Providers", subject: "swap provider", level: "fault" };
  expect(findings).toContainEqual({ ...said, says: "refuses the key (401)" });
});

/** What a provider may say in a sentence, and nobody is to read in a bug report. */
const LEAKY =
  "No JSON. A key: bk_not_for_anybody; account acct_8842 of alice@example.com (@alice_trades), user 5550001, org-A81bcd77, " +
  "request req_01ABCDEF, 0f3a91c2-7bd0-4d2e-9a41-5f0c1d2e3f40, trace 0f3a91c27bd04d2e9a415f0c1d2e3f40, from 203.0.113.9.";
const encodedKey = () => Buffer.from(`Bearer ${settings.LLM_GATEWAY_API_KEY ?? ""}`).toString("base64");

test("a recording that is not there, or none, is a sentence", async () => {
  await expect(recordingsIn(path.join(folder, "nowhere"))).rejects.toThrow(
    /^There is no folder .*nowhere: npm run doctor/,
  );
  await writeFile(path.join(folder, "x.json"), "{");
  await expect(recordingsIn(folder)).rejects.toThrow("x.json is not a recording of the doctor.");
});

test("what it records holds no key, token or id, and is read again as it was", async () => {
  stack.standins.fail("llm", { mode: "reply", content: LEAKY });
  const told = `Bad: ${encodeURIComponent(settings.LLM_GATEWAY_API_KEY ?? "").replace("_", "%5F")} ${encodedKey()}`;
  stack.standins.fail("agent", { mode: "status", status: 404, body: { error: told } });
  stack.standins.fail("sentiment", { mode: "status", status: 429 });
  const { output } = await doctor(["--site", stack.siteUrl, "--record", "kept"]);
  const kept = path.join(folder, "kept");
  expect((await readdir(kept)).toSorted()).toEqual([
    "agent-api.json",
    "binance.json",
    "coinbase.json",
    "coindesk.json",
    "coingecko.json",
    "cointelegraph.json",
    "decrypt.json",
    "defillama.json",
    "gdelt.json",
    "hyperliquid.json",
    "llm-gateway.json",
    "messenger.json",
    "sentiment-model.json",
    "swap-provider.json",
    "tickers.json",
  ]);
  for (const name of await readdir(kept)) {
    const text = await readFile(path.join(kept, name), "utf8");
    for (const [variable, value] of Object.entries(settings)) {
      if (/KEY|TOKEN|SECRET/.test(variable)) expect(text).not.toContain(value);
    }
    expect(text).not.toMatch(/bk_not_for_anybody|chatcmpl-|simulated_123456_bot|127\.0\.0\.1/);
    expect(text).not.toMatch(/acct_8842|alice|5550001|0f3a91c2|7bd0|203\.0\.113|org-|req_01|bk%5F|bk_/i);
    expect(text).not.toContain(encodedKey().slice(2, -4));
  }
  const findings: Finding[] = [];
  for (const recording of await recordingsIn(kept)) findings.push(await replayed(recording));
  const said = findings.map(({ subject, level, says }) => [subject, level, says]);
  expect(said).toContainEqual(["LLM gateway", "fault", "answers, but not in the shape it is asked for"]);
  expect(said).toContainEqual(["sentiment model", "warning", "is limiting requests (429)"]);
  expect(said).toContainEqual(["agent API", "good", "answers, and accepts the key"]);
  const quote = /✓ (swap provider): (quotes 1 USDC .*)/.exec(output);
  expect(said).toContainEqual([quote?.[1], "good", quote?.[2]]);
  const prices = /✓ (tickers): (BTC in USD: .*)/.exec(output);
  expect(said).toContainEqual([prices?.[1], "good", prices?.[2]]);
  for (const source of [...PUBLIC, "GDELT"]) {
    const [, mark, verdict] = new RegExp(`([✓!]) ${source}: (.*)`).exec(output) ?? [];
    expect(said).toContainEqual([source, mark === "✓" ? "good" : "warning", verdict]);
  }
});

test("a chain that cannot be asked is a fault, whatever else is right", async () => {
  settings.CHAIN_RPC_URL = "http://127.0.0.1:9";
  const { code, output } = await doctor();
  expect(output).toContain("✗ chain RPC: could not be reached");
  expect(code).toBe(1);
});
