/** What a fact may be measured in. */
export const UNITS = ["USD", "percent", "bps", "coins", "gwei", "count", "ratio", "text"] as const;
export type Unit = (typeof UNITS)[number];

/**
 * The wording of each kind: its full name; its unit (± if its sign is a direction and shown, the time over which it is
 * measured, a number in its name); its name in a citation, if the prose does not say it; and its family, within which
 * figures can be subtracted.
 */
export const KINDS = {
  name: "name | text | name | words",
  rank: "rank by market capitalisation | count | rank | rank",
  price: "price | USD | now | price",
  change24h: "price change over 24 hours | percent ± 24h | 24 h | change",
  marketCap: "market capitalisation | USD | market cap | cap",
  volume24h: "volume traded in 24 hours | USD 24h | 24-h volume | volume",
  rising:
    "coins that rose over 24 hours, of the 50 largest that are no stablecoin or wrapped coin | count 24h of50 | of 50 up, 24 h | rising",
  risingShare:
    "share of the 50 largest coins that rose over 24 hours | percent 24h of50 | of 50 up, 24 h | share",
  majorsRising:
    "majors (BTC, ETH, SOL) that rose over 24 hours, of 3 | count 24h of3 | of 3 up, 24 h | majors",
  moverPlace:
    "place by gain among the 50 largest coins over 24 hours | count 24h of50 | by 24-h gain | mover",
  trendingPlace: "place among the most searched coins | count | most searched | search",
  trendingChange: "price change over 24 hours, of a most searched coin | percent ± 24h | 24 h | change",
  lastTrade: "last trade | USD | last trade | price",
  dayChange: "change of the last trade over 24 hours | percent ± 24h | 24 h | change",
  dayHigh: "24-hour high | USD 24h | 24-h high | price",
  dayLow: "24-hour low | USD 24h | 24-h low | price",
  toDayHigh: "price against the 24-hour high | percent ± | against the 24-h high | gap",
  toDayLow: "price against the 24-hour low | percent ± | against the 24-h low | gap",
  dayVolume: "coins traded in 24 hours | coins 24h | 24-h volume | coins",
  bidDepth: "buy orders within 1 % of the price | USD near1 | bids within 1% | book",
  askDepth: "sell orders within 1 % of the price | USD near1 | asks within 1% | book",
  bidShare:
    "share of buy orders in all orders within 1 % of the price | percent near1 | bids of the book | lean",
  spread: "spread between best bid and ask | bps | spread | spread",
  high48h: "48-hour high | USD 48h | 48-h high | price",
  low48h: "48-hour low | USD 48h | 48-h low | price",
  funding: "perpetual funding rate per hour | percent ± 1h | funding per hour | funding",
  fundingYear:
    "perpetual funding, a year at this pace | percent ± | funding, a year at this pace | yearly funding",
  openInterest: "open interest in perpetuals | USD | open interest | interest",
  stablecoinSupply: "supply of dollar stablecoins | USD | stablecoin supply | supply",
  stablecoinWeek:
    "change of the supply of dollar stablecoins over 7 days | percent ± 168h | stablecoins, 7 d | supply change",
  stablecoinWeekUsd:
    "dollar stablecoins issued less redeemed over 7 days | USD ± 168h | stablecoins, 7 d | supply flow",
  ethBtc: "price in BTC | ratio | in BTC | ratio",
  blockTransactions: "transactions in the latest block | count | latest block | transactions",
  baseFee: "base fee of the latest block | gwei | base fee | fee",
  usdcSupply: "USDC on Base | USD | USDC on Base | supply",
  moved: "worth of a movement | USD | moved | flow",
  buzz: "buzz, of 10 | count of10 | buzz, of 10 | buzz",
  headline: "headline | text | headline | words",
  wins: "signals won | count | won | record",
  losses: "signals lost | count | lost | record",
  expired: "signals expired | count | expired | record",
  pending: "signals pending | count | pending | record",
  trades: "trades with a result | count | trades | record",
  result: "result before costs | percent ± | result before costs | result",
  resultAfterCosts: "result after costs | percent ± | result after costs | result",
  entry: "entry of the signal | USD | entry | price",
  target: "first target of the signal | USD | first target | price",
  farTarget: "second target of the signal | USD | second target | price",
  stop: "stop of the signal | USD | stop | price",
  confidence: "confidence of the model | percent | confidence | confidence",
} as const;

export function unitOf(kind: keyof typeof KINDS): Unit {
  const [, measured = ""] = KINDS[kind].split(" | ");
  return UNITS.find((unit) => measured.split(" ")[0] === unit) ?? "text";
}

/** The collections, by their names for readers. */
export const COLLECTIONS = {
  quotes: "live prices",
  markets: "the table of coins",
  trending: "the most searched coins",
  listing: "whether an exchange lists it",
  day: "last trades",
  book: "order book",
  candles: "hourly candles",
  perpetuals: "perpetual markets",
  stablecoins: "stablecoin supply",
  news: "news",
  base: "the state of Base",
} as const;
