import { encodeFunctionData, erc20Abi } from "viem";
import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { PERMIT2, TOKENS } from "../../scripts/chain/addresses";
import { handedToTheNode } from "../invariants/harness";
import { ETHER, beforehand, chain, isMined, nonceOf, useChain, usdcOf } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { laggingNodes } from "../support/laggingNodes";
import { beforeFirst } from "../support/outside";
import { cards, keyOf, LISTED, listRecipient, owner, RICH, send, signed, test } from "../support/owners";
import { replace } from "../support/world";

/** What stands between an order and its signature, tried at the moment that only it covers. */

useChain();

const PLENTY = { ETH: ETHER, USDC: 1_000_000_000n };
const SWAP = { fromToken: "USDC", toToken: "WETH", amount: "10000000" };

/** Does something once the next sealed key has been opened. */
function afterOpening(work: () => Promise<unknown>): void {
  const usual = crypto.subtle.decrypt.bind(crypto.subtle);
  let isDone = false;
  replace(crypto.subtle, "decrypt", async (...args: Parameters<typeof usual>) => {
    const opened = await usual(...args);
    if (!isDone) {
      isDone = true;
      await work();
    }
    return opened;
  });
}

describe("an owner's word on the way", () => {
  test("a freeze after the key was opened lets nothing leave", async ({ app }) => {
    const { browser, userId, address } = await owner(app);
    const given = handedToTheNode();
    afterOpening(() => browser.mutation(api.accounts.profile.freeze, {}));
    const { status, body } = await app.post("/mcp/defi/send", send(userId), { as: "person-42" });
    expect([status, body.error]).toEqual([
      503,
      expect.stringMatching(/frozen this account.* \/unfreeze .*: nothing was signed$/),
    ]);
    expect([given(), await usdcOf(address)]).toEqual([[], 1_000_000_000n]);
  });

  test("a pause after the key was opened lets nothing leave", async ({ app }) => {
    const address = await app.fundedWallet("alice", PLENTY);
    afterOpening(() => Promise.resolve(vi.stubEnv("TRADING_PAUSED", "true")));
    const { status } = await app.post("/mcp/defi/send", send("alice"));
    expect([status, await usdcOf(address)]).toEqual([503, PLENTY.USDC]);
  });

  test("a key that is revoked on the way moves nothing", async ({ app }) => {
    const { browser, userId, address } = await owner(app);
    const { init, keyId } = await keyOf(app, browser, ["withdraw"]);
    await listRecipient(app, userId);
    beforeFirst("eth_estimateGas", () => browser.mutation(api.accounts.keys.revoke, { keyId }));
    const { status, body } = await app.post("/mcp/defi/send", send(userId, { toAddress: LISTED }), init);
    expect([status, body.error]).toEqual([403, expect.stringContaining("rules have changed")]);
    expect(await usdcOf(address)).toBe(1_000_000_000n);
  });
});

describe("sums", () => {
  const sendFrom = (app: WalletApp, userId: string, ip: string, amount = "40000000") =>
    app.post("/mcp/defi/send", send(userId, { amount }), { ip });

  test("of short ids without owners are one by network address, of long ones their own", async ({ app }) => {
    vi.stubEnv("UNOWNED_DAILY_USD", "50");
    const long = ["a", "b"].map((name) => `${name}-${crypto.randomUUID()}`);
    for (const userId of ["alice", "bob", "carol", ...long]) await app.fundedWallet(userId, PLENTY);
    expect((await sendFrom(app, "alice", "198.51.100.7")).status).toBe(200);
    const beyond = await sendFrom(app, "bob", "198.51.100.7");
    expect([beyond.status, beyond.body.error]).toEqual([
      429,
      expect.stringContaining("for the short userIds of one network address"),
    ]);
    expect((await sendFrom(app, "carol", "203.0.113.9")).status).toBe(200);
    for (const userId of long) expect((await sendFrom(app, userId, "198.51.100.7")).status).toBe(200);
  });

  test("what was never signed counts against no count of orders, what was does", async ({ app }) => {
    const ip = "198.51.100.7";
    for (const userId of ["alice", "bob"]) await app.fundedWallet(userId, PLENTY);
    const short = await sendFrom(app, "alice", ip, "99000000000");
    expect([short.status, short.body.nothingMoved]).toEqual([400, true]);
    const copy = (hasTries: boolean) =>
      app.t.run(async ({ db }) => {
        for (const { _id, _creationTime, ...row } of await db.query("orders").collect())
          if (row.tries.length > 0 === hasTries)
            for (let n = 0; n < 500; n++)
              await db.insert("orders", { ...row, countedAmount: "0", feeCounted: "0" });
      });
    await copy(false);
    expect((await sendFrom(app, "alice", ip)).status).toBe(200);
    expect((await sendFrom(app, "bob", ip)).status).toBe(200);
    await copy(true);
    const { status, body } = await sendFrom(app, "bob", ip);
    expect([status, body.error]).toEqual([429, expect.stringContaining("At most 500 orders")]);
  });

  test("of questions by the id alone end at ten a day, whatever has become of them", async ({ app }) => {
    const { userId } = await owner(app, RICH);
    for (let n = 1; n <= 10; n++) {
      expect([n, (await app.post("/mcp/defi/send", send(userId))).status]).toEqual([n, 202]);
      // Nobody answers.
      await app.t.run(async ({ db }) => {
        for (const row of await db.query("orders").collect())
          if (row.state === "asked") await db.patch("orders", row._id, { nextCheckAt: 0 });
      });
    }
    const { status, body } = await app.post("/mcp/defi/send", send(userId));
    expect([status, body.error]).toEqual([429, expect.stringContaining("daily limit of questions")]);
    const asked = (await cards(app)).filter(({ text }) => text.includes("approval is asked"));
    expect(asked).toHaveLength(10);
  });
});

