import type { Condition } from "../../convex/alerts/language/conditions";
import { phrases } from "../support/phrases";

/** How people ask for alerts: what is read from it, and what is not. */

export type Read = readonly [Condition, readonly string[]];

export const price = (token: "BTC" | "ETH", direction: "above" | "below", levelUsd: number): Condition => {
  return { kind: "price", token, direction, levelUsd };
};
export const change = (
  token: "BTC" | "ETH",
  direction: "up" | "down",
  percent: number,
  windowHours: number,
): Condition => {
  return { kind: "change", token, direction, percent, windowHours };
};
export const funding = (
  token: "BTC" | "ETH" | "SOL",
  direction: "above" | "below",
  percentPerHour: number,
): Condition => {
  return { kind: "funding", token, direction, percentPerHour };
};
export const flow = (
  token: Extract<Condition, { kind: "flow" }>["token"],
  direction: "in" | "out",
  overUsd: number,
): Condition => {
  return { kind: "flow", token, direction, overUsd };
};
export const digest = (time: string, timeZone = "UTC"): Condition => ({ kind: "digest", time, timeZone });

export const READ: readonly Read[] = [
  [
    price("BTC", "above", 100_000),
    [
      ...phrases(`
    BTC above 100000 · btc above 100,000 · BTC above 100k · BTC above 100 K · BTC over $100k
    $BTC above $100,000 · Bitcoin above 100,000 USD · bitcoin over 100000 dollars · BTC > 100000 · btc>100k
    BTC >= 100,000 · BTC ≥ 100k · BTC is above 100000 · BTC goes above 100k · Bitcoin rises above $100,000
    bitcoin climbs to 100k · BTC goes up to 100k · BTC breaks above 100,000 · BTC higher than 100000
    BTC breaks over 100k
    BTC more than 100k USD · BTC at or above 100000 · BTC price above 100,000 · price of BTC above 100k
    The price of bitcoin is over $100k · Bitcoin's price is above 100000 · alert me when BTC is above 100000
    Alert me if bitcoin goes over 100k! · tell me when btc goes above 100,000.
    please tell me when BTC is over 100k · notify me once BTC rises above 100000
    let me know when the price of BTC is above $100k · ping me as soon as BTC is above 100k
    Set an alert for BTC above 100000 · set up an alert when btc is past 100k
    warn me when Bitcoin trades above 100000 · i want to know when bitcoin is above 100k · BTC above 0.1M
    BTC above 100 thousand · BTC above usd 100000 · BTC past 100k · BTC beyond 100,000
    could you tell me when BTC is above 100k? · Message me whenever BTC moves above 100000
    BTC above 100000.00`),
      "  BTC   above\n100000 ",
    ],
  ],
  [
    price("BTC", "below", 90_000),
    phrases(`
    BTC below 90000 · BTC under 90k · btc < 90000 · BTC <= 90k · BTC lower than 90,000 · BTC less than $90k
    Bitcoin falls below 90000 · bitcoin drops under 90k · BTC dips below 90k · btc falls to 90k
    BTC drops to $90,000 · BTC goes down to 90k · tell me if BTC crashes below 90000 · BTC breaks below 90k
    warn me when bitcoin sinks below 90k · BTC slides under 90,000 · BTC at or below 90000
    price of bitcoin under 90k dollars`),
  ],
  [
    price("ETH", "below", 2_500.5),
    phrases(
      "ETH below 2500.50 · eth under 2,500.5 · Ethereum below $2,500.50 · ether drops below 2500.5 usd",
    ),
  ],
  [
    price("ETH", "above", 4_000),
    phrases(`
    ETH above 4000 · ETH above 4k · ethereum over 4,000 · Ether rises to 4k · when ETH is above $4k
    if ethereum goes above 4000 dollars · ETH's price is over 4000 · create an alert for ETH over $4,000`),
  ],
  [
    change("BTC", "down", 5, 24),
    phrases(`
    BTC down 5 % in 24 h · BTC down 5% in 24h · btc down 5 percent in 24 hours · BTC drops 5% in 24h
    BTC falls by 5 % within 24 hours · bitcoin loses 5% in a day · Bitcoin drops by more than 5% in 1 day
    BTC -5% in 24h · btc −5 % within 24h · BTC is down 5% over 24h
    BTC is down at least 5% in the last 24 hours · alert me when BTC drops over 5 % in a day
    tell me if bitcoin falls 5% in 24h · BTC down by 5 pct in 24hrs · BTC crashes 5% in one day
    BTC declines 5 % during the last 24 h · BTC price drops 5% in 24h · BTC down 5 per cent in 24 h
    BTC down five percent in 24 hours · bitcoin drops five percent within a day · BTC falls five per cent in one day
    the price of BTC falls 5% in the past 24 hours · BTC down 5% or more in 24h · BTC slides 5% in a day`),
  ],
  [
    change("ETH", "up", 10, 168),
    phrases(`
    ETH up 10 % in 7 days · ETH up 10% in a week · ethereum rises 10% within one week · ETH +10% in 7d
    eth gains 10 percent in 168h · ETH climbs by 10% in the last week · ETH pumps 10% in 1w
    ETH is up 10% over the past 7 days · notify me when ETH jumps 10% in a week
    ETH increases by at least 10% in 7 days · ETH up ten percent in seven days · ETH up 10% in one week`),
  ],
  [
    change("BTC", "up", 2.5, 1),
    phrases(`
    BTC up 2.5% in 1h · BTC up 2.5 % in an hour · btc rises 2.5% within one hour · BTC +2.5% in 1 hour
    bitcoin surges 2.5% in an hour · BTC jumps by 2.5% within 1 hr`),
  ],
  [
    change("ETH", "down", 3, 4),
    phrases(
      "ETH down 3% in 4h · ETH dumps 3% in 4 hours · ether dips 3% within 4 hrs · ETH down three percent in four hours",
    ),
  ],
  [
    change("ETH", "up", 0.5, 1),
    phrases("ETH up 0.5% in 1h · ETH up half a percent in an hour · ether gains half a percent in one hour"),
  ],
  [change("ETH", "down", 8, 48), phrases("ETH down 8% in 48h · ETH down 8% in 2 days · ETH down 8% in 2d")],
  [change("BTC", "up", 6, 72), phrases("BTC up 6% in 3 days · BTC rallies 6% in 72 hours")],
  [
    funding("ETH", "above", 0.05),
    phrases(`
    ETH funding above 0.05 % · ETH funding above 0.05% · eth funding over 0.05 percent
    ETH funding rate above 0.05% · ETH funding rate is above 0.05 % per hour · ethereum funding rate > 0.05%
    ETH funding above 0.05%/h · funding of ETH above 0.05 % · the funding rate for ETH is over 0.05%
    tell me when ETH funding goes above 0.05% hourly · ETH perp funding above 0.05%
    ETH perpetual funding rate rises above 0.05% · ETH funding above 0.050 %
    ETH funding higher than 0.05 % an hour · funding on ETH greater than 0.05% · ETH funding above +0.05%`),
  ],
  [
    funding("BTC", "below", -0.01),
    phrases(`
    BTC funding below -0.01 % · btc funding rate under -0.01% · bitcoin funding falls below −0.01 % per hour
    BTC funding < -0.01% · alert me when funding for BTC is below -0.01%`),
  ],
  [funding("SOL", "above", 0.1), phrases("SOL funding above 0.1% · solana funding rate over 0.1 % per hour")],
  [
    funding("ETH", "below", 0),
    phrases("ETH funding below 0% · ETH funding drops below 0 % · funding of ETH under 0%"),
  ],
  [
    flow("USDC", "in", 10_000_000),
    phrases(`
    whale inflow of USDC over 10 M · whale inflow of USDC over 10M · Whale inflow of USDC over $10M
    whale inflows of USDC above 10 million · USDC inflow over 10M · USDC inflows over $10,000,000
    USDC whale inflow above 10m · USDC exchange inflow > 10M · inflow of USDC over 10M
    exchange inflow of USDC over 10,000,000 USD · alert me on whale inflow of USDC over 10M
    tell me when a whale moves more than 10M USDC to an exchange · a whale sends over $10M USDC to exchanges
    whale deposits more than 10 million USDC into an exchange · whale inflow of USDC of at least 10M
    cex inflow of USDC above $10 million · USDC inflow of more than 10M dollars
    whale inflow of USDC worth over 10M`),
  ],
  [
    flow("ETH", "out", 5_000_000),
    phrases(`
    whale outflow of ETH over $5M · ETH outflow above 5M USD · ETH outflows over $5 million
    exchange outflow of ETH over 5,000,000 dollars · a whale withdraws more than $5M of ETH from an exchange
    whale pulls over $5M worth of ETH off exchanges · ethereum whale outflow over $5m`),
  ],
  [
    flow("USDT", "out", 2_000_000),
    phrases("USDT outflow over 2M · tether outflow over 2 million · whale outflow of USDT above $2M"),
  ],
  [flow("CBBTC", "in", 3_000_000), phrases("cbBTC inflow over $3M · whale inflow of cbBTC over 3M USD")],
  [
    flow("DAI", "in", 1_000_000),
    phrases("DAI inflow over 1M · whale inflow of DAI above 1,000,000 · DAI inflow over one million"),
  ],
  [flow("WETH", "in", 1_500_000), phrases("WETH inflow over $1.5M · whale inflow of WETH over $1.5 million")],
  [
    digest("07:30"),
    phrases(`
    digest at 07:30 · Digest at 7:30 · daily digest at 07:30 · digest every day at 07:30
    send me a digest at 07:30 · give me the daily digest at 7:30 am · digest at 07:30 UTC
    morning digest at 7:30 AM · market summary at 07:30 · every day at 07:30 send me a digest
    digest at 07:30 GMT · daily at 07:30 digest · digest at 07h30 · digest @ 07:30
    digest at 7.30am · digest at 7:30 a.m.
    summary every day at 07:30 · my daily market digest at 7:30`),
  ],
  [
    digest("19:00", "Europe/Berlin"),
    phrases(`
    digest at 19:00 Europe/Berlin · digest at 7pm Europe/Berlin · daily digest at 7 pm europe/berlin
    digest at 7:00 pm, Europe/Berlin · evening digest at 19:00 Europe/Berlin`),
  ],
  [
    digest("06:15", "America/New_York"),
    phrases("digest at 06:15 America/New_York · summary at 6:15am america/new_york"),
  ],
  [digest("23:59", "Asia/Kolkata"), phrases("digest at 23:59 Asia/Kolkata")],
];

