/**
 * Stand-ins for the public sources of data, for local use: one address serves the paths of all, about the simulated
 * market. Each refuses in its own words, including requests beyond its limit.
 */

import { parseJson } from "../json";
import type { Standin } from "./standin";
import { sendJson, type Call } from "./http";
import { COINS, type Coin, type Market, type Scene } from "./market";
import { smoothNoise, unit } from "./random";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Kind = {
  /** Its paths at the shared address. */
  paths: RegExp;
  method?: "GET" | "POST";
  /** How many requests it allows an address within so many ms. */
  allowed: { count: number; within: number };
  answer: (scene: Scene, call: Call) => Response;
  /** An error in its own words, in JSON or a page. */
  error: (status: number, reason: string) => unknown;
};

const KINDS = {
  coinbase: {
    paths: /^\/products\//,
    allowed: { count: 15, within: SECOND },
    answer: coinbase,
    error: (status, reason) => ({ message: status === 429 ? "Public rate limit exceeded" : reason }),
  },
  coingecko: {
    paths: /^\/api\/v3\/(?:coins\/markets|search\/trending)$/,
    allowed: { count: 10, within: MINUTE },
    answer: coingecko,
    error: (status, reason) => ({ status: { error_code: status, error_message: reason } }),
  },
  hyperliquid: {
    paths: /^\/info$/,
    method: "POST",
    // Of a weight of 1,200 a minute, such a request takes 20.
    allowed: { count: 60, within: MINUTE },
    answer: hyperliquid,
    error: (_status, reason) => ({ message: reason }),
  },
  coindesk: site("CoinDesk", "https://www.coindesk.com", /^\/arc\/outboundfeeds\/rss\/$/),
  cointelegraph: site("Cointelegraph.com News", "https://cointelegraph.com", /^\/rss$/),
  decrypt: site("Decrypt", "https://decrypt.co", /^\/feed$/),
} satisfies Record<string, Kind>;

export type Source = keyof typeof KINDS;
export const SOURCES: readonly Source[] = Object.keys(KINDS).filter(isSource);

export function isSource(name: string): name is Source {
  return Object.hasOwn(KINDS, name);
}

/** The source of a path; `undefined` if there is none. */
export function findSource(path: string): Source | undefined {
  return SOURCES.find((source) => KINDS[source].paths.test(path));
}

export function createSources(scene: Scene): (source: Source) => Standin {
  const requestTimes = new Map<Source, number[]>();
  const isTooOften = (source: Source, { count, within }: Kind["allowed"]): boolean => {
    const now = scene.now();
    const recent = [...(requestTimes.get(source) ?? []).filter((at) => at > now - within), now];
    requestTimes.set(source, recent);
    return recent.length > count;
  };
  return (source) => {
    const { method = "GET", allowed, answer, error }: Kind = KINDS[source];
    const refuse = (status: number, reason: string) => {
      const body = error(status, reason);
      return typeof body === "string" ? new Response(body, { status }) : sendJson(body, status);
    };
    const handle = (call: Call): Response => {
      if (call.method !== method) return refuse(405, "Method Not Allowed");
      return isTooOften(source, allowed) ? refuse(429, "Too Many Requests") : answer(scene, call);
    };
    return { handle, error };
  };
}

/** The exchange does not list every coin. */
const UNLISTED = new Set(["TRX", "XMR", "VIRTUAL", "DEGEN"]);
const GRANULARITIES = [60, 300, 900, 3_600, 21_600, 86_400];
const MOST_CANDLES = 300;

