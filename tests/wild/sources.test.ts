import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { decodeFacts } from "../../convex/market/facts";
import { askDay, askTrade } from "../../convex/providers/data/coinbase";
import { askCoins, askTrending } from "../../convex/providers/data/coingecko";
import { askHeadlines } from "../../convex/providers/data/headlines";
import { test } from "../support/app";
import { altered, spoiled } from "../support/outside";

/**
 * Public bug reports about market data, tried here: what a source sends is read row by row, and is what it says it is. What
 * a source's own door decides is tried there.
 */

type Row = Record<string, unknown>;

const LIST = /\/coins\/markets/;
const TRENDING = /\/search\/trending/;
const STATS = /\/products\/[^/]+\/stats$/;
const TIMEOUT_MS = 5_000;

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null;
const rowsIn = (value: unknown): Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
const symbolsOf = (rows: readonly { symbol: string }[]) => rows.map(({ symbol }) => symbol);

/** One more row in front of the most searched coins. */
const searched = (item: Row) =>
  altered(TRENDING, (body) =>
    isRow(body) ? { ...body, coins: [{ item }, ...rowsIn(body["coins"])] } : body,
  );

/** gdelt-doc-api #26; SICTIC-AI #37; best-effort-json-parser #4. */
describe("one bad row or escape of a source spoils nothing else:", () => {
  test("of the list of coins", async ({ app }) => {
    const SLIPS: Record<string, (text: string) => string> = {
      "an invalid escape": (text) => text.replace('"Bitcoin"', String.raw`"Bit\coin"`),
      "half of a pair of escapes": (text) => text.replace('"Cardano"', String.raw`"Card\ud83dano"`),
      "a raw line break in a string": (text) => text.replace('"Cardano"', '"Card\nano"'),
      "a comma too many": (text) => text.replace(/\]$/, ",]"),
      "a byte order mark": (text) => `\uFEFF${text}`,
      "NaN where a number is unknown": (text) => text.replace(/"total_volume":[\d.]+/, '"total_volume":NaN'),
      "rows that are none": (text) => text.replace(/\]$/, ',{"id":7,"symbol":null},null,7]'),
    };
    let slip = (text: string) => text;
    spoiled(LIST, (text) => slip(text));
    const whole = (await app.during(askCoins(null, TIMEOUT_MS))).length;
    for (const [name, change] of Object.entries(SLIPS)) {
      slip = change;
      const coins = await app.during(askCoins(null, TIMEOUT_MS));
      expect([name, coins.length >= whole - 1, coins.length >= 20]).toEqual([name, true, true]);
    }
  });

  test("of a site's feed", async ({ app }) => {
    const SLIPS: Record<string, (text: string) => string> = {
      "a bare ampersand": (text) => text.replace("<title>", "<title>AT&T & "),
      "an entity of HTML": (text) => text.replace("<title>", "<title>&nbsp;&hellip;"),
      "a control character": (text) => text.replace("<title>", "<title>\u0008\u001b"),
      "an unclosed break in a description": (text) =>
        text.replace("</item>", "<description>a<br>b</description></item>"),
      "a byte order mark and blank lines": (text) => `\uFEFF\n\n${text}`,
      "an article of nobody's": (text) => text.replace("<item>", "<item><title/></item><item>"),
    };
    for (const site of ["cointelegraph", "decrypt"] as const)
      app.standins.fail(site, { mode: "status", status: 503 });
    let slip = (text: string) => text;
    spoiled(/\/arc\/outboundfeeds/, (text) => slip(text));
    for (const [name, change] of Object.entries(SLIPS)) {
      slip = change;
      const found = await app.during(askHeadlines(null, TIMEOUT_MS));
      expect([name, found[0]?.domain]).toEqual([name, "coindesk.com"]);
    }
  });
});

