import { expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { chain, test, useChain } from "../support/chain/chain";
import { createWalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";

/** `npx convex run ops/doctor:ask` and `bot/desk:register`, on the stand-ins and a chain of this machine. */

useChain();
test.scoped({ settings: { env: { MESSENGER_WEBHOOK_SECRET: "a-secret-nobody-may-see" } } });

const asked = (app: ReturnType<typeof createWalletApp>) => app.t.action(internal.ops.doctor.ask, {});

test("a sound deployment gets one line, and the node's limits", async ({ app }) => {
  expect(await app.t.action(internal.bot.desk.register, {})).toEqual({
    bot: expect.stringMatching(/^@simulated_/),
    webhook: "https://some.convex.site/messenger/webhook",
    commands: expect.any(Number),
  });
  const { wrong, right, node } = await asked(app);
  expect(wrong).toEqual([]);
  expect(right).toMatch(/^LLM gateway, agent API, sentiment model, .*chain answer as they should$/);
  expect(node).toBe(
    "logs over 10000 or more blocks at once, batches of 100 or more, 20 of 20 requests at once",
  );
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
  const app = createWalletApp(chain, { env });
  const { wrong } = await asked(app);
  expect(wrong).toEqual([
    "CREDITS_PER_USDC is not configured correctly: it must be a positive whole number",
    "SWAP_API_KEY is not set: swaps answer 500",
    "messenger: the bot's messages go elsewhere: npx convex run bot/desk:register",
  ]);
});

test("a node that is not there is one line", async () => {
  const app = createWalletApp(chain, { env: { CHAIN_RPC_URL: "http://127.0.0.1:1" } });
  const { wrong, node } = await asked(app);
  expect(wrong.join("\n")).toMatch(/^chain: .*Set CHAIN_RPC_URL to a node of Base\.$/m);
  expect(node).toBe("the node was not reached");
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