/** As documented at docs.cdp.coinbase.com for the exchange's `/products/{id}/ticker`, `/candles`, `/stats` and `/book`. */
function coinbase({ now, market }: Scene, { path, query, headers }: Call): Response {
  const refuse = (message: string, status = 400) => sendJson({ message }, status);
  if (!headers.has("User-Agent")) return refuse("User-Agent header is required.");
  const [, symbol = "", what = ""] =
    /^\/products\/([A-Z0-9.$%-]+)-USD\/(ticker|candles|stats|book)$/.exec(path) ?? [];
  if (!COINS.some((coin) => coin.symbol === symbol) || UNLISTED.has(symbol)) return refuse("NotFound", 404);
  const at = Math.floor(now());
  const { price, volume24h } = market.coin(symbol, at);
  const [volume, time] = [volume24h / price, new Date(at).toISOString()];
  if (what === "ticker") {
    const trade = { ask: String(price), bid: String(price), price: String(price), size: "0.01" };
    return sendJson({ ...trade, volume: volume.toFixed(8), trade_id: at, time });
  }
  if (what === "stats") {
    const hours = Array.from({ length: 25 }, (_, hour) => market.price(symbol, at - hour * HOUR));
    const range = { open: hours.at(-1) ?? price, high: Math.max(...hours), low: Math.min(...hours) };
    const day = { ...range, last: price, volume, volume_30day: volume * 30 };
    return sendJson(Object.fromEntries(Object.entries(day).map(([name, value]) => [name, value.toFixed(8)])));
  }
  if (what === "book") {
    if (query.get("level") !== "2") return refuse("Invalid level");
    /** Sixty levels, best first, down to two percent from the middle. */
    const side = (direction: 1 | -1) =>
      Array.from({ length: 60 }, (_, index) => {
        const share = 0.5 + unit("coinbase", symbol, Math.floor(at / MINUTE), direction, index);
        const level = price * (1 + direction * (0.0001 + (0.02 * index) / 59));
        return [level.toFixed(8), ((volume * share) / 20_000).toFixed(8), 3];
      });
    return sendJson({
      bids: side(-1),
      asks: side(1),
      sequence: at,
      auction_mode: false,
      auction: null,
      time,
    });
  }
  const granularity = Number(query.get("granularity") ?? "60");
  if (!GRANULARITIES.includes(granularity)) return refuse("Unsupported granularity");
  const step = granularity * SECOND;
  const [start = NaN, end = NaN] = ["start", "end"].map((name) => Date.parse(query.get(name) ?? ""));
  const isRange = !Number.isNaN(start) && !Number.isNaN(end);
  if (isRange && (end - start) / step > MOST_CANDLES) {
    return refuse(
      `granularity too small for the requested time range. Count of aggregations requested exceeds ${MOST_CANDLES}`,
    );
  }
  const last = Math.floor((isRange ? Math.min(end, at) : at) / step) * step;
  const first = isRange ? Math.floor(start / step) * step : last - (MOST_CANDLES - 1) * step;
  const rows: number[][] = [];
  // Newest first, and one from before the start, which the documents allow.
  for (let openedAt = last; openedAt >= first - step && rows.length < MOST_CANDLES; openedAt -= step)
    rows.push(buildCandle(market, symbol, openedAt, step));
  return sendJson(rows);
}

/** `[time, low, high, open, close, volume]`, from seven prices. Volumes are even over the day. */
function buildCandle(market: Market, symbol: string, openedAt: number, step: number): number[] {
  const prices = Array.from({ length: 7 }, (_, part) => market.price(symbol, openedAt + (step * part) / 6));
  const { volume24h, price } = market.coin(symbol, openedAt);
  const volume = ((volume24h / price) * step) / DAY;
  const [open, close] = [prices[0] ?? price, prices.at(-1) ?? price];
  return [openedAt / SECOND, Math.min(...prices), Math.max(...prices), open, close, volume];
}

/** CoinGecko's own name of a coin. */
const getCoinId = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** Coins that only track others, as its list mixes them with the rest: symbol, name, whose price, share of its value. */
const CLAIMS = [
  ["STETH", "Lido Staked Ether", "ETH", 0.07],
  ["WBTC", "Wrapped Bitcoin", "BTC", 0.006],
  ["WEETH", "Wrapped eETH", "ETH", 0.02],
  ["CBBTC", "Coinbase Wrapped BTC", "BTC", 0.003],
  ["USDE", "Ethena USDe", "USDT", 0.06],
] as const;

function buildList(market: Market, at: number): Coin[] {
  const claims = CLAIMS.map(([symbol, name, of, share]): Coin => {
    const coin = market.coin(of, at);
    return { ...coin, symbol, name, marketCap: coin.marketCap * share, volume24h: coin.volume24h * share };
  });
  return [...market.coins(at), ...claims].sort((a, b) => b.marketCap - a.marketCap);
}

/** As documented at docs.coingecko.com for `/coins/markets` and `/search/trending`. */
function coingecko({ now, market }: Scene, { path, query }: Call): Response {
  const at = now();
  const refuse = (message: string) => sendJson({ status: { error_code: 422, error_message: message } }, 422);
  const coins = buildList(market, at).map((coin, index) => ({ ...coin, rank: index + 1 }));
  if (path === "/api/v3/search/trending") {
    const items = market.trending(at).map(({ name, symbol, change24h }, index) => ({
      item: {
        ...{ id: getCoinId(name), coin_id: index + 1, name, symbol, score: index },
        market_cap_rank: coins.find((coin) => coin.symbol === symbol)?.rank ?? null,
        data: { price: market.coin(symbol, at).price, price_change_percentage_24h: { usd: change24h } },
      },
    }));
    return sendJson({ coins: items, nfts: [], categories: [] });
  }
  if (query.get("vs_currency") !== "usd") return refuse("invalid vs_currency");
  const size = Number(query.get("per_page") ?? "100");
  const page = Number(query.get("page") ?? "1");
  if (!(size >= 1 && size <= 250)) return refuse("invalid per_page");
  const ids = query.get("ids")?.split(",");
  const requestedCoins =
    ids === undefined ? coins : coins.filter(({ name }) => ids.includes(getCoinId(name)));
  return sendJson(
    requestedCoins
      .slice((page - 1) * size, page * size)
      .map(({ name, symbol, price, marketCap, ...coin }) => ({
        ...{ id: getCoinId(name), symbol: symbol.toLowerCase(), name, current_price: price },
        ...{ market_cap: marketCap, market_cap_rank: coin.rank, total_volume: coin.volume24h },
        price_change_percentage_24h: coin.change24h,
        // Its lists are as old as its cache.
        last_updated: new Date(Math.floor(at / MINUTE) * MINUTE).toISOString(),
      })),
  );
}

