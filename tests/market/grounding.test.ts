import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ground } from "../../convex/market/grounding";
import type { MarketFigures } from "../../convex/market/tables";
import type { QuoteSource } from "../../convex/prices/tables";
import { deadlines } from "../../convex/lib/deadlines";
import { closeApp, createApp, START, type App } from "../support/app";

afterEach(closeApp);

const MINUTE = 60_000;

const PRICES = { BTC: 100_000, ETH: 4_000, SOL: 200 };
type Known = keyof typeof PRICES;

const source = (
  name: QuoteSource["name"],
  quotes: Partial<Record<Known, number>>,
  change24h: number | null = null,
) => ({
  name,
  quotes: (["BTC", "ETH", "SOL"] as const).flatMap((symbol) => {
    const usd = quotes[symbol];
    return usd === undefined ? [] : [{ symbol, usd, change24h, observedAt: START }];
  }),
});

/** Figures of a market in which prices are `share` of the right ones. */
function figures(share: Partial<Record<Known, number>> = {}, focus?: MarketFigures["focus"]): MarketFigures {
  const priceOf = (symbol: Known) => PRICES[symbol] * (share[symbol] ?? 1);
  const key = (symbol: Known) => ({ usd: priceOf(symbol), usd_24h_change: 1 });
  const row = (symbol: string, price: number, rank: number) => ({
    symbol,
    name: symbol,
    price,
    rank,
    change24h: 1,
    marketCap: 1e9,
  });
  return {
    keyPrices: { bitcoin: key("BTC"), ethereum: key("ETH"), solana: key("SOL") },
    trending: [],
    top20: [row("BTC", priceOf("BTC"), 1), row("ETH", priceOf("ETH"), 2), row("PEPE", 0.00001, 3)],
    ...(focus === undefined ? {} : { focus }),
  };
}

describe("the model's figures", () => {
  test("stay where they are within 2 % of the sources, and the distance is told in basis points", () => {
    const told = figures({ BTC: 1.0199, ETH: 0.985 });
    const { replaced, sources, ...rest } = ground(told, [
      source("chainlink", { BTC: 100_000, ETH: 4_000 }),
      source("coinbase", { SOL: 200 }),
    ]);
    expect(rest.figures).toEqual(told);
    expect(replaced).toBe(0);
    const asOf = new Date(START).toISOString();
    expect(sources).toEqual([
      { name: "chainlink", asOf, agreementBps: 199 },
      { name: "coinbase", asOf, agreementBps: 0 },
    ]);
  });

  test("further off are replaced everywhere, by the most trusted source that knows the coin, and counted", () => {
    const told = figures(
      { BTC: 0.65, SOL: 1.5 },
      { symbol: "BTC", name: "Bitcoin", price: 65_000, change24h: 9, marketCap: 5, volume24h: null },
    );
    const {
      figures: used,
      replaced,
      sources,
    } = ground(told, [
      source("chainlink", { BTC: 100_000, ETH: 4_000 }),
      source("coinbase", { BTC: 100_500, ETH: 4_001, SOL: 200 }),
      source("binance", { BTC: 90_000, ETH: 4_002, SOL: 210 }, -3.5),
    ]);
    expect(used.keyPrices).toEqual({
      bitcoin: { usd: 100_000, usd_24h_change: -3.5 },
      ethereum: { usd: 4_000, usd_24h_change: 1 },
      solana: { usd: 200, usd_24h_change: -3.5 },
    });
    expect(used.top20.map(({ symbol, price, change24h }) => [symbol, price, change24h])).toEqual([
      ["BTC", 100_000, -3.5],
      ["ETH", 4_000, 1],
      ["PEPE", 0.00001, 1],
    ]);
    expect(used.focus).toMatchObject({ price: 100_000, change24h: -3.5, marketCap: 5 });
    expect(replaced).toBe(4);
    expect(sources.map(({ name, agreementBps }) => [name, agreementBps])).toEqual([
      ["chainlink", 3_500],
      ["coinbase", 5_000],
      ["binance", 4_286],
    ]);
  });

  test("stand as they came without a source", () => {
    const told = figures({ BTC: 0.1 });
    expect(ground(told, [])).toEqual({ figures: told, sources: [], replaced: 0 });
  });

  test("are within 2 % of the most trusted source afterwards, whatever the model said, and a second time changes nothing", () => {
    const share = fc.double({ min: 0.01, max: 50, noNaN: true });
    fc.assert(
      fc.property(fc.record({ BTC: share, ETH: share, SOL: share }), (shares) => {
        const quoted = [source("chainlink", { BTC: 100_000, ETH: 4_000 }), source("binance", PRICES, 2)];
        const first = ground(figures(shares), quoted);
        const { bitcoin, ethereum, solana } = first.figures.keyPrices;
        for (const [told, right] of [
          [bitcoin.usd, PRICES.BTC],
          [ethereum.usd, PRICES.ETH],
          [solana.usd, PRICES.SOL],
        ] as const) {
          expect(Math.abs(told / right - 1)).toBeLessThanOrEqual(0.02 + 1e-9);
        }
        const second = ground(first.figures, quoted);
        expect(second.figures).toEqual(first.figures);
        expect(second.replaced).toBe(0);
      }),
    );
  });
});

