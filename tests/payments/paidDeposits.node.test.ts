import type { PrivateKeyAccount } from "viem/accounts";
import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { proofText } from "../../convex/payments/reports/proofs/forms";
import { startTestChain as startChainAt } from "../chain/support";
import { chain, useChain } from "../support/chain/chain";
import { type WalletApp } from "../support/chain/walletApp";
import { closeApp } from "../support/world";
import { browserOf } from "../web/support";
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
  stranger,
  transfer,
  versionTwo,
  test,
} from "./payer";
import { balanceOf } from "./deposits/depositSupport";

/** One transfer never buys a report and credits. */

useChain();

async function sent(app: WalletApp, userId: string, amount: bigint): Promise<string> {
  await app.fundedWallet(userId, { ETH: 10n ** 18n, USDC: amount });
  const order = { userId, toAddress: PLATFORM, token: "USDC", amount: amount.toString() };
  return String((await app.post("/mcp/defi/send", order)).body.txHash);
}

async function linkAddress(app: WalletApp, person: ReturnType<typeof browserOf>, wallet: PrivateKeyAccount) {
  const { message } = await person.mutation(api.users.addresses.challenge, { address: wallet.address });
  await person.action(api.users.linking.linkAddress, { signature: await wallet.signMessage({ message }) });
  await app.settle();
}

const webhook = (app: WalletApp, txHash: string) => app.post("/indexer/deposit", { txHash });

