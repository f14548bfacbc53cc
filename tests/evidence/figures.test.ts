import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountIn } from "../../convex/evidence/amounts";
import { counted, ledgerOf, sourceOfFact, withoutBrackets } from "../../convex/evidence/facts";
import { figuresIn } from "../../convex/evidence/figures";
import { LOCALES, localeOf, SCRIPTS } from "../../convex/evidence/languages";
import { plain } from "../../convex/evidence/sentences";
import { leftoverProblem, settle } from "../../convex/evidence/settlement";
import { countWords } from "../../convex/research/result";
import { reportOf } from "../../scripts/bench/briefs";
import { factOf, numbered, sceneNamed } from "./corpus/reports";

/** Figures by form: what a writer may send, what readers see of it, and what nobody can make them see. */

const DESK = sceneNamed("desk");
const { ledger: LEDGER, at: NOW } = DESK;
const written = (text: string) => numbered(text, DESK);
const shown = (text: string) => settle(written(text), LEDGER).text;

describe("a true sentence stays", () => {
  test.each([
    "Ether trades at $3,659 [ETH.price], up 1.8 % over the last 24 hours [ETH.change24h].",
    "Solana is the laggard at $172.35 [SOL.price], off 3.2% on the day [SOL.change24h].",
    "Bitcoin's 24-hour range runs from $99,870 to $106,120 [BTC.dayLow][BTC.dayHigh].",
    "BTC changes hands around $105.4k [BTC.price].",
    "Market cap: $2.10T for Bitcoin [BTC.marketCap] and $442B for Ether [ETH.marketCap].",
    "Ether's market cap of $441.7 billion [ETH.marketCap] is about 21 % of Bitcoin's [BTC.marketCap].",
    "24h volume came in at $55.2bn for Bitcoin and $34.6bn for Ether [BTC.volume24h][ETH.volume24h].",
    "Bids of $51.1M outweigh asks of $42.8M within 1 % of the mid [BTC.bidDepth][BTC.askDepth].",
    "Funding sits at 0.0015 % per hour [BTC.funding], roughly flat.",
    "Ether funding is slightly negative at -0.0005% [ETH.funding].",
    "Open interest in BTC perpetuals is $2.44B [BTC.openInterest].",
    "Breadth is strong: 38 of 50 coins are higher [market.rising].",
    "Some 38 of the 50 largest coins rose over the last 24 hours [market.rising].",
    "Stablecoin supply grew 0.42 % over seven days to $251.1bn [market.stablecoinWeek][market.stablecoinSupply].",
    "Base carried 187 transactions in its latest block at 0.0042 gwei [Base.blockTransactions][Base.baseFee].",
    "USDC on Base stands at $4.07 billion [Base.usdcSupply].",
    "Ether is number 5 among the most searched coins [ETH.trendingPlace].",
    "Bitcoin ranks 1st and Ether 2nd by market cap [BTC.rank][ETH.rank].",
    "The spread is a tight 0.12 bps [BTC.spread].",
    "DOGE lost 7.9 % [DOGE.change24h], PEPE trades at $0.00001235 [PEPE.price].",
    "Bitcoin beat Ether by 3.2 percentage points [BTC.change24h][ETH.change24h].",
    "Bitcoin volume is 1.6x that of Ether [BTC.volume24h][ETH.volume24h].",
    "Together, Bitcoin and Ether turned over $89.8bn [BTC.volume24h][ETH.volume24h].",
    "Bitcoin added $2,415 since the shift began [BTC.price][sinceFrom].",
    "Since the shift began Bitcoin is up 2.3 % from $103,025 [since][sinceFrom].",
    "Bitcoin is up more than 5 % [BTC.change24h] and trades above $105,000 [BTC.price].",
    "Ether holds above $3,600 [ETH.price] and below $3,700.",
    "ETF demand is back: “Bitcoin ETFs took in $812 million in a week” [market.headline].",
    "According to headlines, Bitcoin ETFs took in $812 million in a week [market.headline].",
    "Traders on social media expect an ETF [mood].",
    "Turnover of 12,346 BTC changed hands on Coinbase [BTC.dayVolume].",
    "- BTC: {BTC.price} ({BTC.change24h})",
    "- ETH: {ETH.price}, {ETH.change24h} in 24 hours; 24h range {ETH.dayLow}–{ETH.dayHigh}",
    "| Coin | Price | 24 h |",
    "| ETH | $3,659 [ETH.price] | +1.84 % [ETH.change24h] |",
    "**Bitcoin** (BTC): {BTC.price}, {BTC.change24h} d/d.",
    "ETH/BTC: Ether is worth 0.0347 of a Bitcoin [ETH.price][BTC.price].",
    "Bitcoin's open interest is {BTC.openInterest}, {BTC.openInterest/ETH.openInterest} Ether's.",
    "In 2026, the ERC-20 token standard and layer 2 networks matter; see Q1.",
    "On 5 January 2026 Bitcoin traded at {BTC.price}.",
    "Over the next 24 to 48 hours the desk watches {ETH.dayHigh}.",
    "1. Bitcoin leads with {BTC.change24h}.",
    "2) Ether follows with {ETH.change24h}.",
    "Bitcoin gained 508 bps [BTC.change24h].",
    "Solana fell by three percent [SOL.change24h].",
    "The 24-hour low at $3,475 [ETH.dayLow] is support; the high at $3,722 [ETH.dayHigh] is resistance.",
    "Bid depth is {BTC.bidDepth}, i.e. {BTC.bidDepth%BTC.bidDepth+BTC.askDepth} of the book.",
    "Bitcoin stieg um 5,1 % auf 105.440 USD [BTC.change24h][BTC.price].",
    "Die Marktkapitalisierung von Bitcoin liegt bei 2,10 Billionen Dollar [BTC.marketCap].",
    "Ether notiert bei 3.659 Dollar und liegt damit 1,8 Prozent höher als vor 24 Stunden [ETH.price][ETH.change24h].",
    "Das Handelsvolumen von Ether erreichte 34,6 Mrd. Dollar [ETH.volume24h].",
    "38 der 50 größten Coins legten zu [market.rising].",
    "Die Finanzierungsrate von Bitcoin beträgt {BTC.funding} pro Stunde.",
    "Bitcoin handelt bei 105.440 $ [BTC.price], das 24-Stunden-Hoch liegt bei 106.120 $ [BTC.dayHigh].",
    "Solana verlor 3,2 % auf 172,35 Dollar [SOL.change24h][SOL.price].",
    "Bitcoin sube un 5,1 % hasta los 105.440 dólares [BTC.change24h][BTC.price].",
    "La capitalización de Bitcoin asciende a 2,10 billones de dólares [BTC.marketCap].",
    "El volumen de Ether en 24 horas fue de 34.600 millones de dólares [ETH.volume24h].",
    "38 de las 50 mayores monedas suben [market.rising].",
    "Ether cotiza a {ETH.price}, un {ETH.change24h} más que hace 24 horas.",
    "Le bitcoin s'échange à 105 440 dollars [BTC.price], en hausse de 5,1 % sur 24 heures [BTC.change24h].",
    "La capitalisation du bitcoin atteint 2 101 milliards de dollars [BTC.marketCap].",
    "Le volume de l'ether sur 24 heures est de 34,6 milliards de dollars [ETH.volume24h].",
    "38 des 50 plus grandes cryptos progressent [market.rising].",
    "O bitcoin sobe 5,1% em 24 horas, para US$ 105.440 [BTC.change24h][BTC.price].",
    "A capitalização do bitcoin é de US$ 2,10 trilhões [BTC.marketCap].",
    "O volume do ether em 24 horas foi de US$ 34,6 bilhões [ETH.volume24h].",
    "38 das 50 maiores moedas sobem [market.rising].",
    "比特币报105,440美元，24小时上涨5.08% [BTC.price][BTC.change24h]。",
    "比特币市值为2.1万亿美元 [BTC.marketCap]，以太坊24小时成交额为346亿美元 [ETH.volume24h]。",
    "前50大币种中有38个上涨 [market.rising]。",
    "以太坊现报{ETH.price}，较24小时前上涨{ETH.change24h}。",
    "ビットコインは10万5440ドル [BTC.price] で、24時間で5.08%上昇しました [BTC.change24h]。",
    "ビットコインの時価総額は2.1兆ドルです [BTC.marketCap]。",
    "上位50銘柄のうち38銘柄が上昇しています [market.rising]。",
    "イーサリアムは{ETH.price}、24時間で{ETH.change24h}上昇。",
  ])("%s", (sentence) => {
    const { leftovers, removed } = settle(written(sentence), LEDGER);
    expect({ leftovers, removed }).toEqual({ leftovers: [], removed: 0 });
  });
});

