/**
 * Sentences as writers of market notes write them, with places for names and figures.
 *
 * `{a}` a coin's name, in any of its forms; `{a.price}` a figure of a fact of it, with its sign where it is a change;
 * `{a.change#}` the same without a sign; `{a.change?rose/fell}` a word by the fact's sign; `{~over 24 hours}` a window;
 * `[a.price]` the citation. `market`, `base` and `news` are no coins.
 */
export const SHAPES: readonly string[] = [
  "{a} at {a.price} is {a.change?up/down} {a.change#} {~on the day} while {b} {b.change?sits/lags} at {b.change} [a.price][a.change][b.change].",
  "{a} trades at {a.price} [a.price], {a.change?up/down} {a.change#} {~over 24 hours} [a.change].",
  "{a} ({a.price} [a.price], {a.change} [a.change]) leads the majors, ahead of {b} ({b.price} [b.price], {b.change} [b.change]).",
  "At {a.price} [a.price], {a} holds inside its {~24-hour} range of {a.low} to {a.high} [a.low][a.high].",
  "{a} and {b} moved {a.change} and {b.change} {~over the past day} [a.change][b.change].",
  "A {a.change#} {a.change?gain/decline} [a.change] took {a} to {a.price} [a.price].",
  "{a} {a.change?gained/lost} {a.change#} [a.change], whereas {b} {b.change?gained/lost} {b.change#} [b.change].",
  "Perpetual funding on {a} runs at {a.funding} an hour [a.funding], with open interest of {a.oi} [a.oi].",
  "{a}'s market cap stands at {a.cap} [a.cap], against {b.cap} for {b} [b.cap].",
  "{~24-hour} volume came to {a.vol} in {a} [a.vol] and {b.vol} in {b} [b.vol].",
  "Of the 50 largest coins, {market.rising} are up [market.rising].",
  "Some {market.rising} of the 50 largest coins rose {~over the last 24 hours} [market.rising], and {a} was {a.change?among/not among} them at {a.change} [a.change].",
  "The supply of dollar stablecoins stands at {market.supply} [market.supply], a {market.week?rise/drop} of {market.week#} {~over seven days} [market.week].",
  "Bids within 1 % of {a}'s price add up to {a.bid} [a.bid]; asks come to {a.ask} [a.ask].",
  "On the book, {a} shows {a.bid} of buy orders against {a.ask} of sell orders [a.bid][a.ask].",
  "{a}: {a.price} [a.price], {~24 h} {a.change} [a.change], cap {a.cap} [a.cap], volume {a.vol} [a.vol].",
  "- {a} – {a.price} ({a.change}) [a.price][a.change]",
  "Since the last report {a} has {a.report?gained/lost} {a.report#} [a.report].",
  "{a}'s price has moved {a.start} since the shift began [a.start].",
  "{a} set a {~48-hour} high of {a.high48} [a.high48] and a low of {a.low48} [a.low48].",
  "Turnover in {a} reached {a.coins} {~over 24 hours} [a.coins], worth {a.vol} in all markets' volume [a.vol].",
  "With {a} {a.change?higher/lower} by {a.change#} [a.change] and {b} {b.change?higher/lower} by {b.change#} [b.change], the tape is clear.",
  "{b} follows {a}: {b.price} [b.price] after a {b.change#} {b.change?advance/slide} {~on the day} [b.change].",
  "USDC on Base amounts to {base.usdc} [base.usdc], and the latest block carried {base.txs} transactions [base.txs].",
  "Fees on Base are negligible, with a base fee of {base.fee} [base.fee].",
  "The spread in {a} is {a.spread} [a.spread], tight for {a.vol} of daily volume [a.vol].",
  "{a} ranks {a.rank} by market capitalisation, at {a.cap} [a.rank][a.cap].",
  "Open interest in {a} perpetuals on Hyperliquid sits near {a.oi} [a.oi], compared with {b.oi} in {b} [b.oi].",
  "Headlines speak of “{news.headline}” [news.headline].",
  "{a} has {a.change?climbed/slipped} {a.change#} {~in the last 24 hours} to trade around {a.price} [a.change][a.price].",
  "Compared with {b} at {b.change} [b.change], {a} is the {a.change?firmer/weaker} story at {a.change} [a.change].",
  "Unlike {b}, {a} {a.change?rose/fell} {a.change#} {~over the day} [a.change].",
  "{a} trades between {a.low} [a.low] and {a.high} [a.high] {~today}.",
  "{a} last changed hands at {a.last} on Coinbase [a.last], {a.day?up/down} {a.day#} from a day earlier [a.day].",
  "The combined picture: {a} {a.change}, {b} {b.change}, {c} {c.change} [a.change][b.change][c.change].",
  "{a}'s volume of {a.vol} [a.vol] is {ratio:a.vol/b.vol} {b}'s {b.vol} [b.vol].",
  "Funding stays {a.funding?positive/negative} for {a} at {a.funding} per hour [a.funding], so that longs {a.funding?pay/are paid}.",
  "{a} {a.change?added/shed} {a.change#} [a.change] on {a.vol} of turnover [a.vol].",
];
