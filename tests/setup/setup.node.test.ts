import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseSettings } from "../../scripts/settings";
import { listen, type Listener } from "../../scripts/sockets";
import { createStandins } from "../../scripts/standins";
import { temporaryDirectory } from "../stack/processes";
import { ranHere } from "../support/commands";

/** `npm run setup`, against the providers' stand-ins. */

const standins = createStandins();
let served: Listener;
beforeAll(async () => {
  served = await listen(0, "PROVIDERS_PORT", (request) => standins.handle(request));
});
afterAll(() => served.close());

/** Types these lines. */
function setUp(file: string, typed: readonly string[]) {
  const { LLM_GATEWAY_API_KEY: _k, MESSENGER_BOT_TOKEN: _t, ...addresses } = standins.env(served.url);
  const env = { ...addresses, LOCAL_ENV_FILE: file };
  return ranHere("scripts/setup.ts", [], { env, input: typed.join("\n") });
}

/** https://github.com/motdotla/dotenv/issues/1041 */
test("a byte order mark is no part of the first name", () => {
  expect(parseSettings("\uFEFFLLM_MODEL=a\r\nPORT=1\r\n")).toEqual({ LLM_MODEL: "a", PORT: "1" });
});

test("tries each key as it is typed, makes the secrets, and keeps what was there", async () => {
  const file = path.join(await temporaryDirectory(), "settings");
  await writeFile(file, "# mine\nDAILY_BUDGET_USD=5\n");
  // Without a chain the swap's stand-in fails: the key is taken all the same.
  const keys = ["short", "bk_of-a-gateway-0123456789", "", "swap-key-0123456789", ""];
  const typed = [...keys, "", "4711:AAE-token-of-a-bot-0123456789", "on"];
  const { code, output } = await setUp(file, typed);
  expect(output).toContain("LLM_GATEWAY_API_KEY must be a key");
  expect(output).toMatch(/✓ answers as simulated/);
  expect(output).toMatch(/✓ is @simulated_4711_bot/);
  expect(output).toContain("✓ everybody is on paper");
  expect(output).toContain("without SENTIMENT_API_KEY: the start of a shift answers 500");
  expect(output).toContain(`npx convex env set --prod --force --from-file ${file}`);
  expect(output).not.toMatch(/bk_of-a-gateway|token-of-a-bot/);
  const text = await readFile(file, "utf8");
  expect(text).toMatch(/^# mine\nDAILY_BUDGET_USD=5\n/);
  const { WALLET_ENCRYPTION_KEY, ...settings } = parseSettings(text);
  expect(WALLET_ENCRYPTION_KEY).toMatch(/^[0-9a-f]{64}$/);
  expect(settings).toMatchObject({
    LLM_GATEWAY_API_KEY: "bk_of-a-gateway-0123456789",
    AUTH_ISSUER: "https://auth.invalid",
    PAPER: "on",
  });
  expect(code).toBe(0);
  await setUp(file, keys.map(() => "").concat("", ""));
  expect(parseSettings(await readFile(file, "utf8"))).toEqual({ WALLET_ENCRYPTION_KEY, ...settings });
});

test("an abort changes nothing, also after a key that was refused", async () => {
  const file = path.join(await temporaryDirectory(), "settings");
  for (const kept of [null, "LLM_GATEWAY_API_KEY=bk_of-a-gateway-0123456789\n"]) {
    if (kept !== null) await writeFile(file, kept);
    standins.fail("llm", { mode: "status", status: 401 });
    const { code, output } = await setUp(file, ["bk_mistyped-key-0123456789"]);
    standins.clear();
    expect(output).toContain("refused this service's key");
    expect(output).toContain(`${file} is as it was`);
    expect([code, await readFile(file, "utf8").catch(() => null)]).toEqual([1, kept]);
  }
});

test("--check of a file that is not there says so", async () => {
  const file = path.join(await temporaryDirectory(), "settings");
  const { code, stderr } = await ranHere("scripts/setup.ts", ["--check"], { env: { LOCAL_ENV_FILE: file } });
  expect([code, stderr]).toEqual([1, expect.stringContaining("npm run setup makes it")]);
});

const OWN = "0x8f1d0c3b5a7e92461f3d8b6c0a5e7d9244c6f81b3e5a70d92c8b4f6e1a3d5c70";

test.each([
  ["WALLET_ENCRYPTION_KEY=" + "ab".repeat(32), "WALLET_ENCRYPTION_KEY is not random enough"],
  ["LLM_GATEWAY_API_KEY=your-key-here", "LLM_GATEWAY_API_KEY is a placeholder"],
  ["SOCIAL_WEBHOOK_SECRET=passwordpassword", "SOCIAL_WEBHOOK_SECRET can be guessed"],
  [
    "X402_RELAYER_PRIVATE_KEY=0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "X402_RELAYER_PRIVATE_KEY is a published test key",
  ],
  [
    "PLATFORM_WALLET_ADDRESS=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "PLATFORM_WALLET_ADDRESS is a published test account's",
  ],
  [`X402_RELAYER_PRIVATE_KEY=${OWN}\nANCHOR_PRIVATE_KEY=${OWN}`, "_PRIVATE_KEY: each needs one of its own"],
  ["CREDITS_PER_USDC=many", "CREDITS_PER_USDC must be a positive whole number"],
  ["AUTH_ISSUER=issuer.example", "AUTH_ISSUER must be an https address"],
])("--check: %s", async (line, says) => {
  const file = path.join(await temporaryDirectory(), "settings");
  await writeFile(file, `${line}\nLLM_GATEWAY_KEY=1\n`);
  const { code, stdout } = await ranHere("scripts/setup.ts", ["--check"], { env: { LOCAL_ENV_FILE: file } });
  expect(stdout).toContain(says);
  expect(stdout).toContain("LLM_GATEWAY_KEY is a name that nothing reads");
  expect(code).toBe(1);
});