describe("a false sentence with a figure that no fact has goes back, and then gives way to facts", () => {
  test.each([
    "BTC is off 3.5 % [BTC.change24h].",
    "BTC bled 3.5 % [BTC.change24h].",
    "SOL is up more than 3 % [SOL.change24h].",
    "BTC lost over 5 % on the day [BTC.change24h].",
    "ETH erased 4.8% of its value [ETH.change24h].",
    "ETH slid 5.08 % [BTC.change24h].",
    "Bitcoin trades at $42,000 [BTC.price].",
    "Bitcoin trades at $1,054,400 [BTC.price].",
    "Bitcoin trades at $10,544 [BTC.price].",
    "Bitcoin: 105.440.000 [BTC.price].",
    "Bitcoin is up 51 % [BTC.change24h].",
    "Bitcoin is up 0.51 % [BTC.change24h].",
    "Bitcoin gained half a percent [BTC.change24h].",
    "The capitalisation is $2.10bn [BTC.marketCap].",
    "Die Kapitalisierung ist 2,10 Mrd. $ [BTC.marketCap].",
    "Whales moved 1,200 BTC [BTC.dayVolume].",
    "Bitcoin trades at $105.440M [BTC.price].",
    "Bitcoin trades at €105,440 [BTC.price].",
    "Bitcoin is up $5.08 [BTC.change24h].",
    "Bitcoin trades at ٤٢٠٠٠ USD [BTC.price].",
    "Bitcoin trades at $4２,000 [BTC.price].",
    "Bitcoin trades at $1​2,000 [BTC.price].",
    "Bitcoin trades at $1OO,000 [BTC.price].",
    "Bitcoin trades at ①② thousand dollars [BTC.price].",
    "Bitcoin gained Ⅻ percent [BTC.change24h].",
    "Bitcoin gained ninety-seven percent [BTC.change24h].",
    "Bitcoin gained ninety-five percent [BTC.change24h].",
    "Bitcoin gained five and a half percent [BTC.change24h].",
    "Bitcoin doubled today [BTC.change24h].",
    "Bitcoin's volume is twice Ether's [BTC.volume24h][ETH.volume24h].",
    "Bitcoin fell by half [BTC.change24h].",
    "Nine in ten wallets are in profit.",
    "50 coins rose [market.rising].",
    "All 50 of the coins rose, 38 [market.rising] more than expected.",
    "A total of 50 transactions [Base.blockTransactions].",
    "As in 2024, Bitcoin stands at {BTC.price}.",
    "On 4 January 2026, Bitcoin stood at {BTC.price}.",
    "At 08:00 UTC Bitcoin stood at {BTC.price}.",
    "Bitcoin could reach $120,000 by the end of the month.",
    "There is a 70 % chance of a rally.",
    "Bitcoin is at a 30-day high of {BTC.dayHigh}.",
    "Over 30 days Bitcoin gained {BTC.change24h}.",
    "Bitcoin trades at {BTC.price}0.",
    "Bitcoin trades at 1{BTC.price}.",
    "Bitcoin trades at {BTC.price}.5.",
    "Bitcoin is up {BTC.change24h} percent times 10.",
    "Bitcoin trades at {f999}.",
    "Bitcoin leads by {BTC.price-BTC.change24h}.",
    "Bitcoin is {BTC.change24h/BTC.price} of it.",
    "Bitcoin trades at {btc*2}.",
    "Bitcoin trades at $105,440 [ETH.price].",
    "Bitcoin rose from $90,000 to $105,440 [BTC.price].",
    "Flows of USD5bn and EUR3bn hit exchanges.",
    "Traders eye the mid-80s and the sub-90k area.",
    "Support lies at target90000.",
    "Support lies at target90.",
    "Bitcoin held BTC97 for long.",
    "Volume is 3x the norm.",
    "Volume is three times the norm.",
    "Volume tripled.",
    "Bitcoin dominates with a 58 % share.",
    "Funding annualises to 13 % [BTC.funding].",
    "It costs $0.00.",
    "Bitcoin has been up 9 days in a row.",
    "The 200-day average sits at $98,000.",
    "RSI at 71 signals strength.",
    "“Bitcoin ETFs took in $912 million” [market.headline].",
    "Price: 99,999",
    "Bitcoin stieg um 15 Prozent [BTC.change24h].",
    "Bitcoin stieg um fünfzehn Prozent [BTC.change24h].",
    "Bitcoin sube un quince por ciento [BTC.change24h].",
    "Le bitcoin gagne quinze pour cent [BTC.change24h].",
    "O bitcoin subiu quinze por cento [BTC.change24h].",
    "比特币上涨十五个百分点 [BTC.change24h]。",
    "比特币上涨百分之十五 [BTC.change24h]。",
    "比特币报九万美元 [BTC.price]。",
    "比特币报9万美元 [BTC.price]。",
    "比特币跌{BTC.change24h}。",
    "ビットコインは9万ドルです [BTC.price]。",
    "ビットコインは十万ドルです [BTC.price]。",
    "Bitcoin fiel um {BTC.change24h}.",
    "Bitcoin cayó {BTC.change24h}.",
    "Bitcoin stands at 105 thousand.",
    "Rank 3 goes to Ether [ETH.rank].",
    "Ether is the 3rd-largest coin [ETH.rank].",
    "Bitcoin, unlike Litecoin at {ltc}, rose.",
    "The dollar lost 3 cents.",
    "Bitcoin gained at least 8 % [BTC.change24h].",
    "Bitcoin is up 5.08 % [BTC.change24h], a 10 % move.",
    "$1 million per BTC is next.",
    "Bitcoin hits one hundred thousand dollars.",
    "BTC gained 5.08 ‰ [BTC.change24h].",
    "BTC gained 5°.",
    "[model] BTC at $42,000.",
    "BTC at $42,000 [1].",
    "BTC at [$42,000].",
    "BTC at [42,000: x].",
    "BTC at [1: 42,000].",
  ])("%s", (sentence) => {
    const { leftovers, removed, text } = settle(written(sentence), LEDGER);
    expect({ removed, isBack: leftovers.length > 0 }).toEqual({ removed: 1, isBack: true });
    // What is left are facts in code's words.
    expect(text).toMatch(/^$|^(?:[^:]+: [^ ]+.* \[\d+\](?:; )?)+\.$|^“.*” \[\d+(?:: model)?\]\.?$/);
  });
});

