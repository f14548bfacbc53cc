import { beforeAll, describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import type { ActionCtx } from "../../convex/_generated/server";
import { signTypedData } from "../../convex/wallets/custody/signatures";
import type { Order } from "../../convex/wallets/orders/model";
import { signFurther, signNext } from "../../convex/wallets/orders/signer";
import type { SigningTurn } from "../../convex/wallets/orders/steps";
import { random } from "../../scripts/standins/random";
import { RUNS } from "../invariants/harness";
import { ETHER, chain, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { test } from "../support/owners";

/** Orders on paper: what they get beside live ones, and that no key opens for them. */

useChain();
// Prices stand still, so that what an order got can be compared with what they say afterwards.
beforeAll(() => chain.feeds.pause());

const idOf = () => `owner-${crypto.randomUUID()}`;

describe("an order on paper", () => {
  test("gets what a live one of the same size gets, or what the feeds say it is worth where the pool is better", async ({
    app,
  }) => {
    const chance = random("paper", 1);
    let [live, paper] = ["", ""];
    for (let pair = 0; pair < RUNS; pair++) {
      // An account has limits of a minute and of a day.
      if (pair % 5 === 0) {
        [live, paper] = [idOf(), idOf()];
        await app.fundedWallet(live, { ETH: 20n * ETHER, USDC: 2_000_000_000_000n });
        await app.post("/mcp/defi/paper", { userId: paper, on: true });
      }
      const toToken = chance.pick(["USDT", "DAI", "WETH", "CBBTC"]);
      const order = { fromToken: "USDC", toToken, size: String(chance.whole(1, 4_000)) };
      await app.post("/mcp/defi/paper", { userId: paper, startAgain: true });
      const { body: onPaper } = await app.post("/mcp/defi/swap", { userId: paper, ...order });
      const { body: onChain } = await app.post("/mcp/defi/swap", { userId: live, ...order });
      expect([order, onPaper.paper, onChain.status]).toEqual([order, true, "confirmed"]);
      const [filled, got] = [Number(onPaper.buyAmount), Number(onChain.buyAmount)];
      const worth = await worthOf(app, order);
      expect(filled).toBeLessThanOrEqual(worth * (1 + 1e-9));
      expect([order, Math.abs(filled / got - 1) < 0.003]).toEqual([order, true]);
    }
    // The feeds say that ether is dearer than at the pool.
    const dearer = await feedsSay(app, "ETH", 1.01);
    const order = { fromToken: "USDC", toToken: "WETH", size: "1000" };
    const { body } = await app.post("/mcp/defi/swap", { userId: paper, ...order });
    expect(body.paper).toBe(true);
    expect(Number(body.buyAmount) / (await worthOf(app, order))).toBeCloseTo(1, 9);
    dearer();
    expect(Number(body.buyAmount)).toBeLessThan(0.995 * (await worthOf(app, order)));
  });

  test("is nothing that the signer takes, by its type and at run time", async ({ app }) => {
    type PaperOrder = Order & { paper: true };
    // These do not compile without the marks, and are never called.
    const calls = {
      // @ts-expect-error An order on paper has no turn to be signed.
      next: (ctx: ActionCtx, turn: SigningTurn & { row: PaperOrder }) => signNext(ctx, turn),
      // @ts-expect-error Nor is it signed again.
      further: (ctx: ActionCtx, row: PaperOrder) => signFurther(ctx, row),
      permit: (ctx: ActionCtx, order: PaperOrder, data: Parameters<typeof signTypedData>[2]) =>
        // @ts-expect-error Nor does the custody open its key for it.
        signTypedData(ctx, { order, isEmpty: false }, data),
    };
    expect(Object.keys(calls)).toHaveLength(3);
    const userId = idOf();
    await app.post("/mcp/defi/paper", { userId, on: true });
    await app.post("/mcp/defi/swap", { userId, fromToken: "USDC", toToken: "ETH", amount: "1000000000" });
    const [row] = await app.rows("orders");
    if (row === undefined) throw new Error("There is no order");
    await app.t.run((ctx) =>
      ctx.db.patch("orders", row._id, { state: "prepared", nextCheckAt: Date.now() + 60_000 }),
    );
    const never = "An order on paper is never signed";
    const orderId = row._id;
    const signed = { nonce: 0, kind: "call", raw: "0x02", hash: "0x01" } as const;
    const { steps, unsignedSteps } = internal.wallets.orders;
    const exchange = {
      relayer: "0x",
      validBefore: 0,
      call: { to: "0x", data: "0x", value: "0" },
    };
    for (const attempt of [
      () =>
        app.t.query(internal.wallets.custody.wallets.getSealedKey, {
          orderId,
          isEmpty: true,
          now: Date.now(),
        }),
      () => app.t.mutation(steps.storeSigned, { orderId, signed: { ...signed, kind: "empty" }, fee: "0" }),
      () => app.t.mutation(unsignedSteps.storeAuthorization, { orderId, ...exchange }),
    ])
      await expect(attempt()).rejects.toThrow(never);
  });
});

/** To the service alone the feed of a coin says so many times its price. @returns Stops that. */
async function feedsSay(app: WalletApp, coin: string, times: number): Promise<() => void> {
  const word = (usd: number) =>
    Math.round(usd * 1e8)
      .toString(16)
      .padStart(64, "0");
  const price = (await pricesOf(app)).find(({ token }) => token === coin)?.priceUsd ?? 0;
  return intercept(async (_call, pass) => {
    const response = await pass();
    return new Response((await response.text()).replaceAll(word(price), word(price * times)), response);
  });
}

async function pricesOf(app: WalletApp) {
  const { body } = await app.get(`/mcp/defi/portfolio?userId=prices-of-tokens-for-everybody`);
  return z
    .array(z.object({ token: z.string(), priceUsd: z.number(), decimals: z.number() }))
    .parse(body.balances);
}

/** What an order's sold dollars are worth in the bought token by the feeds. */
async function worthOf(
  app: WalletApp,
  { toToken, size }: { toToken: string; size: string },
): Promise<number> {
  const prices = await pricesOf(app);
  const of = (name: string) => prices.find(({ token }) => token === name);
  const [from, to] = [of("USDC"), of(toToken)];
  return ((Number(size) * (from?.priceUsd ?? 0)) / (to?.priceUsd ?? 1)) * 10 ** (to?.decimals ?? 0);
}