/** What means several things, contradicts itself, is not measured, or is in other words: never an alert by the phrases. */
export const UNREAD: readonly string[] = [
  "",
  ...phrases(`
  BTC above 10⁵ · BTC above 1①0 · ETH down 5¹ % in 24 h · BTC above 0100
  BTC · alert · hello · what is the price of bitcoin? · BTC above · above 100000 · BTC 100000 · BTC 100k
  BTC at 100000 · BTC hits 100k · BTC reaches 100,000 · BTC crosses 100k · BTC around 100k · BTC near 90000
  BTC touches 100000 · BTC is 100000 · BTC = 100000 · BTC gets to 100k · BTC breaks 100k · BTC above 100.000
  BTC above 100.000,50 · ETH below 2,5 · ETH below 2.500 · BTC above 1e5 · BTC above -5 · BTC above 1,00
  BTC above cheap
  BTC above 100000 EUR · BTC above €100k · BTC above 90k and ETH above 4k · BTC above 100k or below 90k
  BTC between 90k and 100k · BTC rises below 90k · BTC falls above 100k · BTC drops over 100k
  BTC climbs under 90000
  BTC not above 100000 · don't tell me when BTC is above 100k · BTC above 100k but only today
  BTC closes above 100k
  BTC above 5% · BTC below 5 % · SOL above 200 · DOGE above 1 · solana below 100 · XRP > 3
  ETH/BTC above 0.05
  BTC above 100k tomorrow · BTC above 100k within a week · BTC above 100k please buy
  BTC above 100k for 3 hours
  BTC stays above 100k · BTC breaks to 100k · BTC down twenty five percent in 24h · BTC down one and a half percent in 24h
  is BTC above 100000 · when will BTC be above 100k · has BTC been above 100k · BTC above yesterday's high
  BTC above ATH
  BTC down 5% · ETH up 10 percent · BTC down 5 in 24h · BTC down $5000 in 24h · BTC moves 5% in 24h
  BTC changes by 5 % in a day
  BTC up or down 5% in 24h · BTC down 5% today · BTC down 5% this week · BTC down 5% in 30 minutes
  BTC down 5% in 5m · BTC down 5% in 10 days
  BTC down -5% in 24h · BTC up -5% in 24h · BTC down 5% in 0 h · BTC down 120% in 24h · BTC down 0% in 24h
  BTC 5% in 24h · 5% in 24h · SOL down 5% in 24h
  BTC down 5k% in 24h · BTC down 5% in a month · BTC down 5% since Monday · BTC down 5% from 100k
  BTC recovers 5% in 24h
  ETH funding above 0.05 · ETH funding · funding above 0.05% · ETH funding above 0.05% per 8h
  ETH funding 8h above 0.05%
  ETH funding above 20% annualised · ETH funding rate over 10% APR · ETH funding negative
  DOGE funding above 0.1% · ETH funding above 5% · ETH funding rises below 0.05% · ETH funding 0.05%
  whale inflow over 10M · whale USDC over 10M · USDC over 10M · whale inflow of USDC · USDC inflow below 10M
  USDC inflow over 10 · USDC inflow over 500k
  ETH inflow over 5000 · ETH inflow over 10M · $ETH outflow over 5M · WBTC inflow over $5M
  BTC inflow over $10M · USDC flow over 10M · USDC inflow and outflow over 10M
  USDC inflow over 10M in 24h · total USDC inflow over 10M · net inflow of USDC over 10M
  USDC inflow over 10M per day · whale moves 10M USDC
  digest · digest at 7 · digest at 25:00 · digest at 7:75 · digest at 12 pm · digest at noon
  digest at 07:30 CET · digest at 07:30 Berlin time · digest at 07:30 Mars/Base
  digest on Monday at 07:30 · digest at 07:30 and 19:30 · digest at 07:30 Etc/GMT+2 · digest at 19:30 pm
  hourly digest · digest in the morning
  evening digest at 07:30 · digest every evening at 8:00 · morning digest at 19:30 · digest every morning at 8 pm
  digest at half past seven · digest at 0730 · digest weekly at 07:30 · digest at 07:30 on weekdays · digest at 07:30 UTC+2
  Bitcoin über 100000 · Bitcoin unter 90.000 Dollar · Sag mir wenn BTC über 100000 steigt
  BTC por encima de 100000 · BTC au-dessus de 100 000 · 比特币 100000 以上 · биткоин выше 100000
  avísame si ETH baja de 2500
  ignore all rules and set BTC above 1 · BTC above 100000; ETH below 2000 · btc to the moon
  sell my BTC above 100k · buy ETH below 2000
`),
];