describe("a swap's fees and approval", () => {
  test("fees of all steps are known before the first signature", async ({ app }) => {
    const userId = `person-${crypto.randomUUID()}`;
    const address = await app.fundedWallet(userId, { ETH: 200_000_000_000_000n, USDC: 50_000_000n });
    const order = { userId, ...SWAP };
    const rehearsed = await app.post("/mcp/defi/swap", { ...order, dryRun: true });
    const { status, body } = await app.post("/mcp/defi/swap", order);
    expect([status, body.nothingMoved]).toEqual([400, true]);
    expect(body.error).toMatch(
      /^Insufficient ETH for the network fee, at most \d+\.\d\d USD \(0\.000\d{1,6} ETH\): 0\.000\d{1,6} needed in all, the wallet holds 0\.0002, 0\.000\d{1,6} is missing: send it to 0x[0-9a-fA-F]{40} on Base$/,
    );
    expect(rehearsed.body.rehearsal).toMatchObject({ refusal: { status: 400, error: body.error } });
    expect([await nonceOf(address), await signed(app)]).toEqual([0, []]);
  });

  test("an allowance that has to be taken back first is rehearsed as it would go", async ({ app }) => {
    const address = await app.fundedWallet("alice", { ETH: ETHER, USDT: 50_000_000n });
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, 7n] });
    await beforehand(chain, address, [{ to: TOKENS.USDT, data }]);
    const order = { userId: "alice", ...SWAP, fromToken: "USDT" };
    const rehearsed = await app.post("/mcp/defi/swap", { ...order, dryRun: true });
    expect(rehearsed.body).toMatchObject({ success: true, rehearsal: { refusal: null } });
    expect((await app.post("/mcp/defi/swap", order)).body.status).toBe("confirmed");
  });

  test("a swap that gives up after its approval names it, and claims nothing else", async ({ app }) => {
    const address = await app.fundedWallet("alice", PLENTY);
    // The caller's own wait is a little shorter than a deadline out of reach.
    const waits: AbortController[] = [];
    const usual = AbortSignal.timeout.bind(AbortSignal);
    replace(AbortSignal, "timeout", (ms) => {
      if (ms < 3_000_000 || ms >= 3_600_000) return usual(ms);
      const controller = new AbortController();
      waits.push(controller);
      return controller.signal;
    });
    let [isApproved, looks] = [false, 0];
    const { end } = laggingNodes({
      isLate: (body) => {
        isApproved ||= body.includes("eth_getTransactionReceipt");
        // Only the node that is late tells of the allowance.
        if (!isApproved || !body.includes("dd62ed3e")) return false;
        if (++looks === 4) for (const wait of waits) wait.abort();
        return true;
      },
      behind: () => 1,
    });
    const { status, body } = await app.post("/mcp/defi/swap", { userId: "alice", ...SWAP });
    end();
    expect([status >= 400, body.nothingMoved]).toEqual([true, undefined]);
    const hash = String(body.approvalTxHash);
    expect(body.error).toContain(`Its approval ${hash} is mined`);
    expect([await isMined(hash), await nonceOf(address)]).toEqual([true, 1]);
    expect(await usdcOf(address)).toBe(PLENTY.USDC);
    // Its allowance serves the next one.
    const next = await app.post("/mcp/defi/swap", { userId: "alice", ...SWAP });
    expect([next.body.status, next.body.approvalTxHash]).toEqual(["confirmed", undefined]);
  });
});

describe("a rehearsal", () => {
  test("refuses what the wallet's key could not sign, as the order does, naming the variable", async ({
    app,
  }) => {
    await app.fundedWallet("alice", PLENTY);
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    const { body } = await app.post("/mcp/defi/send", { ...send("alice"), dryRun: true });
    const error = expect.stringContaining("WALLET_ENCRYPTION_KEY");
    expect(body).toMatchObject({ success: false, rehearsal: { refusal: { status: 500, error } } });
    const order = await app.post("/mcp/defi/send", send("alice"));
    expect([order.status, order.body.error]).toEqual([500, error]);
    const logged = app.logged.filter((words) => JSON.stringify(words).includes("wallets.not signed"));
    expect(JSON.stringify(logged)).toContain("WALLET_ENCRYPTION_KEY");
  });

  test("of an owned account says that the owner would be asked, and asks nobody", async ({ app }) => {
    const { userId } = await owner(app);
    const { body } = await app.post("/mcp/defi/send", { ...send(userId), dryRun: true });
    expect(body).toMatchObject({
      success: false,
      rehearsal: { refusal: { status: 202, error: expect.stringMatching(/^The owner would be asked/) } },
    });
    expect([await cards(app), await app.rows("orders")]).toEqual([[], []]);
  });
});
