import type { PrivateKeyAccount } from "viem/accounts";
import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { getCreditBalance as creditsOf } from "../../convex/credits/model";
import { buildProofText } from "../../convex/payments/proofs";
import { chain, useChain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { type WalletApp } from "../support/chain/walletApp";
import { browserOf } from "../support/browser";
import {
  authorize,
  buy,
  buyWith,
  handedOut,
  ONE,
  payer,
  PLATFORM,
  transfer,
  versionTwo,
  test,
} from "./payer";

/** One transfer never buys a report and credits. */

useChain();

async function sent(app: WalletApp, userId: string, amount: bigint): Promise<string> {
  await app.fundedWallet(userId, { ETH: 10n ** 18n, USDC: amount });
  const order = { userId, toAddress: PLATFORM, token: "USDC", amount: amount.toString() };
  return String((await app.post("/mcp/defi/send", order)).body.txHash);
}

async function linkAddress(app: WalletApp, person: ReturnType<typeof browserOf>, wallet: PrivateKeyAccount) {
  const { address } = wallet;
  const { message, issuedAt } = await person.action(api.accounts.actions.challenge, { address });
  const signature = await wallet.signMessage({ message });
  await person.action(api.accounts.actions.linkAddress, { address, issuedAt, signature });
  await app.settle();
}

const webhook = (app: WalletApp, txHash: string) => app.post("/indexer/deposit", { txHash });

async function balanceOf(app: WalletApp, userId: string): Promise<number> {
  await app.settle();
  return app.t.run((ctx) => creditsOf(ctx, userId));
}

/** The transaction's hash under its payer's signature. */
async function signedProof(from: PrivateKeyAccount, txHash: string): Promise<string> {
  const message = buildProofText(txHash, PLATFORM, { focus: "" });
  return JSON.stringify({ txHash, signature: await from.signMessage({ message }) });
}

test("a registered wallet's transfer buys its user a report, out of its credits or before they come", async ({
  app,
}) => {
  for (const isRead of [true, false]) {
    const userId = isRead ? "alice" : "bob";
    const txHash = await sent(app, userId, 3n * ONE);
    const told = async () => (await webhook(app, txHash)).body.credited;
    if (isRead) expect(await told()).toMatchObject([{ txHash, credits: 300 }]);
    for (const body of [{}, { userId: "mallory" }]) {
      const refused = await buyWith(app, txHash, body);
      expect([userId, refused.status, refused.body.reason]).toEqual([userId, 402, "invalid_payer_signature"]);
    }
    expect([userId, (await buyWith(app, txHash, { userId })).status]).toEqual([userId, 200]);
    expect(await told()).toMatchObject([{ txHash, credits: isRead ? 300 : 200 }]);
    expect([userId, await balanceOf(app, userId)]).toEqual([userId, 200]);
    // It buys no second one.
    const again = await buyWith(app, txHash, { userId, token: "BTC" });
    expect([userId, again.body.reason]).toEqual([userId, "payment_already_used"]);
    await webhook(app, txHash);
    expect([userId, await balanceOf(app, userId)]).toEqual([userId, 200]);
  }
});

test("an account with an owner buys by its key or token, and not by its id alone, also once the sender is unlinked", async ({
  app,
}) => {
  const person = browserOf(app, "owner");
  const { userId } = await person.mutation(api.accounts.profile.signIn, {});
  await app.fundedWallet(userId, { ETH: 10n ** 18n, USDC: 5n * ONE });
  const order = { userId, toAddress: PLATFORM, token: "USDC", amount: String(3n * ONE) };
  const own = String((await app.post("/mcp/defi/send", order, { as: "owner" })).body.txHash);
  const unread = await buyWith(app, own, { userId });
  expect([unread.status, unread.body.reason]).toEqual([402, "invalid_payer_signature"]);
  const from = await payer(chain);
  await linkAddress(app, person, from);
  const linked = await transfer(chain, from, { value: 3n * ONE });
  await webhook(app, linked);
  await person.mutation(api.accounts.profile.unlinkAddress, { address: from.address });
  for (const txHash of [own, linked]) expect((await buyWith(app, txHash, { userId })).status).toBe(402);
  expect(await balanceOf(app, userId)).toBe(600);

  const { key } = await person.mutation(api.accounts.keys.create, { name: "one", scopes: ["read"] });
  const proof = { "X-PAYMENT": own };
  expect((await buy(app, { ...proof, Authorization: "Bearer mk_none" }, { userId })).status).toBe(401);
  expect((await buy(app, { ...proof, Authorization: `Bearer ${key}` }, { userId })).status).toBe(200);
  expect(await balanceOf(app, userId)).toBe(500);
  expect((await buyWith(app, linked, { userId }, { as: "owner" })).status).toBe(200);
  expect(await balanceOf(app, userId)).toBe(400);
});

test("a transfer of nobody known buys a report, read or not, and credits the rest once its sender is linked", async ({
  app,
}) => {
  const person = browserOf(app, "alice");
  const { userId } = await person.mutation(api.accounts.profile.signIn, {});
  const from = await payer(chain, 9n * ONE);
  const told = async (txHash: string) => (await webhook(app, txHash)).body.ignored;
  const unmatched = (txHash: string) => [
    { txHash, reason: "unmatched: it is credited once its sending address is linked" },
  ];
  for (const [value, isRead] of [
    [1n, true],
    [2n, true],
    [2n, false],
  ] as const) {
    const txHash = await transfer(chain, from, { value: value * ONE });
    if (isRead) expect(await told(txHash)).toEqual(unmatched(txHash));
    expect((await buyWith(app, await signedProof(from, txHash))).status).toBe(200);
    await app.settle();
    const spent = [{ txHash, reason: "it was spent on a report" }];
    expect(await told(txHash)).toEqual(value === 1n ? spent : unmatched(txHash));
  }
  await linkAddress(app, person, from);
  expect(await balanceOf(app, userId)).toBe(200);
});

test("the settlement of a signed payment credits what the report has left, whoever comes first", async ({
  app,
}) => {
  for (const userId of ["early", "late"]) {
    const from = await payer(chain);
    const address = from.address.toLowerCase();
    await app.t.run((ctx) => ctx.db.insert("addresses", { address, userId }));
    const earlier = (await app.rows("orders")).at(-1)?.tries.at(-1)?.hash;
    await chain.miner.pause();
    const buying = buy(app, versionTwo(await authorize(from, { value: 3n * ONE })), { userId });
    const { txHash } = await handedOut(app, earlier);
    if (userId === "early") {
      // The webhook's provider sees the block before this service does: it is no deposit yet.
      const heal = answering(({ method }) =>
        method === "eth_getTransactionReceipt" ? { result: null } : null,
      );
      await chain.miner.mine();
      await webhook(app, txHash);
      expect(await app.t.run((ctx) => creditsOf(ctx, userId))).toBe(0);
      heal();
      // It is this payment's alone, whoever shows its hash meanwhile.
      expect((await buyWith(app, txHash, { userId })).body.reason).toBe("payment_already_used");
    }
    chain.miner.resume();
    expect((await buying).status).toBe(200);
    if (userId === "late") await webhook(app, txHash);
    expect([userId, await balanceOf(app, userId)]).toEqual([userId, 200]);
  }
});
