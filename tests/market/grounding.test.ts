import fc from "fast-check";
import { describe, expect, vi } from "vitest";
import type { Fact } from "../../convex/evidence/tables";
import { ground, type QuoteSource } from "../../convex/market/sources/grounding";
import type { AskedMarketFigures } from "../../convex/market/prompts";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { closeApp, createApp, START, type App, test } from "../support/app";

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
function figures(
  share: Partial<Record<Known, number>> = {},
  focus?: AskedMarketFigures["focus"],
): AskedMarketFigures {
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

/** What a list tells of some coins, largest first. */
function listOf(prices: Record<string, number>): Fact[] {
  const by = { observedAt: START, source: "CoinGecko", url: "https://www.coingecko.com" };
  return Object.entries(prices).flatMap(([subject, price], index): Fact[] => [
    { ...by, subject, kind: "name", value: `${subject} coin`, unit: "text" },
    { ...by, subject, kind: "rank", value: index + 1, unit: "count" },
    { ...by, subject, kind: "price", value: price, unit: "USD" },
    { ...by, subject, kind: "change24h", value: -4, unit: "percent" },
    { ...by, subject, kind: "marketCap", value: 7e9, unit: "USD" },
    { ...by, subject, kind: "volume24h", value: 3e8, unit: "USD" },
  ]);
}

describe("the model's figures", () => {
  test("give way to the source's, which the row names, and the distance is told in basis points", () => {
    const told = figures({ BTC: 1.0199, ETH: 0.985 });
    const quoted = [source("chainlink", { BTC: 100_000, ETH: 4_000 }, 2), source("coinbase", { SOL: 200 })];
    const { replaced, sources, figures: used } = ground(told, { quoted, facts: [] });
    expect(used.keyPrices).toEqual({
      bitcoin: { usd: 100_000, usd_24h_change: 2, source: "chainlink" },
      ethereum: { usd: 4_000, usd_24h_change: 2, source: "chainlink" },
      solana: { usd: 200, usd_24h_change: 1, source: "coinbase" },
    });
    expect(used.top20.at(-1)).toMatchObject({ symbol: "PEPE", source: "model", sizeSource: "model" });
    expect(used.top20[0]).toMatchObject({ symbol: "BTC", source: "chainlink", sizeSource: "model" });
    expect(replaced).toBe(0);
    const asOf = new Date(START).toISOString();
    expect(sources).toEqual([
      { name: "chainlink", asOf, agreementBps: 199 },
      { name: "coinbase", asOf, agreementBps: 0 },
    ]);
  });

  test("further off are counted, and replaced by the most trusted source that knows the coin", () => {
    const told = figures(
      { BTC: 0.65, SOL: 1.5 },
      { symbol: "BTC", name: "Bitcoin", price: 65_000, change24h: 9, marketCap: 5, volume24h: null },
    );
    const quoted = [
      source("chainlink", { BTC: 100_000, ETH: 4_000 }),
      source("coinbase", { BTC: 100_500, ETH: 4_001, SOL: 200 }),
      source("binance", { BTC: 90_000, ETH: 4_002, SOL: 210 }, -3.5),
    ];
    const { figures: used, replaced, sources } = ground(told, { quoted, facts: [] });
    expect(used.keyPrices).toMatchObject({
      bitcoin: { usd: 100_000, usd_24h_change: -3.5 },
      ethereum: { usd: 4_000, usd_24h_change: -3.5 },
      solana: { usd: 200, usd_24h_change: -3.5 },
    });
    expect(used.focus).toMatchObject({ price: 100_000, change24h: -3.5, marketCap: 5, sizeSource: "model" });
    expect(replaced).toBe(4);
    expect(sources.map(({ name, agreementBps }) => [name, agreementBps])).toEqual([
      ["chainlink", 3_500],
      ["coinbase", 5_000],
      ["binance", 4_286],
    ]);
  });

  test("give way to a list of the market altogether: its 20 largest coins, and what it says of the focus", () => {
    const prices = Object.fromEntries(
      Array.from({ length: 25 }, (_, i) => [i === 0 ? "BTC" : `C${i}`, 10 + i]),
    );
    const asked = { symbol: "C3", name: "Three", price: 1, change24h: 1, marketCap: 1, volume24h: 1 };
    const facts = listOf(prices);
    const { figures: used, sources } = ground(figures({}, asked), {
      quoted: [source("chainlink", { BTC: 100_000 })],
      facts,
    });
    expect(used.top20).toHaveLength(20);
    expect(used.top20[0]).toEqual({
      rank: 1,
      name: "BTC coin",
      symbol: "BTC",
      price: 100_000,
      change24h: -4,
      marketCap: 7e9,
      source: "chainlink",
      sizeSource: "coingecko",
    });
    expect(used.top20.some(({ symbol }) => symbol === "PEPE")).toBe(false);
    expect(used.focus).toEqual({
      symbol: "C3",
      name: "C3 coin",
      price: 13,
      change24h: -4,
      marketCap: 7e9,
      volume24h: 3e8,
      source: "coingecko",
      sizeSource: "coingecko",
    });
    expect(sources.map(({ name }) => name)).toEqual(["chainlink", "coingecko"]);
  });

  test("are the most trusted source's afterwards, whatever the model said, and a second time changes nothing", () => {
    const share = fc.double({ min: 0.01, max: 50, noNaN: true });
    fc.assert(
      fc.property(fc.record({ BTC: share, ETH: share, SOL: share }), (shares) => {
        const quoted = [source("chainlink", { BTC: 100_000, ETH: 4_000 }), source("binance", PRICES, 2)];
        const first = ground(figures(shares), { quoted, facts: [] });
        const { bitcoin, ethereum, solana } = first.figures.keyPrices;
        expect([bitcoin.usd, ethereum.usd, solana.usd]).toEqual([PRICES.BTC, PRICES.ETH, PRICES.SOL]);
        const second = ground({ ...first.figures, focus: null }, { quoted, facts: [] });
        expect(second.figures).toEqual({ ...first.figures, focus: null });
        expect(second.replaced).toBe(0);
      }),
    );
  });
});

describe("GET /mcp/market", () => {
  /** The model says this price of the key coins, and of its 20 largest coins `price`. */
  const says = (app: App, usd: number, { price, times }: { price?: number; times?: number } = {}) => {
    const { market } = app.standins;
    const key = { usd, usd_24h_change: 0 };
    const top20 = market.coins().slice(0, 20);
    const content = {
      keyPrices: { bitcoin: key, ethereum: key, solana: key },
      trending: market.trending(),
      top20: top20.map((coin, i) => ({ ...coin, rank: i + 1, price: price ?? coin.price })),
    };
    const reply = { mode: "reply" as const, content: JSON.stringify(content) };
    app.standins.fail("llm", times === undefined ? reply : { ...reply, times });
  };
  const wrong = (app: App) => {
    says(app, 1_000, { price: 1_000 });
  };

  test("tells the model the live prices, and replaces what it says against them", async ({ app }) => {
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
    expect(body.top20).toContainEqual(
      expect.objectContaining({
        symbol: "XRP",
        price: expect.closeTo(app.standins.market.coin("XRP").price, 2),
        source: "coingecko",
      }),
    );
    expect(sources.map(({ name }) => name)).toEqual(["coinbase", "binance", "coingecko"]);
    for (const { agreementBps } of sources) expect(agreementBps).toBeGreaterThan(5_000);
    expect(await app.rows("marketSnapshots")).toMatchObject([{ replaced: 23 }]);
    const [asked] = app.standins.sent("llm");
    expect(JSON.stringify(asked?.body)).toMatch(
      /Live prices from [^:]*: BTC 1\d{5}[\d.]* USD \([+-][\d.]+ %/,
    );
  });

  test("replaces an absurd price, and tells a distance within its bounds", async ({ app }) => {
    says(app, 1e13);
    const { status, body } = await app.get("/mcp/market");
    expect(status).toBe(200);
    expect(body.keyPrices).toMatchObject({
      solana: { usd: expect.closeTo(app.standins.market.coin("SOL").price, -1) },
    });
    expect(body.sources).toMatchObject(
      ["coinbase", "binance", "coingecko"].map((name) => ({ name, agreementBps: 1_000_000 })),
    );
  });

  test.for([1e20, 1e308])(
    "sends a price of %d back once; a second one is the gateway's failure",
    async (usd, { app }) => {
      says(app, usd, { times: 1 });
      expect((await app.get("/mcp/market")).status).toBe(200);
      expect(JSON.stringify(app.standins.sent("llm")[1]?.body)).toContain("keyPrices.bitcoin.usd");
      closeApp();
      const again = createApp();
      says(again, usd);
      again.standins.fail("coingecko", { mode: "drop" });
      const { status, body } = await again.get("/mcp/market");
      expect([status, body.error]).toEqual([502, expect.stringContaining("The LLM gateway")]);
    },
  );

  test("with every source down still answers, and says so", async ({ app }) => {
    app.standins.fail("tickers", { mode: "drop" });
    app.standins.fail("coingecko", { mode: "drop" });
    wrong(app);
    const { status, body } = await app.get("/mcp/market");
    expect([status, body.sources]).toEqual([200, []]);
    expect(body.keyPrices).toMatchObject({ bitcoin: { usd: 1_000, source: "model" } });
    expect(JSON.stringify(body)).not.toMatch(/"source":"(?!model)/);
    expect(JSON.stringify(app.standins.sent("llm")[0]?.body)).not.toContain("Live prices");
  });

  test("with the lists down keeps the model's rows, marked where no ticker knows them", async ({ app }) => {
    app.standins.fail("coingecko", { mode: "status", status: 429 });
    wrong(app);
    const { body } = await app.get("/mcp/market");
    expect(body.top20).toContainEqual(
      expect.objectContaining({ symbol: "XRP", price: 1_000, source: "model", sizeSource: "model" }),
    );
    expect(body.top20).toContainEqual(
      expect.objectContaining({ symbol: "ETH", source: "coinbase", sizeSource: "model" }),
    );
    expect(body.trending).toContainEqual(expect.objectContaining({ source: "model" }));
  });

  test("asks for the lists once a minute for everybody, and says who asks", async ({ app }) => {
    const agents: (string | null)[] = [];
    const inner = app.standins.handle.bind(app.standins);
    app.standins.handle = (request) => {
      if (request.url.includes("/evidence/")) agents.push(request.headers.get("User-Agent"));
      return inner(request);
    };
    await Promise.all(["", "?token=DOGE", "?token=PEPE"].map((query) => app.get(`/mcp/market${query}`)));
    const paths = () => app.standins.sent("coingecko").map(({ path }) => path);
    expect(paths().sort()).toEqual(["/api/v3/coins/markets", "/api/v3/search/trending"]);
    expect(agents).toEqual(new Array(2).fill("market-research-service/1 (+https://some.convex.site/docs)"));
    await app.pass(61_000, { cronsRun: false });
    await app.get("/mcp/market");
    // What is searched for changes less often than prices.
    expect(paths()).toHaveLength(3);
    expect((await app.rows("facts")).map(({ key }) => key).sort()).toEqual([
      "markets:",
      "quotes:",
      "trending:",
    ]);
  });

  test("does not wait for a source that hangs longer than its deadline", async ({ app }) => {
    deadlines.grounding = 500;
    app.standins.fail("tickers", { mode: "hang", ticker: "binance" });
    app.standins.fail("coingecko", { mode: "hang" });
    const { status, body } = await app.get("/mcp/market");
    expect(status).toBe(200);
    expect(body.sources).toMatchObject([{ name: "coinbase" }, { name: "coingecko" }]);
  });

  test("asks the sources once a minute for everybody, whatever the focus", async ({ app }) => {
    await Promise.all(["", "?token=DOGE", "?token=PEPE"].map((query) => app.get(`/mcp/market${query}`)));
    await app.post("/mcp/research", { userId: "alice" });
    const asked = app.standins.sent("tickers").filter(({ path }) => path.includes("simple/price"));
    expect(asked).toHaveLength(1);
    expect(app.standins.sent("tickers")).toHaveLength(7);
    const quotes = async () => (await app.rows("facts")).filter(({ key }) => key === "quotes:");
    vi.setSystemTime(((await quotes())[0]?.collectedAt ?? 0) + MINUTE + 1);
    await app.get("/mcp/market?token=AAVE");
    expect(app.standins.sent("tickers")).toHaveLength(14);
    expect(await quotes()).toHaveLength(1);
  });

  test("is what research stores, with its sources", async ({ app }) => {
    wrong(app);
    await app.post("/mcp/research", { userId: "alice" });
    const [observation] = await app.rows("observations");
    expect(observation?.market).toMatchObject({
      keyPrices: expect.stringMatching(/Bitcoin \$1\d{5}/),
      sources: [{ name: "coinbase" }, { name: "binance" }, { name: "coingecko" }],
    });
  });
});