describe("a transfer that reaches the deposit webhook", () => {
  test("first pays the report out of the credits it has brought", async ({ app }) => {
    const hash = await sent(app, "alice", 3n * ONE);
    expect((await webhook(app, hash)).body).toMatchObject({ credited: [{ txHash: hash, credits: 300 }] });
    expect((await buyWith(app, hash, { userId: "mallory" })).status).toBe(402);
    expect((await buyWith(app, hash, { userId: "alice" })).status).toBe(200);
    expect(await balanceOf(app, "alice")).toBe(200);
    const ledger = await app.rows("creditTransactions");
    expect(ledger.map(({ type, source, amount }) => [type, source, amount])).toEqual([
      ["deposit", "usdc", 300],
      ["deduction", "report", 100],
    ]);
    await webhook(app, hash);
    expect((await buyWith(app, hash, { userId: "alice", token: "BTC" })).body.reason).toBe(
      "payment_already_used",
    );
    expect(await balanceOf(app, "alice")).toBe(200);
  });

  test("first still pays the report when its row no longer names the user", async ({ app }) => {
    const hash = await sent(app, "alice", 3n * ONE);
    await webhook(app, hash);
    await app.t.run(async (ctx) => {
      const deletionId = await ctx.db.insert("accountDeletions", {
        userId: "alice",
        requestedAt: Date.now(),
        erased: 0,
      });
      await ctx.runMutation(internal.account.deletion.step, { deletionId });
    });
    expect((await app.rows("deposits"))[0]?.userId).toBeUndefined();
    expect((await buyWith(app, hash, { userId: "alice" })).status).toBe(200);
    expect(await balanceOf(app, "alice")).toBe(200);
  });

  test("first, with its credits spent, buys no report", async ({ app }) => {
    const hash = await sent(app, "alice", ONE);
    await webhook(app, hash);
    await app.t.run(async (ctx) => {
      for (const row of await ctx.db.query("creditBalances").collect()) {
        await ctx.db.patch("creditBalances", row._id, { balance: 99 });
      }
    });
    const { status, body } = await buyWith(app, hash, { userId: "alice" });
    expect([status, body.reason]).toEqual([402, "payment_already_used"]);
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
    const message = proofText(txHash, PLATFORM, { focus: "", bodyHash: "" });
    const signature = await from.signMessage({ message });
    expect((await buyWith(app, JSON.stringify({ txHash, signature }))).status).toBe(200);
    expect(await app.rows("spentTransfers")).toMatchObject([{ claimKey: expect.any(String) }]);
    expect(await told()).toEqual([{ txHash, reason: "it was spent on a report" }]);
  });

  test("of nobody known, and a report bought with it, credits only the rest when its sender is linked", async ({
    app,
  }) => {
    const person = browserOf(app, "alice");
    const { userId } = await person.mutation(api.users.profile.signIn, {});
    const from = await payer(chain);
    const hashes = [];
    for (const first of ["deposit", "report"]) {
      const txHash = await transfer(chain, from, { value: 2n * ONE });
      const message = proofText(txHash, PLATFORM, { focus: "", bodyHash: "" });
      const proof = JSON.stringify({ txHash, signature: await from.signMessage({ message }) });
      if (first === "deposit") await webhook(app, txHash);
      expect([first, (await buyWith(app, proof)).status]).toEqual([first, 200]);
      expect((await webhook(app, txHash)).body).toMatchObject({
        credited: [],
        ignored: [
          { txHash, reason: expect.stringContaining("the rest that no report has used is credited once") },
        ],
      });
      hashes.push(txHash);
    }
    expect(await app.rows("creditTransactions")).toEqual([]);

    await linkAddress(app, person, from);
    expect(await balanceOf(app, userId)).toBe(200);
    for (const txHash of hashes) {
      expect((await webhook(app, txHash)).body).toMatchObject({ credited: [{ txHash, credits: 100 }] });
    }
    expect(await balanceOf(app, userId)).toBe(200);
  });

  test("of more than the price buys a report by its hash alone, and the rest is kept for its sender", async ({
    app,
  }) => {
    const from = await payer(chain);
    const txHash = await transfer(chain, from, { value: 2n * ONE });
    const bought = await buyWith(app, txHash);
    expect([bought.status, bought.body.error]).toEqual([200, undefined]);
    expect(bought.body.rest).toEqual({
      amountUsdc: "1",
      state: "kept",
      credits: null,
      note: expect.stringContaining("credited once the wallet that has paid is linked"),
    });
    // It buys nothing a second time, whoever comes with it.
    for (const body of [{ token: "BTC" }, { userId: "mallory" }]) {
      const { status, body: refused } = await buyWith(app, txHash, body);
      expect([status, refused.reason]).toEqual([402, "payment_already_used"]);
    }
    expect(await app.rows("spentTransfers")).toMatchObject([{ txHash, amount: (2n * ONE).toString() }]);
    expect(await app.rows("creditTransactions")).toEqual([]);

    const person = browserOf(app, "alice");
    const { userId } = await person.mutation(api.users.profile.signIn, {});
    await linkAddress(app, person, from);
    expect(await balanceOf(app, userId)).toBe(100);
    expect((await buyWith(app, txHash)).body.rest).toMatchObject({ state: "credited", credits: 100 });
    expect((await webhook(app, txHash)).body).toMatchObject({ credited: [{ txHash, credits: 100 }] });
    expect(await balanceOf(app, userId)).toBe(100);
  });

  test("of more than the price by a known sender credits the rest, without a webhook, and says so", async ({
    app,
  }) => {
    const hash = await sent(app, "alice", 3n * ONE);
    const { body } = await buyWith(app, hash, { userId: "alice" });
    expect(body.rest).toMatchObject({ amountUsdc: "2", state: "credited", credits: 200 });
    expect(await balanceOf(app, "alice")).toBe(200);
    expect(await app.rows("spentTransfers")).toMatchObject([
      { claimKey: expect.any(String), depositKey: expect.any(String) },
    ]);
  });

  test("of exactly the price leaves nothing, and the answer speaks of no rest", async ({ app }) => {
    const txHash = await sent(app, "alice", ONE);
    const { body } = await buyWith(app, txHash, { userId: "alice" });
    expect(body).not.toHaveProperty("rest");
    expect(await app.rows("depositHints")).toEqual([]);
    expect((await webhook(app, txHash)).body).toMatchObject({
      ...{ credited: [], ignored: [{ txHash, reason: "it was spent on a report" }] },
    });
    expect(await balanceOf(app, "alice")).toBe(0);
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
      const message = proofText(txHash, PLATFORM, { userId: "alice", focus: "", bodyHash: "" });
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

test("a writing that was cut off is begun again by its payer", async ({ app }) => {
  const hash = await transfer(chain, await payer(chain));
  const claim = {
    key: `log:${hash}:0`,
    strength: 0 as const,
    overridden: false,
    state: "generating" as const,
    payer: stranger().address.toLowerCase(),
    txHash: hash,
    createdAt: 1,
  };
  await buyWith(app, hash, { userId: "alice" });
  const [row] = await app.rows("paymentClaims");
  if (row === undefined) throw new Error("No claim");
  const { order } = row;
  await app.t.run((ctx) => ctx.db.replace("paymentClaims", row._id, { ...claim, order }));
  const lost = { claimId: row._id, error: "lost", code: "upstream", isLast: true };
  await app.t.mutation(internal.payments.reports.progress.failed, lost);
  expect(await app.rows("paymentClaims")).toMatchObject([{ state: "paid", trouble: { code: "upstream" } }]);
  expect((await buyWith(app, hash, { userId: "alice" })).status).toBe(200);
});
