import { expect } from "vitest";
import { chain, useChain, test } from "../support/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/walletApp";

/** Ids that can be guessed hold wallets, since clients choose them: what a guess is worth. */

useChain();

const LONG = "kq3vX9tLw2bTz7RfYh5MnP";
const plenty = { ETH: 10n ** 18n, USDC: 5_000_000_000n };
const send = (app: WalletApp, userId: string, usdc: number) =>
  app.post("/mcp/defi/send", {
    ...{ userId, token: "USDC", amount: String(usdc * 1_000_000), toAddress: freshAddress() },
  });

test("moves at most 500 USD a day, as long as the operator says nothing else; a long one is not bounded", async () => {
  const app = createWalletApp(chain, { env: { WEAK_ID_DAILY_USD: undefined } });
  await app.fundedWallet("alice", plenty);
  await app.fundedWallet(LONG, plenty);
  expect((await send(app, "alice", 300)).status).toBe(200);
  const beyond = await send(app, "alice", 300);
  expect([beyond.status, beyond.body.error]).toEqual([
    400,
    "This transfer would pass the daily limit of 500 USD of a userId that is short enough to be guessed",
  ]);
  expect((await send(app, "alice", 150)).status).toBe(200);
  expect((await send(app, LONG, 3_000)).status).toBe(200);
  expect((await app.rows("transferDays")).map(({ userId }) => userId)).toEqual(["alice"]);
});

test("is warned of with every answer about its wallets", async ({ app }) => {
  const answers = async (userId: string) => [
    await app.post("/mcp/wallet/create", { userId }),
    await app.post("/mcp/defi/connect", { userId }),
    await app.get(`/mcp/wallet/balance?userId=${userId}`),
    await app.get(`/mcp/defi/portfolio?userId=${userId}`),
  ];
  for (const { body } of await answers("twenty-one-characters")) {
    expect(body).toMatchObject({ warning: expect.stringContaining("at least 22 random characters") });
  }
  for (const { status, body } of await answers(LONG))
    expect([status, body.warning]).toEqual([200, undefined]);
});
