import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ConvexHttpClient } from "convex/browser";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { bundle } from "../../scripts/proxy/bundle";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { repository, startScript, type Started } from "./processes";

/**
 * The running stack: what its sources tell, what somebody can do who has never seen the service and has only the words of
 * `/start`, whose blocks are run as they stand there, and `npm run bot`.
 */

const run = promisify(execFile);

const ownedShape = z.object({ ownerUrl: z.url() });
const addressShape = z.templateLiteral(["0x", z.string()]);
const walletShape = z.object({
  linked: z.literal(true),
  walletAddress: addressShape,
});

let stack: Stack;
let folder: string;
let blocks: ReadonlyMap<string, string>;

beforeAll(async () => {
  // What a deployment has is what was built last.
  await bundle(path.join(repository, "dist/proxy.js"));
  stack = await startStack({ ephemeral: true, envFile: "/dev/null" });
  // Beside the packages that the page has one install.
  folder = await mkdtemp(path.join(repository, "node_modules/.start-"));
  const page = await (await fetch(`${stack.siteUrl}/start`)).text();
  const shown = page.matchAll(/<pre[^>]*aria-label="([^"]+)"[^>]*><code>([^<]*)<\/code>/g);
  blocks = new Map(Array.from(shown, ([, label, text]) => [read(label ?? ""), read(text ?? "")]));
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

const read = (text: string) =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

function block(label: string): string {
  const found = blocks.get(label);
  if (found === undefined)
    throw new Error(`The page has no block ${label}, but ${[...blocks.keys()].join(", ")}`);
  return found;
}

const shell = (line: string) => run("sh", ["-c", line], { cwd: folder });

const depositShape = z.looseObject({
  address: z.string().optional(),
  txHash: z.string().optional(),
  accepts: z.array(z.looseObject({ payTo: z.string() })).optional(),
});
const marketShape = z.object({
  keyPrices: z.record(z.string(), z.object({ usd: z.number() })),
  sources: z.array(z.object({ name: z.string() })),
});
const listShape = z.array(z.object({ id: z.string(), current_price: z.number() }));

test("what operators run at a deployment can be tried, and no page in a browser can run it", async () => {
  const call = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${stack.providersUrl}/_call`, { method: "POST", headers, body: JSON.stringify({ path }) });
  const env = { PROVIDERS_PORT: new URL(stack.providersUrl).port };
  const { stdout } = await startScript("scripts/stack/call.ts", ["ops/doctor:ask"], { env }).ended;
  expect(JSON.parse(stdout)).toMatchObject({ right: expect.stringContaining("answer as they should") });
  expect(await (await call("ops/rotation:rotate")).json()).toMatchObject({
    value: { rotated: 0, failed: [] },
  });
  expect((await call("ops/doctor:nothing")).status).toBe(404);
  expect((await call("ops/doctor:ask", { Origin: "https://page.example" })).status).toBe(403);
});

test("the sources of prices agree: the chain's feeds, the exchange and the list", async () => {
  const answer = await fetch(`${stack.siteUrl}/mcp/market`);
  const { sources, keyPrices } = marketShape.parse(await answer.json());
  expect(sources.map(({ name }) => name)).toEqual(["chainlink", "coinbase", "coingecko"]);
  const query = "vs_currency=usd&ids=bitcoin,ethereum";
  const list = await fetch(`${stack.providersUrl}/evidence/api/v3/coins/markets?${query}`);
  const listed = listShape.parse(await list.json());
  expect(listed).toHaveLength(2);
  for (const { id, current_price: price } of listed)
    expect(Math.abs((keyPrices[id]?.usd ?? NaN) / price - 1)).toBeLessThan(0.02);
});

test("a report is bought by a real x402 client, with the code of the page", async () => {
  const key = generatePrivateKey();
  await stack.chain?.fund(privateKeyToAccount(key).address, { USDC: 1_000_000n });
  await writeFile(path.join(folder, "buy.mjs"), block("buy.mjs"));
  const { stdout } = await shell(block("Run it").replace("0x…", key));
  expect(stdout).toContain('"fullAnalysis":');
});

test("a deposit is credited at once: the local chain's own block confirms it", async () => {
  const post = async (path: string, body: object) =>
    depositShape.parse(
      await (await fetch(stack.siteUrl + path, { method: "POST", body: JSON.stringify(body) })).json(),
    );
  const userId = `depositor-${crypto.randomUUID()}`;
  const { address = "" } = await post("/mcp/defi/connect", { userId });
  await stack.chain?.fund(addressShape.parse(address), { ETH: 10n ** 18n, USDC: 3_000_000n });
  const { accepts: [terms] = [] } = await post("/agent/research/paid", { token: "BTC" });
  const order = { userId, toAddress: terms?.payTo, token: "USDC", amount: "2000000" };
  const { txHash } = await post("/mcp/defi/send", order);
  expect(await post("/indexer/deposit", { txHash })).toMatchObject({
    credited: [{ txHash, credits: 200 }],
    pending: [],
  });
});

test("an AI client starts the program of the page, and its tools answer", async () => {
  await shell(block("The program"));
  const shape = z.record(
    z.string(),
    z.object({ command: z.string(), args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
  );
  const { mcpServers } = z.object({ mcpServers: shape }).parse(JSON.parse(block("The client's block")));
  const [server] = Object.values(mcpServers);
  if (server === undefined) throw new Error("The block has a server");
  const args = server.args.map((one) => one.replace("/path/to", folder));
  const client = new Client({ name: "somebody", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ ...server, args, cwd: tmpdir() }));
  try {
    expect((await client.listTools()).tools).toHaveLength(19);
    const answer = await client.callTool({ name: "get_market_data", arguments: {} });
    expect([answer.isError ?? false, JSON.stringify(answer.content)]).toEqual([
      false,
      expect.stringContaining("Bitcoin"),
    ]);
  } finally {
    await client.close();
  }
});

test("the first calls answer, and an id of the page gets its wallet and the link that makes it somebody's own", async () => {
  for (const line of block("First calls").split("\n")) {
    expect(JSON.parse((await shell(line)).stdout)).not.toHaveProperty("error");
  }
  const id = (await shell(block("A long id"))).stdout.trim();
  expect(id.length).toBeGreaterThan(30);
  const { stdout } = await shell(block("Its wallet").replace("YOUR-LONG-ID", id));
  expect(JSON.parse(stdout)).toMatchObject({
    address: expect.stringMatching(/^0x/),
    ownerUrl: expect.stringMatching(/^https:\/\/t\.me\//),
  });
});

/** Types lines into `npm run bot`. */
function bot(lines: string[], ...args: string[]): Started {
  const env = { PROVIDERS_PORT: new URL(stack.providersUrl).port };
  const input = lines.map((line) => `${line}\n`).join("");
  return startScript("scripts/bot.ts", args, { env, input });
}

test("npm run bot shows the bot's answers, links with a web user's code, shows that user's own, and ends with the stack", async () => {
  const client = new ConvexHttpClient(stack.apiUrl);
  client.setAuth(await stack.issuer.issue("alice"));
  await client.mutation(api.accounts.profile.signIn, {});
  const { code } = await client.mutation(api.messenger.linking.createCode, {});

  const first = bot(["/start", "/portfolio", `/connect ${code}`], "--linger", "3600");
  const [, walletAddress] = await first.output(/Its wallet on Base is (0x\w{40})/);
  first.kill("SIGTERM");
  const { stdout, stderr } = await first.ended;
  expect(stderr).toBe("");
  for (const said of [
    "you> /start\n│ Welcome!",
    "│ A coin's name alone is its price. All I can do: /help",
    "This needs an account, and this chat has none yet",
  ])
    expect(stdout).toContain(said);
  expect(stdout).not.toMatch(/<\/?b>|&lt;/);
  const linked = await fetch(`${stack.siteUrl}/messenger/wallet?messengerId=1001`);
  const wallet = walletShape.parse(await linked.json());
  expect(wallet.walletAddress).toBe(walletAddress);

  // Somebody else in another chat.
  const connected = await fetch(`${stack.siteUrl}/mcp/defi/connect?userId=kq3vX9tLw2bTz7RfYh5MnP`);
  const { ownerUrl } = ownedShape.parse(await connected.json());
  const elsewhere = await bot([ownerUrl, "/portfolio"], "--chat", "1003", "--linger", "0").ended;
  expect(elsewhere).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Is this your wallet?"),
  });
  expect(elsewhere.stdout).not.toContain(walletAddress);

  await stack.chain?.fund(wallet.walletAddress, { ETH: 10n ** 18n, USDC: 5_250_000n });
  const second = bot(["How is ETH?", "/portfolio"], "--linger", "3600");
  const [told] = await second.output(/[^]*│ Total: \$[1-9]\d*,\d{3}\.\d\d\n/);
  // The second line is said when the first has its answer.
  expect(told).toMatch(/How is ETH\?\n[^]*│[^]*you> \/portfolio\n[^]*📊/);
  expect(told).toMatch(/│ ETH {2}1 {2}\(\$[\d,]+\.\d\d\)\n│ USDC {2}5\.25 {2}\(\$5\.2\d\)\n/);
  expect(told).not.toContain("WETH");
  await stack.stop();
  const ended = await second.ended;
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/^There is no local stack behind \S+: start .*\n$/);
});
