import type { PrivateKeyAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { balanceOf as creditsOf } from "../../convex/credits/model";
import { proofText } from "../../convex/payments/proofs";
import { startTestChain as startChainAt } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { type WalletApp } from "../support/chain/walletApp";
import { closeApp } from "../support/world";
import { browserOf } from "../support/browser";
import {
  authorize,
  base64,
  buy,
  buyWith,
  createPaidApp,
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

describe("a transfer that reaches the deposit webhook", () => {
  test("first pays the report out of the credits it has brought", async ({ app }) => {
    const hash = await sent(app, "alice", 3n * ONE);
    expect((await webhook(app, hash)).body).toMatchObject({ credited: [{ txHash: hash, credits: 300 }] });
    expect((await buyWith(app, hash, { userId: "mallory" })).status).toBe(402);
    expect((await buyWith(app, hash, { userId: "alice" })).status).toBe(200);
    expect(await balanceOf(app, "alice")).toBe(200);
    await webhook(app, hash);
    expect((await buyWith(app, hash, { userId: "alice", token: "BTC" })).body.reason).toBe(
      "payment_already_used",
    );
    expect(await balanceOf(app, "alice")).toBe(200);
  });

  test("of an account with an owner buys by its key, and not by its id alone", async ({ app }) => {
    const person = browserOf(app, "owner");
    const { userId } = await person.mutation(api.accounts.profile.signIn, {});
    await app.fundedWallet(userId, { ETH: 10n ** 18n, USDC: 5n * ONE });
    const order = { userId, toAddress: PLATFORM, token: "USDC", amount: String(3n * ONE) };
    const txHash = String((await app.post("/mcp/defi/send", order, { as: "owner" })).body.txHash);
    await webhook(app, txHash);
    const alone = await buyWith(app, txHash, { userId });
    expect([alone.status, alone.body.reason]).toEqual([402, "invalid_payer_signature"]);
    const { key } = await person.mutation(api.accounts.keys.create, { name: "one", scopes: ["read"] });
    const proof = { "X-PAYMENT": txHash };
    expect((await buy(app, { ...proof, Authorization: "Bearer mk_none" }, { userId })).status).toBe(401);
    expect((await buy(app, { ...proof, Authorization: `Bearer ${key}` }, { userId })).status).toBe(200);
    expect(await balanceOf(app, userId)).toBe(200);
  });

  test("of an account with an owner buys nothing by its id alone, also once its sender is unlinked", async ({
    app,
  }) => {
    const person = browserOf(app, "owner");
    const { userId } = await person.mutation(api.accounts.profile.signIn, {});
    const from = await payer(chain);
    await linkAddress(app, person, from);
    const txHash = await transfer(chain, from, { value: 3n * ONE });
    await webhook(app, txHash);
    await person.mutation(api.accounts.profile.unlinkAddress, { address: from.address });
    expect((await buyWith(app, txHash, { userId })).status).toBe(402);
    expect(await balanceOf(app, userId)).toBe(300);
    expect((await buyWith(app, txHash, { userId }, { as: "owner" })).status).toBe(200);
    expect(await balanceOf(app, userId)).toBe(200);
  });

  test("is redeemed by its payer's signature for an id that has replaced another", async ({ app }) => {
    const person = browserOf(app, "owner");
    await person.mutation(api.accounts.profile.signIn, {});
    const { userId } = await person.mutation(api.accounts.profile.replaceUserId, {});
    const from = await payer(chain);
    const txHash = await transfer(chain, from);
    const message = proofText(txHash, PLATFORM, { userId, focus: "" });
    const signature = await from.signMessage({ message });
    expect((await buyWith(app, JSON.stringify({ txHash, signature }), { userId })).status).toBe(200);
  });

  test("second credits what the report has left", async ({ app }) => {
    const hash = await sent(app, "alice", 3n * ONE);
    expect((await buyWith(app, hash, { userId: "alice" })).status).toBe(200);
    expect((await webhook(app, hash)).body).toMatchObject({ credited: [{ txHash: hash, credits: 200 }] });
    expect(await balanceOf(app, "alice")).toBe(200);
  });

  test("of nobody known still buys a report", async ({ app }) => {
    const from = await payer(chain);
    const txHash = await transfer(chain, from, { value: ONE });
    const told = async () => (await webhook(app, txHash)).body.ignored;
    expect(await told()).toEqual([
      { txHash, reason: expect.stringContaining("unmatched: it is credited once") },
    ]);
    const message = proofText(txHash, PLATFORM, { focus: "" });
    const signature = await from.signMessage({ message });
    expect((await buyWith(app, JSON.stringify({ txHash, signature }))).status).toBe(200);
    await app.settle();
    expect(await told()).toEqual([{ txHash, reason: "it was spent on a report" }]);
  });

  test("of nobody known, and a report bought with it, credits only the rest when its sender is linked", async ({
    app,
  }) => {
    const person = browserOf(app, "alice");
    const { userId } = await person.mutation(api.accounts.profile.signIn, {});
    const from = await payer(chain);
    for (const first of ["deposit", "report"]) {
      const txHash = await transfer(chain, from, { value: 2n * ONE });
      const message = proofText(txHash, PLATFORM, { focus: "" });
      const proof = JSON.stringify({ txHash, signature: await from.signMessage({ message }) });
      if (first === "deposit") await webhook(app, txHash);
      expect([first, (await buyWith(app, proof)).status]).toEqual([first, 200]);
      await webhook(app, txHash);
    }
    await linkAddress(app, person, from);
    expect(await balanceOf(app, userId)).toBe(200);
  });

  test("as the settlement of a signed payment credits what the report has left, whoever comes first", async () => {
    for (const early of [true, false]) {
      const app = createPaidApp(chain);
      const from = await payer(chain);
      // The payer is a registered user: a custody wallet's row with the payer's address.
      await app.post("/mcp/wallet/create", { userId: "alice" });
      await app.t.run(async (ctx) => {
        for (const row of await ctx.db.query("wallets").collect()) {
          await ctx.db.patch("wallets", row._id, { address: from.address });
        }
      });
      const header = versionTwo(await authorize(from, { value: 3n * ONE }));
      await chain.miner.pause();
      const buying = buy(app, header, { userId: "alice" });
      const { txHash } = await handedOut(app);
      if (early) {
        // The webhook's provider sees the block before this service does.
        await chain.miner.mine();
        await webhook(app, txHash);
      }
      chain.miner.resume();
      expect((await buying).status).toBe(200);
      if (!early) await webhook(app, txHash);
      expect([early, await balanceOf(app, "alice")]).toEqual([early, 200]);
      closeApp();
    }
  });
});

test("the age of a payment is the chain's: an hour for a hash, a day for a signature, none for a claim", async () => {
  let ahead = 0;
  const own = await startChainAt({ clock: () => Date.now() / 1_000 + ahead, log: () => undefined });
  try {
    const app = createPaidApp(own);
    const from = await payer(own);
    const [bare, signed, late] = [
      await transfer(own, from),
      await transfer(own, from),
      await transfer(own, from),
    ];
    const proofOf = async (txHash: string) => {
      const message = proofText(txHash, PLATFORM, { userId: "alice", focus: "" });
      return base64({ txHash, signature: await from.signMessage({ message }) });
    };
    expect((await buyWith(app, bare, { userId: "alice" })).status).toBe(200);
    ahead = 2 * 3_600;
    await own.miner.mine();
    expect((await buyWith(app, signed, { userId: "alice" })).body.reason).toBe("payment_expired");
    expect((await buyWith(app, await proofOf(signed), { userId: "alice" })).status).toBe(200);
    expect((await buyWith(app, bare, { userId: "alice" })).status).toBe(200);
    ahead = 25 * 3_600;
    await own.miner.mine();
    expect((await buyWith(app, await proofOf(late), { userId: "alice" })).body.reason).toBe(
      "payment_expired",
    );
  } finally {
    await own.stop();
  }
});

test("an authorization that the chain's clock has outlived is refused by the simulation", async () => {
  const own = await startChainAt({ clock: () => Date.now() / 1_000 + 600, log: () => undefined });
  try {
    const app = createPaidApp(own);
    const { status, body } = await buy(app, versionTwo(await authorize(await payer(own))));
    expect([status, body.reason]).toEqual([402, "invalid_exact_evm_payload_authorization_valid_before"]);
    expect(await app.rows("paymentClaims")).toEqual([]);
  } finally {
    await own.stop();
  }
});
