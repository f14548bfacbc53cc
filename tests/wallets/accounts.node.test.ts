import { expect } from "vitest";
import * as z from "zod";
import { chain, useChain, test } from "../support/chain/chain";
import { counting, noPrices } from "../support/outside";

useChain();

test("no key is kept in clear, anywhere", async ({ app }) => {
  await app.post("/mcp/wallet/create", { userId: "alice" });
  const everything = JSON.stringify([await app.rows("wallets"), await app.rows("walletKeys")]);
  expect(everything).not.toMatch(/0x[0-9a-f]{64}/i);
  expect((await app.rows("walletKeys"))[0]?.sealedKey).toMatch(/^v1\./);
});

test("a portfolio asks the chain once, and prices what has no live feed by the tickers, never by a model", async ({
  app,
}) => {
  await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 100_000_000n });
  const requests = counting();
  await app.get("/mcp/defi/portfolio?userId=alice");
  expect(requests()).toBe(1);

  const price = app.standins.market.coin("ETH").price;
  const now = Math.floor(Date.now() / 1000);
  const byTicker = { priceSource: "coinbase", priceUsd: expect.closeTo(price, -1) };
  const byFeed = { priceSource: "chainlink" };
  const unpriced = { priceSource: null, priceUsd: null, valueUsd: null };
  const up = { answer: 0n, updatedAt: now - 86_400 };
  const fresh = { answer: 300_000_000_000n, updatedAt: now };
  const stale = { ...fresh, updatedAt: now - 1_400 };
  await chain.feeds.pause();
  try {
    for (const [trouble, sequencer, feed, ether, dollars, total] of [
      ["a stale feed", up, stale, byTicker, byFeed, 100 + price],
      // Who the tickers do not know is left out of the total.
      ["the sequencer is down", { answer: 1n, updatedAt: now - 9_999 }, fresh, byTicker, unpriced, price],
      ["it is just back", { answer: 0n, updatedAt: now - 600 }, fresh, byTicker, unpriced, price],
      ["nobody to ask", up, stale, unpriced, byFeed, 100],
    ] as const) {
      if (trouble === "nobody to ask") noPrices(app);
      await chain.feeds.set("SEQUENCER", sequencer);
      await chain.feeds.set("ETH", feed);
      const { status, body } = await app.get("/mcp/defi/portfolio?userId=alice");
      const { balances, totalValueUsd } = holdings.parse(body);
      const of = (token: string) => balances.find((one) => one.token === token);
      expect([trouble, status]).toEqual([trouble, 200]);
      for (const token of ["ETH", "WETH"]) expect([trouble, of(token)]).toMatchObject([trouble, ether]);
      for (const token of ["USDC", "USDT", "DAI"])
        expect([trouble, of(token)]).toMatchObject([trouble, dollars]);
      expect(totalValueUsd).toBeCloseTo(total, -1);
    }
    expect(app.standins.sent("llm")).toEqual([]);
  } finally {
    await chain.feeds.set("SEQUENCER", up);
    await chain.feeds.tick();
    chain.feeds.resume();
  }
});

const holdings = z.object({
  totalValueUsd: z.number(),
  balances: z.array(z.looseObject({ token: z.string(), valueUsd: z.number().nullable() })),
});