test.each([
  ["Ether sits at $3.659 [ETH.price].", "$3,659 [1: now]"],
  ["Ether notiert bei 3.659 $ [ETH.price].", "3.659 $ [1: now]"],
  [
    "The day's band is $99.9-106.1k [BTC.dayLow][BTC.dayHigh].",
    "$99,871-$106,120 [1: BTC 24-h low; 2: BTC 24-h high]",
  ],
])("a figure may be written by either convention: %s", (sentence, told) =>
  expect(shown(sentence).replace(/\u00A0/g, " ")).toContain(told),
);

describe("a false sentence around a true figure shows its own contradiction", () => {
  test.each([
    ["Bitcoin is underwater by 5.1 % [BTC.change24h].", "Bitcoin is underwater by +5.08% [1: 24 h]."],
    ["Since Monday Bitcoin is up 5.1 % [BTC.change24h].", "Since Monday Bitcoin is up 5.08% [1: 24 h]."],
    [
      "Since the Fed meeting ETH has gained 1.8 % [ETH.change24h].",
      "Since the Fed meeting ETH has gained 1.84% [1: 24 h].",
    ],
    ["A week ago ETH stood at $3,659 [ETH.price].", "A week ago ETH stood at $3,659 [1: now]."],
    ["BTC is not up 5.1 % [BTC.change24h].", "BTC is not up +5.08% [1: 24 h]."],
    ["ETH will trade at $3,659 by Friday [ETH.price].", "ETH will trade at $3,659 [1: now] by Friday."],
    ["Fair value of ETH is $3,659 [ETH.price].", "Fair value of ETH is $3,659 [1: now]."],
    ["Max pain lies at $3,659 [ETH.price].", "Max pain lies at $3,659 [1: ETH now]."],
    [
      "ETFs lost $812 million [market.headline].",
      "ETFs lost $812 million [1: “Bitcoin ETFs took in $812 million in a week”].",
    ],
    ["Ether trades at $105,440 [BTC.price].", "Ether trades at $105,440 [1: BTC now]."],
    ["Bitcoin trades at {BTC.price}{ETH.price}.", "Bitcoin trades at $105,440 [1: now]$3,659 [2: ETH now]."],
    [
      "Bitcoin's gain is {BTC.change24h}, 3 times Ether's {ETH.change24h}.",
      "Bitcoin's gain is +5.08% [1: 24 h], 2.76× [1, 2: BTC to ETH, 24 h] Ether's +1.84% [2: 24 h].",
    ],
    [
      '"Bitcoin ETFs took in $812 million in a day" [market.headline].',
      '"Bitcoin ETFs took in $812 million in a day" [1: “Bitcoin ETFs took in $812 million in a week”].',
    ],
    ["Ether is the third-largest coin [ETH.rank].", "Ether is the third-largest coin [1: ETH rank #2]."],
    ["Litecoin trades at {BTC.price}.", "Litecoin trades at $105,440 [1: BTC now]."],
    ["It trades above $90,000 [BTC.price].", "It trades above $90,000 [1: BTC now $105,440]."],
    [
      "Its 48-hour high is {BTC.price}, and its price {BTC.price}.",
      "Its 48-hour high is $105,440, and its price $105,440 [1: BTC now].",
    ],
    ["Bitcoin is down to $99,870 [BTC.dayLow].", "Bitcoin is down to $99,871 [1: 24-h low]."],
  ])("%s", (sentence, told) => expect(shown(sentence)).toBe(told));
});

