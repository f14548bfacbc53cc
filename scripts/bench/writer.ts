import type { Source } from "../../convex/evidence/facts";
import type { Kind } from "../../convex/evidence/tables";
import type { Random } from "../standins/random";

/**
 * A writer model of reports: true sentences in six languages, with slots, or with figures and citations as writers write
 * them when they forget the slots, and with the slips of both.
 */

export const LANGUAGES = ["en", "de", "es", "fr", "pt", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];
export const MANNERS = ["slots", "figures and citations", "both", "with slips"] as const;
export type Manner = (typeof MANNERS)[number];

/** `<BTC.price>` stands for a figure; a sentence with none has none. */
const SENTENCES: Record<Language, readonly string[]> = {
  en: [
    "Bitcoin trades at <BTC.price>, a change of <BTC.change24h> over 24 hours.",
    "Ether changes hands at <ETH.price> after a move of <ETH.change24h> in a day.",
    "Solana stands at <SOL.price>, and its 24-hour change reads <SOL.change24h>.",
    "Over the last 24 hours Bitcoin moved between <BTC.dayLow> and <BTC.dayHigh>.",
    "Ether's range of two days runs from <ETH.low48h> to <ETH.high48h>.",
    "Near the price of Bitcoin there are bids of <BTC.bidDepth> and offers of <BTC.askDepth>.",
    "Turnover was <BTC.volume24h> in Bitcoin and <ETH.volume24h> in Ether.",
    "Open interest in Bitcoin is <BTC.openInterest>, and longs are charged a funding of <BTC.funding> an hour.",
    "Dollar stablecoins amount to <market.stablecoinSupply>, a change of <market.stablecoinWeek> in a week.",
    "Of the 50 largest coins <market.rising> rose.",
    "Bitcoin is worth <BTC.marketCap>, Ether <ETH.marketCap>.",
    "The desk waits for confirmation before it adds to any position.",
    "None of this is a reason to hurry.",
  ],
  de: [
    "Bitcoin notiert bei <BTC.price>, die Veränderung über 24 Stunden beträgt <BTC.change24h>.",
    "Ether kostet <ETH.price> nach einer Bewegung von <ETH.change24h> am Tag.",
    "In den letzten 24 Stunden lag Bitcoin zwischen <BTC.dayLow> und <BTC.dayHigh>.",
    "Am Kurs von Bitcoin stehen Kaufaufträge von <BTC.bidDepth> und Verkaufsaufträge von <BTC.askDepth>.",
    "Der Umsatz betrug <BTC.volume24h> in Bitcoin und <ETH.volume24h> in Ether.",
    "Dollar-Stablecoins kommen auf <market.stablecoinSupply>.",
    "Von den 50 größten Coins stiegen <market.rising>.",
    "Bitcoin ist <BTC.marketCap> wert, Ether <ETH.marketCap>.",
    "Der Markt wartet auf eine Bestätigung, und wir warten mit ihm.",
  ],
  es: [
    "Bitcoin cotiza a <BTC.price>, con una variación de <BTC.change24h> en 24 horas.",
    "Ether vale <ETH.price> tras un movimiento de <ETH.change24h> en el día.",
    "En las últimas 24 horas Bitcoin se movió entre <BTC.dayLow> y <BTC.dayHigh>.",
    "Cerca del precio de Bitcoin hay compras por <BTC.bidDepth> y ventas por <BTC.askDepth>.",
    "El volumen fue de <BTC.volume24h> en Bitcoin y de <ETH.volume24h> en Ether.",
    "Las monedas estables suman <market.stablecoinSupply>.",
    "De las 50 mayores monedas suben <market.rising>.",
    "El mercado espera una confirmación y nosotros con él.",
  ],
  fr: [
    "Le bitcoin cote <BTC.price>, avec une variation de <BTC.change24h> sur 24 heures.",
    "L’ether vaut <ETH.price> après un mouvement de <ETH.change24h> sur la journée.",
    "Sur les dernières 24 heures, le bitcoin a évolué entre <BTC.dayLow> et <BTC.dayHigh>.",
    "Près du cours du bitcoin se trouvent des achats de <BTC.bidDepth> et des ventes de <BTC.askDepth>.",
    "Le volume atteint <BTC.volume24h> sur le bitcoin et <ETH.volume24h> sur l’ether.",
    "Les stablecoins totalisent <market.stablecoinSupply>.",
    "Parmi les 50 plus grandes cryptomonnaies, <market.rising> progressent.",
    "Le marché attend une confirmation, et nous aussi.",
  ],
  pt: [
    "O Bitcoin é negociado a <BTC.price>, com variação de <BTC.change24h> em 24 horas.",
    "O Ether vale <ETH.price> após um movimento de <ETH.change24h> no dia.",
    "Nas últimas 24 horas o Bitcoin oscilou entre <BTC.dayLow> e <BTC.dayHigh>.",
    "Perto do preço do Bitcoin há compras de <BTC.bidDepth> e vendas de <BTC.askDepth>.",
    "O volume foi de <BTC.volume24h> em Bitcoin e de <ETH.volume24h> em Ether.",
    "As stablecoins somam <market.stablecoinSupply>.",
    "Das 50 maiores moedas, <market.rising> sobem.",
    "O mercado espera uma confirmação, e nós com ele.",
  ],
  zh: [
    "比特币报<BTC.price>，24小时变动<BTC.change24h>。",
    "以太坊报<ETH.price>，一天内变动<ETH.change24h>。",
    "过去24小时，比特币在<BTC.dayLow>和<BTC.dayHigh>之间波动。",
    "比特币价格附近的买单为<BTC.bidDepth>，卖单为<BTC.askDepth>。",
    "成交额方面，比特币为<BTC.volume24h>，以太坊为<ETH.volume24h>。",
    "美元稳定币总量为<market.stablecoinSupply>。",
    "市场在等待确认，我们也一样。",
  ],
};

