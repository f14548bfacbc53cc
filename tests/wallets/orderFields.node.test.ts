import { expect } from "vitest";
import { chain, test, useChain } from "../support/chain/chain";
import { createWalletApp, freshAddress } from "../support/chain/walletApp";
import { claimsTakeEffect } from "../support/owners";
import { browserOf } from "../support/browser";
import { api } from "../../convex/_generated/api";

/** What stands in the address of an order, and tokens that are none. */

const OWNED = "an-owned-id-that-nobody-guesses-4f8Kq2";

useChain();

test("an order with fields in its address is refused by name, and moves nothing", async () => {
  const app = createWalletApp(chain);
  await app.fundedWallet(OWNED, { ETH: 10n ** 18n, USDC: 10_000_000n });
  const send = { userId: OWNED, toAddress: freshAddress(), token: "USDC", amount: "1000000" };
  const swap = { userId: OWNED, fromToken: "USDC", toToken: "WETH", amount: "1000000" };
  for (const [path, body] of [
    ["/mcp/defi/send?dryRun=true", send],
    ["/mcp/defi/send?preview=1", send],
    ["/mcp/defi/swap?dryRun=true", swap],
  ] as const) {
    const { status, body: answer } = await app.post(path, body);
    expect([path, status, answer.error]).toEqual([path, 400, expect.stringContaining("is in the address")]);
  }
  expect(await app.rows("orders")).toEqual([]);
});

test("a rehearsal by the id alone says what the order would be refused for", async () => {
  const app = createWalletApp(chain);
  await app.fundedWallet(OWNED, { ETH: 10n ** 18n, USDC: 10_000_000n });
  const browser = browserOf(app, "owner");
  await browser.action(api.accounts.actions.claimUserId, { userId: OWNED });
  await claimsTakeEffect(app);
  const send = { userId: OWNED, toAddress: freshAddress(), token: "USDC", amount: "1000000" };
  const order = await app.post("/mcp/defi/send", send);
  const rehearsed = await app.post("/mcp/defi/send", { ...send, dryRun: true });
  expect([order.status, rehearsed.status, rehearsed.body.success]).toEqual([403, 200, false]);
  expect(rehearsed.body.rehearsal).toMatchObject({
    refusal: { status: 403, error: order.body.error },
    mostFeeEth: expect.stringMatching(/^0\.000/),
  });
  const own = await app.post("/mcp/defi/send", { ...send, dryRun: true }, { as: "owner" });
  expect(own.body.rehearsal).toMatchObject({ refusal: null });
  expect((await app.post("/mcp/defi/send", { ...send, dryRun: true }, { as: "another" })).status).toBe(403);
  expect(await app.rows("orders")).toEqual([]);
});

test("a token that is not valid is 401 for an id with an owner, and never falls back to the id", async () => {
  const app = createWalletApp(chain);
  await app.fundedWallet(OWNED, { ETH: 10n ** 18n });
  const browser = browserOf(app, "owner");
  await browser.mutation(api.accounts.profile.signIn, {});
  await browser.action(api.accounts.actions.claimUserId, { userId: OWNED });
  await claimsTakeEffect(app);
  const headers = { Authorization: "Bearer not-a-token" };
  expect((await app.get(`/mcp/defi/portfolio?userId=${OWNED}`, { headers })).status).toBe(401);
  const send = { userId: OWNED, toAddress: freshAddress(), token: "ETH", amount: "1" };
  expect((await app.post("/mcp/defi/send", send, { headers })).status).toBe(401);
  expect((await app.get(`/mcp/defi/portfolio?userId=${OWNED}`)).status).toBe(200);
});
