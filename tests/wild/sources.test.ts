import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { test, type App } from "../support/app";
import { altered, noPrices, spoiled } from "../support/outside";

/** Public bug reports about market data, tried here: what a source sends is read row by row, and is what it says it is. */

type Row = Record<string, unknown>;

const LIST = /\/coins\/markets/;
const TRENDING = /\/search\/trending/;
const STATS = /\/products\/[^/]+\/stats$/;

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null;
const rowsIn = (value: unknown): Row[] => (Array.isArray(value) ? value.filter(isRow) : []);

/** The list of coins, changed row by row; `null` leaves a row out. */
const listed = (change: (row: Row) => Row | null) =>
  altered(LIST, (body) => rowsIn(body).flatMap((row) => change(row) ?? []));

/** One more row in front of the most searched coins. */
const searched = (item: Row) =>
  altered(TRENDING, (body) =>
    isRow(body) ? { ...body, coins: [{ item }, ...rowsIn(body["coins"])] } : body,
  );

const trendingOf = async (app: App) => rowsIn((await app.get("/mcp/market")).body["trending"]);
const gone = "No source knows the token";

/** gdelt-doc-api #26; SICTIC-AI #37; best-effort-json-parser #4. */
describe("one bad row or escape of a source spoils nothing else", () => {
  test.for([
    ["an invalid escape", (text: string) => text.replace('"Bitcoin"', String.raw`"Bit\coin"`)],
    ["half of a pair of escapes", (text: string) => text.replace('"Cardano"', String.raw`"Card\ud83dano"`)],
    ["a raw line break in a string", (text: string) => text.replace('"Cardano"', '"Card\nano"')],
    ["a comma too many", (text: string) => text.replace(/\]$/, ",]")],
    ["a byte order mark", (text: string) => `\uFEFF${text}`],
    [
      "NaN where a number is unknown",
      (text: string) => text.replace(/"total_volume":[\d.]+/, '"total_volume":NaN'),
    ],
  ] as const)("%s in the list of coins", async ([_name, change], { app }) => {
    spoiled(LIST, change);
    const { body } = await app.get("/mcp/market");
    expect(rowsIn(body["top20"]).filter(({ sizeSource }) => sizeSource === "coingecko")).toHaveLength(20);
  });

  test("rows that nobody uses may be anything", async ({ app }) => {
    altered(LIST, (body) => rowsIn(body).map((row, index) => (index < 45 ? row : { id: 7, symbol: null })));
    const { body } = await app.get("/mcp/market");
    expect(rowsIn(body["top20"]).map(({ source }) => source)).not.toContain("model");
  });

  test.for([
    ["a bare ampersand", (text: string) => text.replace("<title>", "<title>AT&T & ")],
    ["an entity of HTML", (text: string) => text.replace("<title>", "<title>&nbsp;&hellip;")],
    ["a control character", (text: string) => text.replace("<title>", "<title>\u0008\u001b")],
    [
      "an unclosed break in a description",
      (text: string) => text.replace("</item>", "<description>a<br>b</description></item>"),
    ],
    ["a byte order mark and blank lines", (text: string) => `\uFEFF\n\n${text}`],
    ["an article of nobody's", (text: string) => text.replace("<item>", "<item><title/></item><item>")],
  ] as const)("%s in a site's feed", async ([_name, change], { app }) => {
    for (const site of ["cointelegraph", "decrypt"] as const)
      app.standins.fail(site, { mode: "status", status: 503 });
    spoiled(/\/arc\/outboundfeeds/, change);
    await app.post("/mcp/research", {});
    const facts = JSON.stringify((await app.rows("facts")).filter(({ key }) => key === "news:"));
    expect(facts).toContain("coindesk.com");
  });
});