describe("a figure is printed", () => {
  test.each([
    ["Bitcoin is at {BTC.price}.", "Bitcoin is at $105,440 [1: now]."],
    [
      "Bitcoin trades at +{BTC.price}, ${ETH.price} for Ether.",
      "Bitcoin trades at $105,440 [1: now], $3,659 [2: ETH now] for Ether.",
    ],
    [
      "Bitcoin rose {BTC.change24h}% over 24 hours [BTC.change24h].",
      "Bitcoin rose 5.08% [1: 24 h] over 24 hours.",
    ],
    ["Ether held {ETH.low48h}-{ETH.high48h}.", "Ether held $3,455-$3,748 [1: 48-h low; 2: 48-h high]."],
    [
      "Ether held $3,455-$3,748 [ETH.low48h][ETH.high48h].",
      "Ether held $3,455-$3,748 [1: 48-h low; 2: 48-h high].",
    ],
    [
      "Ether held $3,455–3,748 [ETH.low48h][ETH.high48h].",
      "Ether held $3,455–$3,748 [1: 48-h low; 2: 48-h high].",
    ],
    [
      "Bitcoin beats Ether by {BTC.change24h-ETH.change24h}.",
      "Bitcoin beats Ether by 3.24 pp [1, 2: BTC over ETH, 24 h].",
    ],
    [
      "Ether trails by {ETH.change24h-BTC.change24h}.",
      "Ether trails by 3.24 pp [1, 2: ETH under BTC, 24 h].",
    ],
    [
      "Its turnover is {BTC.volume24h/ETH.volume24h} Ether's.",
      "Its turnover is 1.59× [1, 2: BTC to ETH, 24-h volume] Ether's.",
    ],
    [
      "Ether has {ETH.marketCap%BTC.marketCap+ETH.marketCap} of the two.",
      "Ether has 17.4% [1, 2: ETH of BTC + ETH, market cap] of the two.",
    ],
    [
      "Interest is {BTC.openInterest+ETH.openInterest} in all.",
      "Interest is $3.94B [1, 2: BTC + ETH, open interest] in all.",
    ],
    [
      "Ether is the fifth-most searched coin [ETH.trendingPlace].",
      "Ether is the fifth-most searched coin [1: ETH most searched #5].",
    ],
    ["News: {market.headline}.", "News: “Bitcoin ETFs took in $812 million in a week” [1]."],
    [
      "Models say {mood}.",
      "Models say “SOL sentiment: bullish, buzz 8/10. Traders expect an ETF.” [1: model].",
    ],
    [
      "Bitcoin stieg um {BTC.change24h} auf {BTC.price}, die Marktkapitalisierung ist {BTC.marketCap}.",
      "Bitcoin stieg um 5,08 % auf 105.440 $ [1: 24 h; 2: now], die Marktkapitalisierung ist 2,1 Bio. $ [3: BTC market cap].",
    ],
    [
      "El volumen de Ether en 24 horas es de {ETH.volume24h}.",
      "El volumen de Ether en 24 horas es de 34.612 millones $ [1: 24-h volume].",
    ],
    [
      "La capitalisation du bitcoin est de {BTC.marketCap}.",
      "La capitalisation du bitcoin est de 2 101 Md $ [1: market cap].",
    ],
    [
      "O bitcoin está em {BTC.price} e a capitalização em {BTC.marketCap}.",
      "O bitcoin está em US$ 105.440 [1: now] e a capitalização em US$ 2,1 tri [2: market cap].",
    ],
    ["比特币市值为{BTC.marketCap}。", "比特币市值为2.1万亿美元 [1: BTC market cap]。"],
    [
      "ビットコインの時価総額は{BTC.marketCap}です。",
      "ビットコインの時価総額は2.1兆ドル [1: BTC market cap]です。",
    ],
  ])("%s", (sentence, told) => expect(shown(sentence).replace(/[\u00A0\u202F]/g, " ")).toBe(told));

  test("without brackets in a summary, with what has to be said in parentheses", () => {
    const kept: number[] = [];
    const { text } = settle(written("🟢 Bitcoin {BTC.change24h} at {BTC.price} [BTC.price]"), LEDGER, {
      isBare: true,
      kept,
    });
    expect(text).toBe("🟢 Bitcoin +5.08% at $105,440 (24 h; now)");
    expect(kept).toHaveLength(2);
    expect(settle("🟢 Bitcoin at $42,000", LEDGER, { isBare: true }).text).toBe("");
  });

  test("and what no fact has is marked where an answer stays as it is", () => {
    const { text, leftovers } = settle(written("Bitcoin is at {BTC.price}. I see $120,000 ahead."), LEDGER, {
      left: "mark",
    });
    expect(text).toBe("Bitcoin is at $105,440 [1: now]. I see $120,000 [model] ahead.");
    expect(leftoverProblem(leftovers)).toContain("at “I see $120,000 ahead.”: “$120,000” cites no fact");
  });

  test("of a text without citations, from the facts of who was named last", () => {
    const told = settle("Ether trades at $3,659. It turned over $34.6 billion in 24 hours.", LEDGER, {
      isUncited: true,
    });
    expect(told.text).toBe(
      "Ether trades at $3,659 [1: now]. It turned over $34.6B [2: ETH 24-h volume] in 24 hours.",
    );
    expect(settle("Ether trades at $3,959.", LEDGER, { isUncited: true })).toMatchObject({
      text: "",
      removed: 1,
    });
  });

  test("in the lines, lists and tables of its text", () => {
    const text =
      "## Majors\n\n- BTC: {BTC.price}\n- ETH: {ETH.price}\n\n| Coin | 24 h |\n| --- | --- |\n| SOL | {SOL.change24h} |\n\nBitcoin leads. It was at $42,000 [BTC.price].";
    expect(shown(text)).toBe(
      "## Majors\n\n- BTC: $105,440 [1: now]\n- ETH: $3,659 [2: now]\n\n" +
        "| Coin | 24 h |\n| --- | --- |\n| SOL | −3.24% [3: 24 h] |\n\nBitcoin leads. BTC price: $105,440 [1].",
    );
  });
});