/** web3-research-mcp #16. */
describe("a ticker is no identity", () => {
  const meme = (symbol: string): Row => ({
    id: `${symbol}-strategic-reserve`,
    name: "Strategic Meme Reserve",
    symbol,
    data: { price: 0.0004, price_change_percentage_24h: { usd: 312.4 } },
  });

  test("a searched coin that calls itself another is not that coin", async ({ app }) => {
    const TAKEN = ["btc", "ETH", "sol", "doge", "USDT"];
    for (const symbol of TAKEN) searched(meme(symbol));
    const found = await app.during(askTrending(null, TIMEOUT_MS));
    expect(symbolsOf(found.filter(({ change24h }) => change24h === 312.4))).toEqual(["USDT", "DOGE"]);
    const rows = rowsIn((await app.get("/mcp/market")).body["trending"]);
    expect(rows).toHaveLength(10);
    for (const { name, change24h } of rows)
      if (name !== "Strategic Meme Reserve") expect(change24h).not.toBe(312.4);
    for (const question of TAKEN) {
      const { body } = await app.post("/mcp/token", { question });
      expect(JSON.stringify(body["token"])).not.toMatch(/312|Strategic/);
    }
  });

  test("and no report, chat or answer says its change of the other", async ({ app }) => {
    searched(meme("btc"));
    await app.post("/mcp/research", {});
    const known = JSON.stringify(
      await app.t.query(internal.market.facts.readFactsAt, {
        requested: [
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
    const { body } = await app.get("/mcp/market");
    expect(rowsIn(body["trending"])[0]).toMatchObject({
      symbol: "AVAX",
      rank: 1,
      change24h: expect.closeTo(coin?.change24h ?? 0, 1),
    });
  });

  test("a listed coin of a major's ticker, first or last in the list, is left out", async ({ app }) => {
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
    altered(LIST, (body) => [impostor, ...rowsIn(body), impostor]);
    const coins = await app.during(askCoins(null, TIMEOUT_MS));
    expect(JSON.stringify(coins)).not.toMatch(/312|Bitcoin 2/);
    expect(coins[0]).toMatchObject({ symbol: "BTC", name: "Bitcoin" });
  });

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
  const DAYS_AGO = new Date(Date.UTC(2025, 10, 26)).toISOString();

  test("at an exchange: such a coin is not known, and nothing is sold; with trades it is", async ({
    app,
  }) => {
    const STILL: Record<string, (day: Row) => Row> = {
      "no volume": (day) => ({ ...day, volume: "0" }),
      "a volume of many zeros": (day) => ({ ...day, volume: "0.00000000" }),
      "a volume of almost nothing": (day) => ({ ...day, volume: "0.00000001" }),
      "an empty day": () => ({
        open: "2.4",
        high: "0",
        low: "0",
        last: "2.4",
        volume: "0",
        volume_30day: "12",
      }),
    };
    // Coins that only an exchange lists: the list of coins has never heard of them.
    altered(LIST, (body) => rowsIn(body).filter(({ symbol }) => symbol !== "aero" && symbol !== "uni"));
    altered(TRENDING, () => ({ coins: [] }));
    let still = (day: Row) => day;
    altered(STATS, (day) => (isRow(day) ? still(day) : day));
    for (const [name, change] of Object.entries(STILL)) {
      still = change;
      const refusal = await app.during(askDay(null, "AERO", TIMEOUT_MS).catch((error: unknown) => error));
      expect([name, refusal]).toMatchObject([name, { data: { code: "not_found" } }]);
    }
    const gone = "No source knows the token";
    const { status, body } = await app.post("/mcp/research", { token: "AERO" });
    expect([status, body["error"]]).toEqual([404, expect.stringContaining(gone)]);
    vi.stubEnv("PLATFORM_WALLET_ADDRESS", `0x${"5".repeat(40)}`);
    const paid = await app.post("/agent/research/paid", { token: "AERO" });
    expect([paid.status, JSON.stringify(paid.body)]).toEqual([402, expect.stringContaining(gone)]);
    // A listed coin is reported on all the same, without that exchange's figures.
    expect((await app.post("/mcp/research", { token: "AAVE" })).status).toBe(200);
    expect((await app.rows("facts")).flatMap(decodeFacts).map(({ kind }) => kind)).not.toContain("lastTrade");
    still = (day) => day;
    expect((await app.post("/mcp/research", { token: "UNI" })).status).toBe(200);
  });

  test("in the list of coins it is left out", async ({ app }) => {
    const STILL: Record<string, Row> = {
      "figures of 40 days ago": { last_updated: DAYS_AGO },
      "no volume": { total_volume: 0 },
      "a time far ahead": { last_updated: "2031-01-01T00:00:00.000Z" },
    };
    let still = {};
    altered(LIST, (body) =>
      rowsIn(body).map((row) => (row["symbol"] === "xrp" ? { ...row, ...still } : row)),
    );
    expect(symbolsOf(await app.during(askCoins(null, TIMEOUT_MS)))).toContain("XRP");
    for (const [name, change] of Object.entries(STILL)) {
      still = change;
      const symbols = symbolsOf(await app.during(askCoins(null, TIMEOUT_MS)));
      expect([name, symbols.includes("XRP"), symbols.length >= 20]).toEqual([name, false, true]);
    }
  });

  test("it is no live price either: a last trade of no price, of 40 days ago, or without a time", async ({
    app,
  }) => {
    let still = {};
    altered(/BTC-USD\/ticker$/, (body) => (isRow(body) ? { ...body, ...still } : body));
    for (const change of [{ price: "0.00" }, { time: undefined }, { time: DAYS_AGO }]) {
      still = change;
      const refusal = await app.during(askTrade(null, "BTC", TIMEOUT_MS).catch((error: unknown) => error));
      expect([change, refusal]).toMatchObject([change, { data: { code: "upstream" } }]);
    }
    const { body } = await app.get("/mcp/market");
    expect(body["keyPrices"]).toMatchObject({
      bitcoin: { source: "coingecko" },
      ethereum: { source: "coinbase" },
    });
  });
});

test("sizes of a list that was computed in floating point are whole dollars", async ({ app }) => {
  const list = z.array(z.looseObject({ market_cap: z.number() }));
  altered(LIST, (body) => list.parse(body).map((row) => ({ ...row, market_cap: 28078367828.000004 })));
  const { body } = await app.get("/mcp/market");
  const rows = z.object({ top20: z.array(z.object({ marketCap: z.number() })) }).parse(body).top20;
  expect(rows.map(({ marketCap }) => marketCap)).toEqual(rows.map(() => 28078367828));
});
