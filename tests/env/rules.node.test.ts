import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { privateKeyToAddress } from "viem/accounts";
import { complaintsOf, type Place } from "../../scripts/env/rules";
import { temporaryDirectory } from "../stack/processes";
import { ranHere } from "../support/commands";
import { project, useProject } from "./support";

/** One list says what is wrong with settings: before they are set, at start, and to the doctor. */

useProject("process.exit(0);");

const ZERO = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const RELAYER = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
const OWN = "0x8f1d0c3b5a7e92461f3d8b6c0a5e7d9244c6f81b3e5a70d92c8b4f6e1a3d5c70";
const TWIN = "Zq7Lw2bTz9RfYh5MnPkq3vX8";
const SEED = "c41e7a90d35b2f8864ea17c9b05d3f72e8a6419bd07c52f3916e8ad4b7205fc3";

/** What is wrong, and whose complaint it is; on a deployment of the platform's. */
const WRONG: [what: string, file: Record<string, string>, name: string, says: RegExp][] = [
  [
    "a key of one pattern",
    { WALLET_ENCRYPTION_KEY: "0123456789abcdef".repeat(4) },
    "WALLET_ENCRYPTION_KEY",
    /not random enough/,
  ],
  [
    "a key of one byte",
    { WALLET_ENCRYPTION_KEY: "ab".repeat(32) },
    "WALLET_ENCRYPTION_KEY",
    /not random enough/,
  ],
  [
    "a key of words",
    { WALLET_ENCRYPTION_KEY: "walletwalletwalletwalletwalletwalletwalletw=" },
    "WALLET_ENCRYPTION_KEY",
    /not random enough/,
  ],
  [
    "a gateway without TLS",
    { LLM_ENDPOINT: "http://gateway.example/v1", AGENT_API_URL: "https://a.example" },
    "LLM_ENDPOINT",
    /must be https/,
  ],
  ["a link-local gateway", { LLM_ENDPOINT: "http://169.254.169.254/latest" }, "LLM_ENDPOINT", /link-local/],
  [
    "a link-local one of IPv6",
    { SENTIMENT_ENDPOINT: "http://[fe80::1]/v1" },
    "SENTIMENT_ENDPOINT",
    /link-local/,
  ],
  ["a cloud's metadata", { SWAP_API_URL: "http://metadata.google.internal/" }, "SWAP_API_URL", /link-local/],
  ["an address of a home", { CHAIN_RPC_URL: "http://192.168.1.5:8545" }, "CHAIN_RPC_URL", /private network/],
  ["this machine's chain", { CHAIN_RPC_URL: "http://localhost:8545" }, "CHAIN_RPC_URL", /private network/],
  [
    "a password in an address",
    { CHAIN_RPC_URL: "https://me:secret@rpc.example" },
    "CHAIN_RPC_URL",
    /user name or password/,
  ],
  [
    "a published relayer",
    {
      X402_RELAYER_PRIVATE_KEY: RELAYER,
      PLATFORM_WALLET_ADDRESS: "0x1111111111111111111111111111111111111112",
    },
    "X402_RELAYER_PRIVATE_KEY",
    /published test key/,
  ],
  [
    "a published platform wallet",
    { PLATFORM_WALLET_ADDRESS: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" },
    "PLATFORM_WALLET_ADDRESS",
    /published test account/,
  ],
  [
    "an account's key that is all but one digit",
    { ANCHOR_PRIVATE_KEY: `0x${"0".repeat(63)}1` },
    "ANCHOR_PRIVATE_KEY",
    /can be guessed/,
  ],
  [
    "relayer and anchor in one",
    {
      X402_RELAYER_PRIVATE_KEY: OWN,
      ANCHOR_PRIVATE_KEY: OWN,
      PLATFORM_WALLET_ADDRESS: "0x1111111111111111111111111111111111111112",
    },
    "ANCHOR_PRIVATE_KEY",
    /same as X402_RELAYER_PRIVATE_KEY/,
  ],
  [
    "a relayer that is the platform wallet",
    { X402_RELAYER_PRIVATE_KEY: OWN, PLATFORM_WALLET_ADDRESS: "OWNERS" },
    "X402_RELAYER_PRIVATE_KEY",
    /platform wallet's own/,
  ],
  [
    "a wallet key that opens an account",
    { WALLET_ENCRYPTION_KEY: OWN.slice(2), ANCHOR_PRIVATE_KEY: OWN },
    "ANCHOR_PRIVATE_KEY",
    /same as WALLET_ENCRYPTION_KEY/,
  ],
  [
    "one secret twice",
    {
      DEPOSIT_WEBHOOK_SECRET: TWIN,
      SOCIAL_WEBHOOK_SECRET: TWIN,
      PLATFORM_WALLET_ADDRESS: "0x1111111111111111111111111111111111111112",
    },
    "DEPOSIT_WEBHOOK_SECRET",
    /same as SOCIAL_WEBHOOK_SECRET/,
  ],
  [
    "a rotation to the same key",
    { WALLET_ENCRYPTION_KEY: SEED, WALLET_ENCRYPTION_KEY_PREVIOUS: SEED },
    "WALLET_ENCRYPTION_KEY_PREVIOUS",
    /same as WALLET_ENCRYPTION_KEY/,
  ],
  [
    "a secret of words",
    { SOCIAL_WEBHOOK_SECRET: "secretsecretsecret" },
    "SOCIAL_WEBHOOK_SECRET",
    /can be guessed/,
  ],
  ["a budget of 100,000", { DAILY_BUDGET_USD: "100000" }, "DAILY_BUDGET_USD", /at most 10000/],
  ["a confidence of 0", { SOCIAL_TRADE_CONFIDENCE: "0" }, "SOCIAL_TRADE_CONFIDENCE", /0\.5 to 0\.99/],
  ["a confidence of 1", { SOCIAL_TRADE_CONFIDENCE: "1" }, "SOCIAL_TRADE_CONFIDENCE", /0\.5 to 0\.99/],
  ["9 hops", { TRUSTED_PROXY_HOPS: "9" }, "TRUSTED_PROXY_HOPS", /at most 4/],
  ["costs of the whole stake", { ROUND_TRIP_COST_BPS: "9999" }, "ROUND_TRIP_COST_BPS", /at most 1000/],
  ["credits for nothing", { CREDITS_PER_USDC: "9999999" }, "CREDITS_PER_USDC", /at most 100000/],
  [
    "a token for a wallet",
    { PLATFORM_WALLET_ADDRESS: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913" },
    "PLATFORM_WALLET_ADDRESS",
    /belongs to nobody/,
  ],
];

/** With the address of `OWN` where it is meant. */
function ownersIn(file: Record<string, string>): Record<string, string> {
  const own = (value: string) => (value === "OWNERS" ? privateKeyToAddress(OWN) : value);
  return Object.fromEntries(Object.entries(file).map(([name, value]) => [name, own(value)]));
}

const SOUND = {
  ...{ LLM_GATEWAY_API_KEY: "bk_4nT9wQz2Lx7Vb5Kd", SENTIMENT_API_KEY: "xai-7hR3mPq9Ws2Zc6Yf" },
  ...{ WALLET_ENCRYPTION_KEY: SEED, SWAP_API_KEY: "0x-9Kd3Vb7Lq2Wz5Tn8", X402_RELAYER_PRIVATE_KEY: OWN },
  ...{ PLATFORM_WALLET_ADDRESS: "0x1111111111111111111111111111111111111112", DAILY_BUDGET_USD: "40" },
  ...{ CHAIN_RPC_URL: "https://base-mainnet.example/v2/key", TRUSTED_PROXY_HOPS: "1" },
  ...{
    MESSENGER_BOT_TOKEN: "123456789:AAE7hR3mPq9Ws2Zc6Yf4nT9wQz2Lx7Vb5Kd",
    MESSENGER_CHAT_ID: "-100424242",
  },
  ...{ MESSENGER_WEBHOOK_SECRET: "kq3vX9tLw2bTz7RfYh5MnP", SOCIAL_TRADE_CONFIDENCE: "0.85" },
};

describe("settings", () => {
  test("that are sound are passed, wherever they are to hold", () => {
    for (const place of ["deployment", "own host", "this machine"] as const)
      expect([place, complaintsOf(SOUND, place)]).toEqual([place, []]);
  });

  test.for(WRONG)("with %s are refused, and no value is told", ([, given, name, says]) => {
    const file = ownersIn(given);
    const complaints = complaintsOf({ ...SOUND, ...file }, "deployment");
    expect(complaints).toContainEqual({ name, level: "bad", says: expect.stringMatching(says) });
    for (const value of Object.values(file).filter((one) => one.length > 8))
      expect(JSON.stringify(complaints)).not.toContain(value);
  });

  test.for([
    [
      "the local chain's published accounts",
      { X402_RELAYER_PRIVATE_KEY: RELAYER, ANCHOR_PRIVATE_KEY: `0x${ZERO}` },
    ],
    [
      "a model on this machine",
      { LLM_ENDPOINT: "http://localhost:11434/v1", AGENT_API_URL: "http://127.0.0.1:1/a" },
    ],
  ] as const)("are right with %s on this machine alone", ([, file]) => {
    const { CHAIN_RPC_URL: _real, ...local } = { ...SOUND, ...file };
    expect(complaintsOf(local, "this machine")).toEqual([]);
    for (const place of ["deployment", "this machine"] as Place[]) {
      const real = complaintsOf({ ...SOUND, ...file }, place).filter(({ level }) => level === "bad");
      expect([place, real.length > 0]).toEqual([
        place,
        place === "deployment" || "ANCHOR_PRIVATE_KEY" in file,
      ]);
    }
  });

  test("of another gateway without an agent API's address are told what that means", () => {
    const file = { ...SOUND, LLM_ENDPOINT: "https://openrouter.ai/api/v1" };
    const told = {
      name: "AGENT_API_URL",
      level: "odd",
      says: expect.stringContaining("the agent API is off"),
    };
    expect(complaintsOf(file, "deployment")).toEqual([told]);
    expect(complaintsOf({ ...file, AGENT_API_URL: "https://api.bankr.bot" }, "deployment")).toEqual([]);
    expect(complaintsOf({ ...SOUND, LLM_ENDPOINT: "https://llm.bankr.bot/v1" }, "deployment")).toEqual([]);
  });
});

const text = (file: Record<string, string>) =>
  Object.entries(file)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");

test("env:push sets nothing of a file with one of these, and names the doubtful", async () => {
  const file = path.join(project, "other.env");
  const env = {
    LOCAL_ENV_FILE: file,
    CONVEX_DEPLOYMENT: "",
    CONVEX_DEPLOY_KEY: "",
    CONVEX_SELF_HOSTED_URL: "",
  };
  await writeFile(file, `CONVEX_DEPLOYMENT=dev:some-one\n${text({ ...SOUND, DAILY_BUDGET_USD: "100000" })}`);
  const refused = await ranHere("scripts/env/push.ts", [], { env, cwd: project });
  expect(refused.code).toBe(1);
  expect(refused.output).toContain("other.env → the deployment dev:some-one");
  expect(refused.output).toContain("wrong    DAILY_BUDGET_USD: must be at most 10000");
  await writeFile(
    file,
    `CONVEX_DEPLOYMENT=dev:some-one\n${text({ ...SOUND, LLM_ENDPOINT: "https://openrouter.ai/api" })}`,
  );
  const doubtful = await ranHere("scripts/env/push.ts", [], { env, cwd: project });
  expect(doubtful.code).toBe(0);
  expect(doubtful.output).toContain("doubt    AGENT_API_URL: is not set although LLM_ENDPOINT");
});

test("npm start refuses them, of a file and the environment together", async () => {
  const file = path.join(await temporaryDirectory(), ".env.local");
  await writeFile(file, `SOCIAL_TRADE_CONFIDENCE=0\nX402_RELAYER_PRIVATE_KEY=${OWN}\n`);
  const { code, stderr } = await ranHere("scripts/stack/main.ts", ["--ephemeral"], {
    env: { LOCAL_ENV_FILE: file, ANCHOR_PRIVATE_KEY: OWN },
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`${file}, line 1: SOCIAL_TRADE_CONFIDENCE must be 0.5 to 0.99`);
  expect(stderr).toContain("settings: ANCHOR_PRIVATE_KEY is the same as X402_RELAYER_PRIVATE_KEY");
  expect(stderr).not.toContain(OWN);
});
