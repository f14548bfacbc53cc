import { chmod, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { createPublicClient, erc20Abi, formatUnits, http, type Address } from "viem";
import { onTestFinished, expect, test } from "vitest";
import * as z from "zod";
import { DECIMALS, TOKENS } from "../../scripts/chain/addresses";
import { ranHere } from "../support/commands";
import {
  addressesOf,
  freePorts,
  repository,
  startMain,
  startProcess,
  temporaryDirectory,
  TSX,
} from "./processes";

/** `npm start`, with `npm run fund` and `npm run token` beside it: what they do, keep and say, and what they refuse. */

const HOLDER: Address = "0x5555555555555555555555555555555555555555";
const DEVELOPER: Address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const jobShape = z.object({ jobId: z.string() });
const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: JSON.stringify(body), headers });

/** What an account of a chain holds. */
async function held(chain: string, owner: Address): Promise<Record<string, string>> {
  const client = createPublicClient({ transport: http(chain) });
  const amounts: Record<string, string> = {
    ETH: formatUnits(await client.getBalance({ address: owner }), 18),
  };
  for (const symbol of ["USDC", "DAI", "USDT", "WETH"] as const) {
    const asked = {
      address: TOKENS[symbol],
      abi: erc20Abi,
      functionName: "balanceOf",
      args: [owner],
    } as const;
    amounts[symbol] = formatUnits(await client.readContract(asked), DECIMALS[symbol]);
  }
  return amounts;
}

test("it serves the whole service and logs what it answers; rows, keys and the chain outlive a restart", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const main = `"${process.execPath}" --import ${TSX} "${path.join(repository, "scripts/stack/main.ts")}"; true`;
  const env = { ...freePorts, LOCAL_STATE_DIR, npm_lifecycle_event: "start" };
  const shell = startProcess("sh", ["-c", main], { env });
  const first = await addressesOf(shell);
  const started = await post(`${first.site}/mcp/research/start`, { userId: "restart-user-1", token: "BTC" });
  const { jobId } = jobShape.parse(await started.json());
  const { port: CHAIN_PORT } = new URL(first.chain);
  const funded = await ranHere("scripts/stack/fund.ts", [HOLDER], { env: { CHAIN_PORT } });
  expect([funded.code, funded.stderr]).toEqual([0, ""]);
  expect(funded.stdout).toMatch(
    /^To 0x5{40} on \S+\n {2}1 ETH 0x\w{64}\n {2}1000 USDC 0x\w{64}\n {2}100 DAI 0x\w{64}\n {2}100 USDT 0x\w{64}\n {2}0\.5 WETH 0x\w{64}\n$/,
  );
  // npm ends its shell alone. The shell's output ends when nothing that it started is left.
  shell.kill("SIGTERM");
  expect(await shell.ended).toMatchObject({ stderr: "" });
  const keys = await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8");

  await chmod(path.join(LOCAL_STATE_DIR, "chain.json"), 0o644);
  const stack = startMain([], { env: { LOCAL_STATE_DIR } });
  const { site, chain } = await addressesOf(stack);
  const status = await fetch(`${site}/mcp/research/status?userId=restart-user-1`);
  expect(await status.json()).toMatchObject({ activeJob: { jobId, status: "active" } });
  expect(await readFile(path.join(LOCAL_STATE_DIR, "keys.json"), "utf8")).toBe(keys);
  for (const name of ["keys.json", "rows.json", "chain.json"])
    expect([name, (await stat(path.join(LOCAL_STATE_DIR, name))).mode & 0o777]).toEqual([name, 0o600]);
  const second = await ranHere("scripts/stack/main.ts", [], { env: { ...freePorts, LOCAL_STATE_DIR } });
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringContaining(`keeps its state in ${LOCAL_STATE_DIR}: stop it, or set LOCAL_STATE_DIR`),
  ]);
  // By real transfers of the developer's.
  const sums = { ETH: "1", USDC: "1000", DAI: "100", USDT: "100", WETH: "0.5" };
  expect(await held(chain, HOLDER)).toEqual(sums);
  expect(await held(chain, DEVELOPER)).toMatchObject({ USDC: "999000", WETH: "999999.5" });

  const market = await fetch(`${site}/mcp/market`);
  expect([market.status, await market.json()]).toEqual([
    200,
    expect.objectContaining({ keyPrices: expect.anything() }),
  ]);
  const unknown = await fetch(`${site}/no/such/path`);
  expect([unknown.status, await unknown.json()]).toEqual([404, { error: expect.any(String) }]);
  await stack.output(/^\d\d:\d\d:\d\d http GET unknown 404 \d+ ms$/m);

  stack.kill("SIGTERM");
  expect(await stack.ended).toMatchObject({ code: 0, stderr: "" });
});

