import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { chain, useChain, test } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { counting, noPrices } from "../support/outside";

/** Live prices from the feeds of a chain. */

useChain();

const seconds = () => Math.floor(Date.now() / 1_000);
const current = (app: WalletApp, token: "BTC" | "ETH") =>
  app.t.action(internal.market.actions.price, { token });

/** With feeds that stand still, as `set` by the test; afterwards they go on. */
async function withFeeds(work: () => Promise<void>): Promise<void> {
  await chain.feeds.pause();
  try {
    await work();
  } finally {
    await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: seconds() - 86_400 });
    await chain.feeds.tick();
    chain.feeds.resume();
  }
}

describe("the feeds", () => {
  test("come first, to the digit and with their own time; nobody else is asked", async () => {
    await withFeeds(async () => {
      const app = createWalletApp(chain);
      const updatedAt = seconds() - 600;
      await chain.feeds.set("BTC", { answer: 10_451_234_567_891n, updatedAt });
      const price = await current(app, "BTC");
      expect(price).toMatchObject({
        priceUsd: 104_512.34567891,
        source: "chainlink",
        observedAt: updatedAt * 1_000,
      });
      expect(app.standins.sent("coinbase")).toEqual([]);
      expect(app.standins.sent("llm")).toEqual([]);
    });
  });

  test("serve the tick's samples of both tokens with one call to the chain", async ({ app }) => {
    const requests = counting();
    await app.t.action(internal.market.actions.takeSamples, { lists: [], newest: [] });
    expect(requests()).toBe(1);
    const samples = await app.rows("priceSamples");
    expect(samples.map(({ token, source }) => [token, source])).toEqual([
      ["BTC", "chainlink"],
      ["ETH", "chainlink"],
    ]);
  });

  test("give way to the exchange for a token whose feed is stale, and for that token alone", async () => {
    await withFeeds(async () => {
      const app = createWalletApp(chain);
      await chain.feeds.set("BTC", { answer: 1n, updatedAt: seconds() - 1_400 });
      await app.t.action(internal.market.actions.takeSamples, { lists: [], newest: [] });
      const samples = await app.rows("priceSamples");
      expect(samples.map(({ token, source }) => [token, source]).sort()).toEqual([
        ["BTC", "coinbase"],
        ["ETH", "chainlink"],
      ]);
      expect(app.standins.sent("coinbase").map(({ path }) => path)).toEqual(["/products/BTC-USD/ticker"]);
    });
  });

  // When it counts as up, is a table of its own.
  test("do not count while the sequencer is down", async () => {
    await withFeeds(async () => {
      const app = createWalletApp(chain);
      await chain.feeds.set("SEQUENCER", { answer: 1n, updatedAt: seconds() - 9_999 });
      expect(await current(app, "ETH")).toMatchObject({ source: "coinbase" });
      noPrices(app);
      await expect(current(app, "BTC")).rejects.toThrow(/sequencer is down; Coinbase .*; CoinGecko/);
    });
  });

  test("come before every other source of the market", async ({ app }) => {
    const { body } = await app.get("/mcp/market");
    expect(body.sources).toMatchObject(["chainlink", "coinbase", "coingecko"].map((name) => ({ name })));
  });
});