/** web3-research-mcp #16. */
describe("a ticker is no identity", () => {
  const meme = (symbol: string, change: number | null = 312.4): Row => ({
    id: `${symbol}-strategic-reserve`,
    name: "Strategic Meme Reserve",
    symbol,
    data: { price: 0.0004, price_change_percentage_24h: { usd: change } },
  });

  test.for(["btc", "ETH", "sol", "doge", "USDT"])(
    "a searched coin that calls itself %s is not that coin",
    async (symbol, { app }) => {
      searched(meme(symbol));
      const rows = await trendingOf(app);
      expect(rows).toHaveLength(10);
      for (const { name, change24h } of rows) {
        if (name !== "Strategic Meme Reserve") expect(change24h).not.toBe(312.4);
      }
      const { body } = await app.post("/mcp/token", { question: symbol });
      expect(JSON.stringify(body["token"])).not.toMatch(/312|Strategic/);
    },
  );

  test("and no report, chat or answer says its change of the other", async ({ app }) => {
    searched(meme("btc"));
    await app.post("/mcp/research", {});
    const known = JSON.stringify(
      await app.t.query(internal.market.facts.latest, {
        wanted: [
          { collector: "markets", subject: "" },
          { collector: "trending", subject: "" },
        ],
        withinMs: 600_000,
        at: Date.now(),
      }),
    );
    expect(known).toContain('"subject":"BTC"');
    expect(known).not.toContain("312.4");
    const { body } = await app.get("/mcp/token?question=How%20is%20BTC%20today?");
    expect(body).toMatchObject({ token: { name: "Bitcoin" } });
    expect(JSON.stringify(body)).not.toContain("312");
  });

  test("a searched coin without a change has the list's, by its id", async ({ app }) => {
    const market = app.standins.market.coins();
    const coin = market.find(({ symbol }) => symbol === "AVAX");
    searched({
      id: "avalanche",
      name: "Avalanche",
      symbol: "avax",
      data: { price_change_percentage_24h: { usd: null } },
    });
    const first = (await trendingOf(app))[0];
    expect(first).toMatchObject({
      symbol: "AVAX",
      rank: 1,
      change24h: expect.closeTo(coin?.change24h ?? 0, 1),
    });
  });

  test.for(["first", "last"])(
    "a listed coin of a major's ticker, %s in the list, is left out",
    async (place, { app }) => {
      const impostor = {
        id: "bitcoin-2",
        symbol: "btc",
        name: "Bitcoin 2",
        current_price: 3,
        market_cap: 9e12,
        market_cap_rank: 1,
        total_volume: 5,
        price_change_percentage_24h: 312.4,
        last_updated: new Date().toISOString(),
      };
      altered(LIST, (body) =>
        place === "first" ? [impostor, ...rowsIn(body)] : [...rowsIn(body), impostor],
      );
      noPrices(app);
      const { body } = await app.get("/mcp/market");
      expect(JSON.stringify(body)).not.toMatch(/312|Bitcoin 2/);
      expect(rowsIn(body["top20"])[0]).toMatchObject({ symbol: "BTC", name: "Bitcoin" });
    },
  );

  test("the gateway's row of a coin's ticker under another name gets none of that coin's figures", async ({
    app,
  }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    const key = { usd: 1, usd_24h_change: 0 };
    const row = (index: number) => ({
      rank: index + 1,
      name: `Coin ${index}`,
      symbol: `C${index}`,
      price: 5,
      change24h: 1,
      marketCap: 1e9,
    });
    const top20 = Array.from({ length: 20 }, (_, index) => row(index));
    top20[0] = { ...row(0), name: "Bitcoin", symbol: "BTC" };
    top20[19] = { ...row(19), name: "Strategic Meme Reserve", symbol: "ETH", price: 0.0004 };
    const content = JSON.stringify({
      keyPrices: { bitcoin: key, ethereum: key, solana: key },
      trending: [top20[19]],
      top20,
    });
    app.standins.fail("llm", { mode: "reply", content });
    const { body } = await app.get("/mcp/market");
    const [first, last] = [rowsIn(body["top20"])[0], rowsIn(body["top20"])[19]];
    expect(first).toMatchObject({ symbol: "BTC", source: "coinbase" });
    expect(last).toMatchObject({ name: "Strategic Meme Reserve", price: 0.0004, source: "model" });
    expect(rowsIn(body["trending"])[0]).toMatchObject({ change24h: 1, source: "model" });
  });
});