describe("GET /mcp/market", () => {
  const wrong = (app: App) => {
    const { market } = app.standins;
    const key = { usd: 1_000, usd_24h_change: 0 };
    const content = {
      keyPrices: { bitcoin: key, ethereum: key, solana: key },
      trending: market.trending(),
      top20: market
        .coins()
        .slice(0, 20)
        .map((coin, i) => ({ ...coin, rank: i + 1, price: 1_000 })),
    };
    app.standins.fail("llm", { mode: "reply", content: JSON.stringify(content) });
  };

  test("tells the model the live prices, and replaces what it says against them", async () => {
    const app = createApp();
    wrong(app);
    const { body } = await app.get("/mcp/market");
    const bitcoin = app.standins.market.coin("BTC").price;
    const { keyPrices, sources } = body as {
      keyPrices: Record<string, { usd: number }>;
      sources: { name: string; agreementBps: number }[];
    };
    expect(keyPrices["bitcoin"]?.usd).toBeCloseTo(bitcoin, -3);
    expect(keyPrices["solana"]?.usd).toBeCloseTo(app.standins.market.coin("SOL").price, -1);
    expect(body.top20).toContainEqual(
      expect.objectContaining({ symbol: "BTC", price: keyPrices["bitcoin"]?.usd }),
    );
    expect(body.top20).toContainEqual(expect.objectContaining({ symbol: "XRP", price: 1_000 }));
    expect(sources.map(({ name }) => name)).toEqual(["coinbase", "binance", "coingecko"]);
    for (const { agreementBps } of sources) expect(agreementBps).toBeGreaterThan(5_000);
    expect(await app.rows("marketSnapshots")).toMatchObject([{ replaced: 6 }]);
    const [asked] = app.standins.sent("llm");
    expect(JSON.stringify(asked?.body)).toMatch(
      /Live prices from [^:]*: BTC 1\d{5}[\d.]* USD \([+-][\d.]+ %/,
    );
  });

  const absurd = (app: App, usd: number, times?: number) => {
    const { market } = app.standins;
    const key = { usd, usd_24h_change: 0 };
    const top20 = market.coins().slice(0, 20);
    const content = {
      keyPrices: { bitcoin: key, ethereum: key, solana: key },
      trending: market.trending(),
      top20: top20.map((coin, i) => ({ ...coin, rank: i + 1 })),
    };
    const reply = { mode: "reply" as const, content: JSON.stringify(content) };
    app.standins.fail("llm", times === undefined ? reply : { ...reply, times });
  };

  test("replaces an absurd price, and tells a distance within its bounds", async () => {
    const app = createApp();
    absurd(app, 1e13);
    const { status, body } = await app.get("/mcp/market");
    expect(status).toBe(200);
    expect(body.keyPrices).toMatchObject({
      solana: { usd: expect.closeTo(app.standins.market.coin("SOL").price, -1) },
    });
    expect(body.sources).toMatchObject(
      ["coinbase", "binance", "coingecko"].map((name) => ({ name, agreementBps: 1_000_000 })),
    );
  });

  test.each([1e20, 1e308])(
    "sends a price of %d back once; a second one is the gateway's failure",
    async (usd) => {
      const app = createApp();
      absurd(app, usd, 1);
      expect((await app.get("/mcp/market")).status).toBe(200);
      expect(JSON.stringify(app.standins.sent("llm")[1]?.body)).toContain("keyPrices.bitcoin.usd");
      closeApp();
      const again = createApp();
      absurd(again, usd);
      const { status, body } = await again.get("/mcp/market");
      expect([status, body.error]).toEqual([502, expect.stringContaining("The LLM gateway")]);
    },
  );

  test("with every source down still answers, and says so", async () => {
    const app = createApp();
    app.standins.fail("tickers", { mode: "drop" });
    wrong(app);
    const { status, body } = await app.get("/mcp/market");
    expect([status, body.sources]).toEqual([200, []]);
    expect(body.keyPrices).toMatchObject({ bitcoin: { usd: 1_000 } });
    expect(JSON.stringify(app.standins.sent("llm")[0]?.body)).not.toContain("Live prices");
  });

  test("does not wait for a source that hangs longer than its deadline", async () => {
    const app = createApp();
    deadlines.grounding = 500;
    app.standins.fail("tickers", { mode: "hang", ticker: "binance" });
    const { status, body } = await app.get("/mcp/market");
    expect(status).toBe(200);
    expect(body.sources).toMatchObject([{ name: "coinbase" }, { name: "coingecko" }]);
  });

  test("shares one asking of the sources for a minute, whatever the focus and whoever asks", async () => {
    const app = createApp();
    await Promise.all(["", "?token=DOGE", "?token=PEPE"].map((query) => app.get(`/mcp/market${query}`)));
    await app.post("/mcp/research", { userId: "alice" });
    const asked = app.standins.sent("tickers").filter(({ path }) => path.includes("simple/price"));
    expect(asked).toHaveLength(1);
    expect(app.standins.sent("tickers")).toHaveLength(7);
    const [board] = await app.rows("quoteBoards");
    vi.setSystemTime((board?.askedAt ?? 0) + MINUTE + 1);
    await app.get("/mcp/market?token=AAVE");
    expect(app.standins.sent("tickers")).toHaveLength(14);
    expect(await app.rows("quoteBoards")).toHaveLength(1);
  });

  test("is what research stores, with its sources", async () => {
    const app = createApp();
    wrong(app);
    await app.post("/mcp/research", { userId: "alice" });
    const [observation] = await app.rows("observations");
    expect(observation?.sources.market).toMatchObject({
      state: "ok",
      output: {
        keyPrices: expect.stringMatching(/Bitcoin \$1\d{5}/),
        sources: [{ name: "coinbase" }, { name: "binance" }, { name: "coingecko" }],
      },
    });
  });
});