/** As documented in hyperliquid-docs for the info endpoint's `metaAndAssetCtxs`; unreadable requests get 422. */
function hyperliquid({ seed, now, market }: Scene, { body, headers }: Call): Response {
  const request = parseJson(body);
  const type =
    typeof request === "object" && request !== null && "type" in request ? request.type : undefined;
  if (!(headers.get("Content-Type") ?? "").startsWith("application/json") || type !== "metaAndAssetCtxs")
    return new Response("Failed to deserialize the JSON body into the target type", { status: 422 });
  const at = now();
  const listed = market
    .coins(at)
    .filter(({ change24h, price }) => Math.abs(price - 1) > 0.02 || change24h > 1);
  const thousands = new Set(["PEPE", "SHIB"]);
  const universe = listed.map(({ symbol }) => ({ name: thousands.has(symbol) ? `k${symbol}` : symbol }));
  const contexts = listed.map(({ symbol, price, marketCap }) => {
    const funding = 0.0000125 + 0.00003 * smoothNoise(seed, symbol, "funding")(at / (7 * HOUR));
    const share = 0.01 + 0.01 * unit(seed, symbol, "interest");
    const change = 1 + 0.1 * smoothNoise(seed, symbol, "open interest")(at / (5 * HOUR));
    const openInterest = ((marketCap / price) * share * change).toFixed(4);
    return { funding: funding.toFixed(10), openInterest, oraclePx: String(price), markPx: String(price) };
  });
  return sendJson([{ universe, marginTables: [] }, contexts]);
}

const HEADLINES = [
  "{name} steadies as traders weigh rate path",
  "Exchange volumes in {name} climb for a second day",
  "Developers of {name} set date for next upgrade",
  "{name} holders sit on gains as volatility fades",
  "Regulator opens consultation on {name} custody rules",
  "Fund managers add {name} exposure, survey finds",
  "Analysts split on {name} after quiet session",
];

/** A site with a feed as documented at rssboard.org for RSS 2.0; it refuses frequent requests with a page. */
function site(title: string, address: string, paths: RegExp): Kind {
  const pick = (items: readonly string[], ...seeds: (string | number)[]) =>
    items[Math.floor(unit(...seeds) * items.length)] ?? "Bitcoin";
  const answer = ({ seed, now, market }: Scene): Response => {
    const at = now();
    const names = market
      .coins(at)
      .slice(0, 12)
      .map(({ name }) => name);
    const items = Array.from({ length: 25 }, (_, index) => {
      const published = Math.floor(at / (20 * MINUTE)) * 20 * MINUTE - index * 40 * MINUTE;
      const name = pick(names, seed, title, "name", published);
      const headline = pick(HEADLINES, seed, title, published).replace("{name}", name);
      const link = `${address}/${published / MINUTE}`;
      return `    <item>
      <title><![CDATA[${headline}]]></title>
      <link>${link}?utm_source=rss&amp;utm_medium=feed</link>
      <guid isPermaLink="false">${link}</guid>
      <pubDate>${new Date(published).toUTCString().replace("GMT", "+0000")}</pubDate>
      <dc:creator>Simulated desk</dc:creator>
      <description><![CDATA[<p>${headline}&hellip;</p>]]></description>
    </item>`;
    });
    const text = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
  <channel>
    <title>${title}</title>
    <link>${address}</link>
    <description>Simulated headlines</description>
${items.join("\n")}
  </channel>
</rss>
`;
    return new Response(text, { headers: { "Content-Type": "application/xml; charset=utf-8" } });
  };
  const error = (status: number, reason: string) =>
    `<html><head><title>${status} ${reason}</title></head></html>`;
  return { paths, allowed: { count: 30, within: MINUTE }, answer, error };
}