test("reports of the gateway's stand-in are kept whole, on any market", () => {
  for (let index = 0; index < 40; index++) {
    const { brief, result, now, focus } = reportOf(`figures ${index}`);
    const ledger = ledgerOf(brief.sources, now, { names: brief.names, focus });
    const kept: number[] = [];
    const texts = [result.fullAnalysis, ...result.impacts.map(({ detail }) => detail)];
    const settled = texts.map((text) => settle(text, ledger, { kept, locale: "en" }));
    const summary = settle(result.shortSummary, ledger, { isBare: true, kept, locale: "en" });
    expect([...settled, summary].flatMap(({ leftovers }) => leftovers)).toEqual([]);
    expect([...summary.text].length).toBeLessThanOrEqual(100);
    const words = countWords(settled[0]?.text ?? "");
    expect(words >= 400 && words <= 600).toBe(true);
  }
});

const UNITS = ["USD", "percent"] as const;
const size = fc.double({ min: 1e-3, max: 9e12, noNaN: true });
const locale = fc.constantFrom(...LOCALES);

/** A fact of any value, alone in a ledger, and how a locale writes it. */
function alone(value: number, unit: (typeof UNITS)[number]) {
  const kind = unit === "USD" ? "price" : "change24h";
  const ledger = ledgerOf(counted(factOf("BTC", kind, value, NOW).map((one) => sourceOfFact(one))), NOW);
  return { ledger, print: (in_: (typeof LOCALES)[number]) => amountIn(in_, value, unit, { sign: "minus" }) };
}

