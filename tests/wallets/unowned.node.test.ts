import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { HOUR } from "../../convex/lib/time";
import { chain, test, useChain } from "../support/chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { claimsTakeEffect } from "../support/owners";
import { browserOf } from "../support/browser";

/** Ids that are short hold wallets, since clients choose them: what a guess is worth. */

useChain();

const LONG = "kq3vX9tLw2bTz7RfYh5MnP";
const plenty = { ETH: 10n ** 18n, USDC: 5_000_000_000n };
/** As the operator has it who sets nothing. */
const usual = { UNOWNED_DAILY_USD: undefined };
const send = (app: WalletApp, userId: string, usdc: number, more: { to?: string; as?: string } = {}) =>
  app.post(
    "/mcp/defi/send",
    {
      ...{ userId, token: "USDC", amount: String(usdc * 1_000_000) },
      toAddress: more.to ?? freshAddress(),
    },
    { ip: "198.51.100.7", ...(more.as === undefined ? {} : { as: more.as }) },
  );
/** The clock goes on without the chain. */
const later = (app: WalletApp, ms: number) =>
  app.t.run(async ({ db }) => {
    for (const { _id, countedAt = 0 } of await db.query("orders").collect())
      await db.patch("orders", _id, { countedAt: countedAt - ms });
  });

test("sends at most 500 USD in any 24 hours, and is told when how much is free again", async () => {
  const app = createWalletApp(chain, { env: usual });
  await app.fundedWallet("alice", plenty);
  expect((await send(app, "alice", 300)).status).toBe(200);
  await later(app, 12 * HOUR);
  expect((await send(app, "alice", 150)).status).toBe(200);
  const beyond = await send(app, "alice", 51);
  expect([beyond.status, beyond.body.error]).toEqual([
    429,
    expect.stringMatching(
      /^This transfer would go beyond the limit of 500 USD in 24 hours for a userId without an owner: 49\.\d+ USD are left, and there is room for it from \d+ \w+ \d{4}, \d\d:\d\d UTC$/,
    ),
  ]);
  // Past midnight nothing begins anew.
  await later(app, 11.9 * HOUR);
  expect((await send(app, "alice", 51)).status).toBe(429);
  await later(app, 0.2 * HOUR);
  expect((await send(app, "alice", 299)).status).toBe(200);
  expect((await send(app, "alice", 52)).status).toBe(429);
});

test("a long one that nobody owns sends at most 500 USD as well; a swap counts what it may lose, and a send to one's own other wallet nothing", async () => {
  const app = createWalletApp(chain, { env: usual });
  await app.fundedWallet(LONG, plenty);
  const basic = await app.post("/mcp/wallet/create", { userId: LONG });
  const swap = { userId: LONG, fromToken: "USDC", toToken: "DAI", amount: "2000000000" };
  expect((await app.post("/mcp/defi/swap", swap)).status).toBe(200);
  expect((await send(app, LONG, 1_200, { to: String(basic.body.address) })).status).toBe(200);
  // 2 % of 2,000 USD, the price feeds' last digits and the fees aside.
  expect((await send(app, LONG, 450)).status).toBe(200);
  const beyond = await send(app, LONG, 20);
  expect([beyond.status, beyond.body.error]).toEqual([
    429,
    expect.stringContaining("for a userId without an owner: "),
  ]);
});

test("swaps that may lose much cannot carry off more than the limit, whatever the provider quotes", async () => {
  const app = createWalletApp(chain, { env: usual });
  await app.fundedWallet("alice", plenty);
  const swap = (fields: object) =>
    app.post("/mcp/defi/swap", { userId: "alice", fromToken: "USDC", toToken: "DAI", ...fields });
  const wide = { amount: "2000000000", slippageBps: 1_000 };
  for (let n = 0; n < 2; n++) expect((await swap(wide)).status).toBe(200);
  const back = { fromToken: "DAI", toToken: "USDC", amount: String(2_000n * 10n ** 18n) };
  const third = await swap({ ...wide, ...back });
  expect([third.status, third.body.error]).toEqual([
    429,
    expect.stringMatching(
      /^This swap, whose terms let it lose 2\d\d(\.\d+)? USD, would go beyond the limit of 500 USD/,
    ),
  ]);
  const unpriced = await swap({ amount: "501000000", acceptUnpriced: true });
  expect(unpriced.status).toBe(403);
  expect((await swap({ amount: "100000000" })).status).toBe(200);
  expect((await send(app, "alice", 70)).status).toBe(429);
});

test("a claim does not lift the limit of an id with a wallet: it waits, and the id goes on as it was", async () => {
  const app = createWalletApp(chain, { env: usual });
  await app.fundedWallet("alice", plenty);
  const mallory = browserOf(app, "mallory");
  const claimed = await mallory.action(api.accounts.actions.claimUserId, { userId: "alice" });
  expect(claimed.pendingUntil).toBeGreaterThan(Date.now() + 47 * HOUR);
  const first = await send(app, "alice", 400, { as: "mallory" });
  expect([first.status, first.body.claimPending]).toEqual([
    200,
    new Date(claimed.pendingUntil ?? 0).toISOString(),
  ]);
  // Under the one limit that stood, whoever of the two it is.
  for (const more of [{ as: "mallory" }, {}]) expect((await send(app, "alice", 400, more)).status).toBe(429);
});

test("an owner's day counts what left before the id had an owner", async () => {
  const app = createWalletApp(chain, { env: usual });
  await app.fundedWallet(LONG, plenty);
  expect((await send(app, LONG, 499)).status).toBe(200);
  await browserOf(app, "drainer").action(api.accounts.actions.claimUserId, { userId: LONG });
  await claimsTakeEffect(app);
  const drains = { as: "drainer" };
  expect((await send(app, LONG, 1_499, drains)).status).toBe(200);
  const third = await send(app, LONG, 10, drains);
  expect([third.status, third.body.error]).toEqual([
    429,
    expect.stringContaining("limit of 2000 USD in 24 hours"),
  ]);
});
