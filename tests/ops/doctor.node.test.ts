import { expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { chain, test as chainTest, useChain } from "../support/chain/chain";
import { createWalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";

/** `npx convex run ops/doctor:ask` and `bot/service:register`, on the stand-ins and a chain of this machine. */

useChain();

// A test of its own: files of one process share the chain's.
const test = chainTest.extend({
  settings: { env: { MESSENGER_WEBHOOK_SECRET: "a-secret-nobody-may-see" } },
});

const asked = (app: ReturnType<typeof createWalletApp>) => app.t.action(internal.ops.doctor.ask, {});

test("a sound deployment gets one line", async ({ app }) => {
  expect(await app.t.action(internal.bot.service.register, {})).toEqual({
    bot: expect.stringMatching(/^@simulated_/),
    webhook: "https://some.convex.site/messenger/webhook",
    commands: expect.any(Number),
  });
  const { wrong, right, caller } = await asked(app);
  expect(wrong).toEqual([]);
  expect(caller).toBe("a request with a forged X-Forwarded-For was not answered");
  expect(right).toMatch(/^LLM gateway, agent API, sentiment model, .*chain answer as they should$/);
});

test("each provider that fails is named with what to do, and no key is told", async ({ app }) => {
  for (const provider of ["llm", "sentiment", "swap", "messenger"] as const)
    app.standins.fail(provider, { mode: "status", status: 401 });
  const told = await asked(app);
  const words = told.wrong.join("\n");
  for (const line of [
    /^LLM gateway: The LLM gateway refused this service's key\. Check LLM_GATEWAY_API_KEY/m,
    /^sentiment model: .*SENTIMENT_API_KEY/m,
    /^swap provider: .*SWAP_API_KEY/m,
    /^messenger: the messenger does not know the bot's token\.$/m,
  ])
    expect(words).toMatch(line);
  expect(told.right).not.toMatch(/LLM gateway|sentiment|swap|messenger/);
  expect(JSON.stringify(told)).not.toContain(app.standins.env("").LLM_GATEWAY_API_KEY);
});

test("what is missing or malformed is said first, and a bot whose messages go elsewhere", async () => {
  const env = { SWAP_API_KEY: undefined, CREDITS_PER_USDC: "many", MESSENGER_WEBHOOK_SECRET: "some-secret" };
  const app = createWalletApp(chain, { env: { ...env, LLM_MODEL_SMALL: "a-small-model" } });
  app.standins.fail("llm", { mode: "status", status: 401, schema: "doctor_small" });
  const { wrong, right } = await asked(app);
  expect(right).toMatch(/^LLM gateway, agent API/);
  expect(wrong).toEqual([
    "CREDITS_PER_USDC is not configured correctly: it must be a positive whole number",
    "SWAP_API_KEY is not set: swaps answer 500",
    "small model: The LLM gateway refused this service's key. Check LLM_GATEWAY_API_KEY, LLM_ENDPOINT and LLM_MODEL_SMALL.",
    "messenger: the bot's messages go elsewhere: npx convex run --prod bot/service:register",
  ]);
});

test("the address that limits count by is seen as the deployment sees it, and said where callers can choose it", async ({
  app,
}) => {
  await app.t.action(internal.bot.service.register, {});
  const seen = async (address: string) => {
    const end = intercept(async ({ url }, pass) =>
      url === "https://some.convex.site/health" ? Response.json({ caller: { address } }) : pass(),
    );
    const { wrong, caller } = await asked(app);
    end();
    return [caller.split(" ").at(-1), wrong.join("\n")];
  };
  expect(await seen("198.51.100.7")).toEqual(["198.51.100.7", ""]);
  expect(await seen("203.0.113.9")).toEqual([
    "203.0.113.9",
    expect.stringMatching(/^callers can choose the address.*TRUSTED_PROXY_HOPS/),
  ]);
});

test("a key that does not open what is stored is named, one for each kind of secret, by health as well", async ({
  app,
}) => {
  await app.t.action(internal.bot.service.register, {});
  await app.post("/mcp/wallet/create", { userId: "alice" });
  await app.post("/user/messenger", {
    ...{
      userId: "alice",
      messengerChatId: "7",
      messengerBotToken: "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot",
    },
  });
  await app.post("/webhooks", { userId: "alice", url: "https://hooks.example.com/mine" });
  const reasons = async () => (await app.get("/health")).body.reasons;
  expect([await reasons(), (await asked(app)).wrong]).toEqual([[], []]);
  const former = process.env.WALLET_ENCRYPTION_KEY;
  vi.stubEnv("WALLET_ENCRYPTION_KEY", "99".repeat(32));
  const told = ["wallet private key", "messenger bot token", "webhook secret"].map((kind): unknown =>
    expect.stringMatching(new RegExp(`^a ${kind} does not open: WALLET_ENCRYPTION_KEY is not the key`)),
  );
  expect(await reasons()).toEqual(expect.arrayContaining(told));
  expect((await asked(app)).wrong).toEqual(expect.arrayContaining(told));
  // As in a rotation that is under way.
  vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", former);
  expect([await reasons(), (await asked(app)).wrong]).toEqual([[], []]);
  const { rotated, failed } = await app.t.action(internal.ops.rotation.rotate, {});
  expect([rotated, failed]).toEqual([3, []]);
  vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
  expect(await reasons()).toEqual([]);
});

test("a node that is not there is one line", async () => {
  const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:1" } });
  const { wrong } = await asked(app);
  expect(wrong.join("\n")).toMatch(/^chain: .*Set CHAIN_RPC_URL to a node of Base\.$/m);
});

test("a payment facilitator is asked what it supports: one of other chains is told, one of this chain is right", async ({
  app,
}) => {
  vi.stubEnv("X402_FACILITATOR_URL", "http://facilitator.test");
  for (const [network, isRight] of [
    ["eip155:84532", false],
    ["eip155:8453", true],
  ] as const) {
    const kinds = [{ x402Version: 2, scheme: "exact", network }];
    const end = intercept(({ url }, pass) =>
      url === "http://facilitator.test/supported" ? Promise.resolve(Response.json({ kinds })) : pass(),
    );
    const { wrong, right } = await asked(app);
    end();
    const trouble =
      "payment facilitator: The payment facilitator executes no payments on Base (eip155:8453). Check X402_FACILITATOR_URL.";
    expect([wrong.includes(trouble), right.includes("payment facilitator")]).toEqual([!isRight, isRight]);
  }
});