const escaped = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

describe("whatever the figures are", () => {
  test("what is printed is the value, within half a percent, in every language", () => {
    fc.assert(
      fc.property(size, fc.constantFrom(...UNITS), locale, (value, unit, in_) => {
        const [read, ...more] = figuresIn(plain(alone(value, unit).print(in_)), SCRIPTS[in_].point);
        expect(more).toEqual([]);
        expect(read?.unit).toBe(unit === "USD" ? "money" : "percent");
        const off = (read?.readings ?? []).map((one) => Math.abs(one.value / value - 1));
        expect(Math.min(...off), read?.text).toBeLessThan(0.006);
      }),
    );
  });

  test("a figure that is adopted is printed as its fact is: nothing a writer does changes a value", () => {
    const off = fc.double({ min: 0.9, max: 1.1, noNaN: true });
    fc.assert(
      fc.property(
        size,
        off,
        fc.integer({ min: 0, max: 4 }),
        fc.constantFrom(...UNITS),
        (value, by, places, unit) => {
          const { ledger, print } = alone(value, unit);
          const figure = (value * by).toFixed(places);
          const { text } = settle(
            `Bitcoin is at ${unit === "USD" ? `$${figure}` : `${figure} %`} [f1].`,
            ledger,
          );
          const told = withoutBrackets(text).replace(
            /^BTC price(?: change over 24 hours)?: \+?/,
            "Bitcoin is at ",
          );
          expect(told.replace("+", "")).toBe(`Bitcoin is at ${print("en")}.`);
        },
      ),
    );
  });

  test("an altered figure is never shown as said", () => {
    const factor = fc.oneof(
      fc.double({ min: 1.06, max: 10, noNaN: true }),
      fc.double({ min: 0.1, max: 0.94, noNaN: true }),
    );
    fc.assert(
      fc.property(size, factor, locale, locale, fc.constantFrom(...UNITS), (value, by, in_, other, unit) => {
        const { ledger, print } = alone(value, unit);
        const false_ = alone(value * by, unit).print(in_);
        const { text, leftovers } = settle(`Bitcoin: ${false_} [f1]. ${false_} [f1]`, ledger);
        const shown = withoutBrackets(text);
        // Not as a part of another figure ("1%" in "0.851%", "$1" in "$1.06").
        const isShown = new RegExp(`(?<![\\d.,])${escaped(false_)}(?!\\d|[.,]\\d)`).test(shown);
        expect({ false_, isShown, other }).toMatchObject({ isShown: false });
        // What the fact rounds to all the same ("$2" of $1.88) gives way to the fact's own figure.
        expect(leftovers.length === 2 || shown.includes(print(localeOf(text)))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("no digits of any script, marks, or words for numbers get by without a fact", () => {
    const part = fc.constantFrom(
      ..."1 7 0 ٣ ３ 七 Ⅻ ½ ² ① . , % $ - + k bn US$ # / 万 x".split(" "),
      ...[
        " percent",
        " Prozent",
        " ",
        "\u200B",
        "\uE000",
        "\u00A0",
        "seven",
        " million",
        "百分之",
        "[f1]",
        "{f1}",
        "{",
        "}",
        "[",
        "]",
      ],
    );
    const ledger = ledgerOf([], NOW);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 9 }), (parts) => {
        const { text } = settle(`Bitcoin gained ${parts.join("")} today.`, ledger);
        expect(text).not.toMatch(/\p{N}|(?:percent|Prozent|million)(?!\p{L})/u);
      }),
      { numRuns: 2_000 },
    );
  });

  test("a long and hostile text is read in time", () => {
    const parts = [
      "1,".repeat(5_000),
      "{f1".repeat(3_000),
      "[f1,".repeat(3_000),
      "Bitcoin ".repeat(3_000),
      "tentententen".repeat(500),
      "1 ".repeat(9_000),
      "“".repeat(5_000),
    ];
    for (const part of parts) expect(settle(part, LEDGER).text.length).toBeLessThan(60_000);
  });
});