test("an ephemeral one keeps and reads nothing, and signs in by the banner's command; what the settings name is real, the rest is not", async () => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const old = "no stack has written this";
  for (const name of ["keys.json", "rows.json", "chain.json"])
    await writeFile(path.join(LOCAL_STATE_DIR, name), old);
  const LOCAL_ENV_FILE = path.join(await temporaryDirectory(), ".env.local");
  await writeFile(LOCAL_ENV_FILE, "LLM_GATEWAY_API_KEY=bk_of-the-operator\nSENTIMENT_API_KEY=\n");
  const env = {
    ...{ LOCAL_STATE_DIR, LOCAL_ENV_FILE },
    CHAIN_RPC_URL: "https://rpc.test/secret-path",
    SWAP_API_KEY: "a-real-swap-key",
    // Nobody could guess it who has not read this.
    WALLET_ENCRYPTION_KEY: "8f1d0c3b5a7e92461f3d8b6c0a5e7d9244c6f81b3e5a70d92c8b4f6e1a3d5c70",
  };
  const stack = startMain(["--ephemeral"], { env });
  const [banner, shown] = await stack.output(/The service is up[^]*real providers: (.*)/);
  expect(shown?.split(", ").sort()).toEqual(["LLM gateway", "agent API", "chain", "swap provider"]);
  // A real chain has no accounts of the stack's own, and its address can be a secret.
  expect(banner).not.toMatch(/account 0|secret-path|a-real-swap-key|bk_/);

  const [, api = "", PROVIDERS_PORT = ""] = await stack.output(
    /functions +(\S+) +\(PROVIDERS_PORT=(\d+) npm run --silent token -- alice\)/,
  );
  const { code, stdout, stderr } = await ranHere("scripts/stack/token.ts", ["alice"], {
    env: { PROVIDERS_PORT },
  });
  expect([code, stderr, stdout]).toEqual([0, "", expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)]);
  const signIn = { path: "accounts/profile:signIn", args: {}, format: "json" };
  const Authorization = `Bearer ${stdout.trim()}`;
  const signedIn = await post(`${api}/api/mutation`, signIn, {
    Authorization,
    "Content-Type": "application/json",
  });
  expect(await signedIn.json()).toMatchObject({ status: "success" });
  // Any page in a browser on this machine could ask as well.
  const order = { subject: "alice" };
  expect(
    (await post(`http://127.0.0.1:${PROVIDERS_PORT}/_token`, order, { Origin: "https://page.example" }))
      .status,
  ).toBe(403);
  expect((await post(`http://127.0.0.1:${PROVIDERS_PORT}/_token`, {})).status).toBe(400);

  stack.kill("SIGINT");
  expect((await stack.ended).code).toBe(0);
  const kept = (await readdir(LOCAL_STATE_DIR)).map((name) =>
    readFile(path.join(LOCAL_STATE_DIR, name), "utf8"),
  );
  expect(await Promise.all(kept)).toEqual([old, old, old]);
});

test.each(["PORT", "API_PORT", "PROVIDERS_PORT", "CHAIN_PORT"])(
  "a busy %s is one line that names it",
  async (variable) => {
    const server = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = String(typeof address === "object" ? address?.port : "");
    // Without a chain of its own where that is another port's.
    const chain = variable === "CHAIN_PORT" ? {} : { CHAIN_RPC_URL: "http://127.0.0.1:9" };
    const env = { ...freePorts, ...chain, [variable]: port };
    const { code, stderr } = await ranHere("scripts/stack/main.ts", ["--ephemeral"], { env });
    expect([code, stderr]).toEqual([
      1,
      `Port ${port} is in use: stop what is using it, or set ${variable} to another port.\n`,
    ]);
  },
);

test.each([
  ["main", ["--speed", "3001"], {}, /from 1 to 3000/, 2],
  ["main", ["--speed", "2"], { LLM_GATEWAY_API_KEY: "bk_real_one" }, /refused.*LLM gateway/, 1],
  ["main", [], { SWAP_API_KEY: "a-real-swap-key" }, /SWAP_API_KEY.*CHAIN_RPC_URL/, 1],
  ["main", [], { PORT: "http" }, /PORT must be a port number/, 1],
  ["fund", ["0x12"], {}, /not 0x12/, 2],
  ["fund", ["0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046"], {}, /capital letters/, 2],
  ["fund", [`0x${"0".repeat(40)}`], {}, /Name one address/, 2],
  ["fund", [HOLDER], { CHAIN_PORT: "9" }, /no local chain at \S+:9: start .* or set CHAIN_PORT/, 1],
  [
    "token",
    ["alice"],
    { PROVIDERS_PORT: "9" },
    /No local stack answers at \S+:9: start it with npm start/,
    1,
  ],
] as const)("%s of %j with %j is refused in one line", async (script, args, env, expected, status) => {
  const { code, stdout, stderr } = await ranHere(`scripts/stack/${script}.ts`, args, {
    env: { ...freePorts, ...env },
  });
  expect([code, stdout, stderr]).toEqual([status, "", expect.stringMatching(expected)]);
  expect(stderr.trimEnd()).not.toContain("\n");
});