/** node-binance-api #289; python-binance #620. */
describe("a market that stands still is none", () => {
  /** A coin that only an exchange lists: the list of coins has never heard of it. */
  const onlyTraded = (symbol: string, change: (day: Row) => Row) => {
    listed((row) => (row["symbol"] === symbol.toLowerCase() ? null : row));
    altered(TRENDING, () => ({ coins: [] }));
    altered(STATS, (day) => (isRow(day) ? change(day) : day));
  };
  const still: [string, (day: Row) => Row][] = [
    ["no volume", (day) => ({ ...day, volume: "0" })],
    ["a volume of many zeros", (day) => ({ ...day, volume: "0.00000000" })],
    ["a volume of almost nothing", (day) => ({ ...day, volume: "0.00000001" })],
    [
      "an empty day",
      () => ({ open: "2.4", high: "0", low: "0", last: "2.4", volume: "0", volume_30day: "12" }),
    ],
  ];

  test.for(still)(
    "at an exchange, with %s: the coin is not known, and nothing is sold",
    async ([_name, change], { app }) => {
      onlyTraded("AERO", change);
      const { status, body } = await app.post("/mcp/research", { token: "AERO" });
      expect([status, body["error"]]).toEqual([404, expect.stringContaining(gone)]);
      vi.stubEnv("PLATFORM_WALLET_ADDRESS", `0x${"5".repeat(40)}`);
      const paid = await app.post("/agent/research/paid", { token: "AERO" });
      expect([paid.status, JSON.stringify(paid.body)]).toEqual([402, expect.stringContaining(gone)]);
    },
  );

  test("with trades it is known", async ({ app }) => {
    onlyTraded("AERO", (day) => day);
    expect((await app.post("/mcp/research", { token: "AERO" })).status).toBe(200);
  });

  test("at the exchange leaves the list's price", async ({ app }) => {
    altered(STATS, (day) => (isRow(day) ? { ...day, volume: "0" } : day));
    const { status } = await app.post("/mcp/research", { token: "AAVE" });
    expect(status).toBe(200);
    const facts = JSON.stringify(await app.rows("facts"));
    expect(facts).not.toContain("lastTrade");
  });

  const DAYS_AGO = new Date(Date.UTC(2025, 10, 26)).toISOString();
  test.for([
    ["figures of 40 days ago", (row: Row) => ({ ...row, last_updated: DAYS_AGO })],
    ["no volume", (row: Row) => ({ ...row, total_volume: 0 })],
    ["a time far ahead", (row: Row) => ({ ...row, last_updated: "2031-01-01T00:00:00.000Z" })],
  ] as const)("in the list of coins, with %s, is left out", async ([_name, change], { app }) => {
    listed((row) => (row["symbol"] === "xrp" ? change(row) : row));
    const { body } = await app.get("/mcp/market");
    expect(rowsIn(body["top20"]).map(({ symbol }) => symbol)).not.toContain("XRP");
    expect(rowsIn(body["top20"])).toHaveLength(20);
  });

  test.for([
    ["of no price", { price: "0.00" }],
    ["of 40 days ago", { time: DAYS_AGO }],
    ["without a time", { time: undefined }],
  ] as const)("is no live price either: a last trade %s", async ([_name, change], { app }) => {
    altered(/BTC-USD\/ticker$/, (body) => (isRow(body) ? { ...body, ...change } : body));
    const { body } = await app.get("/mcp/market");
    expect(body["keyPrices"]).toMatchObject({
      bitcoin: { source: "coingecko" },
      ethereum: { source: "coinbase" },
    });
  });
});