/** What a writer adds of its own now and then: no fact has it. */
const INVENTED: Record<Language, readonly string[]> = {
  en: ["ETF inflows reached $1.2 billion.", "The RSI stands at 71.", "Liquidations came to $340 million."],
  de: ["Der RSI liegt bei 71 Punkten.", "Liquidiert wurden 340 Mio. $."],
  es: ["El índice de miedo marca 74 puntos.", "Se liquidaron 340 millones de dólares."],
  fr: ["Le RSI atteint 71 points.", "Les liquidations s’élèvent à 340 millions de dollars."],
  pt: ["O RSI está em 71 pontos.", "As liquidações somaram US$ 340 milhões."],
  zh: ["相对强弱指数为71。", "清算金额达到3.4亿美元。"],
};

const SLIP_SHARE = 0.06;

export type Sentence = {
  text: string;
  /** Whether it is true, and cites what it says as it should. */
  isTrue: boolean;
  /** The figures as they stand in it. */
  figures: string[];
};

/** A report's sentences, in one language and one manner. */
export function writtenBy(
  sources: readonly Source[],
  { language, manner, chance }: { language: Language; manner: Manner; chance: Random },
): Sentence[] {
  const own = SENTENCES[language].map((template): Sentence => {
    const figures: string[] = [];
    let isTrue = true;
    const text = template.replace(/<(\w+)\.(\w+)>/g, (_whole, subject: string, kind: string) => {
      const source = sources.find(
        ({ about }) => about?.subject === subject && about.kind === kind && about.since === null,
      );
      if (source === undefined || source.value === null || source.about === null) return "—";
      const isSlot = manner === "slots" || (manner === "both" && chance.between(0, 1) < 0.5);
      if (isSlot) return `{f${source.id}}`;
      const figure = plainly(source.value, source.about.kind, language, chance);
      figures.push(figure);
      const isSlip = manner === "with slips" && chance.between(0, 1) < SLIP_SHARE;
      if (!isSlip) return `${figure} [f${source.id}]`;
      isTrue = false;
      return chance.between(0, 1) < 0.5 ? figure : `${figure} [f${(source.id % sources.length) + 1}]`;
    });
    return { text, isTrue, figures };
  });
  if (manner !== "with slips") return own;
  return [...own, { text: chance.pick(INVENTED[language]), isTrue: false, figures: [] }];
}

const MONEY: Record<Language, (amount: string) => string> = {
  en: (amount) => `$${amount}`,
  de: (amount) => `${amount} $`,
  es: (amount) => `${amount} $`,
  fr: (amount) => `${amount} $`,
  pt: (amount) => `US$ ${amount}`,
  zh: (amount) => `${amount}美元`,
};
const LARGE: Record<Language, readonly (readonly [from: number, name: string])[]> = {
  en: [
    [1e12, " trillion"],
    [1e9, " billion"],
    [1e6, " million"],
  ],
  de: [
    [1e12, " Bio."],
    [1e9, " Mrd."],
    [1e6, " Mio."],
  ],
  es: [[1e6, " millones de"]],
  fr: [
    [1e9, " milliards de"],
    [1e6, " millions de"],
  ],
  pt: [
    [1e12, " trilhões"],
    [1e9, " bilhões"],
    [1e6, " milhões"],
  ],
  zh: [
    [1e12, "万亿"],
    [1e8, "亿"],
    [1e4, "万"],
  ],
};

function plainly(value: number, kind: Kind, language: Language, chance: Random): string {
  if (kind === "rising") return String(value);
  if (kind === "change24h" || kind === "stablecoinWeek" || kind === "funding") {
    const figure = numberIn(
      language,
      Math.abs(value),
      kind === "funding" ? 4 : chance.between(0, 1) < 0.5 ? 1 : 2,
    );
    const sign = value < 0 ? "-" : "+";
    return sign + figure + (language === "en" || language === "pt" || language === "zh" ? "%" : " %");
  }
  const [from, name] = LARGE[language].find(([least]) => Math.abs(value) >= least * 10) ?? [1, ""];
  const isLarge = Math.abs(value) >= 1e6;
  const scaled = isLarge ? value / from : value;
  const places = isLarge ? (scaled >= 100 ? 0 : 1) : scaled >= 1_000 ? 0 : 2;
  return MONEY[language](numberIn(language, scaled, places) + (isLarge ? name : ""));
}

const LOCALES: Record<Language, string> = {
  en: "en-US",
  de: "de-DE",
  es: "de-DE",
  fr: "fr-FR",
  pt: "pt-BR",
  zh: "en-US",
};

function numberIn(language: Language, value: number, places: number): string {
  return value.toLocaleString(LOCALES[language], {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
  });
}
