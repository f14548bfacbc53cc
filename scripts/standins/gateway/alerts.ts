/**
 * Part of the gateway's stand-in for local use: how the simulated model restates an alert that somebody wants, in
 * English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese or Turkish.
 */

import * as z from "zod";
import { plainDigits, quantitiesIn, spanAlone, type Quantity } from "./quantities";

const STABLE: readonly string[] = ["USDC", "USDT", "DAI"];

type Restated = { line: string | null; ask: null };

const NOTHING: Restated = { line: null, ask: null };
const lineOf = (line: string): Restated => ({ line, ask: null });

/** The first match counts: a name that contains another one comes before it. */
const COINS: readonly (readonly [symbol: string, names: string])[] = [
  ["CBBTC", "cbbtc"],
  ["WETH", "weth"],
  ["BTC", "btc|bitcoins?|биткоин\\p{L}*|比特币|ビットコイン"],
  ["ETH", "eth|ether|ethereum|эфир\\p{L}*|以太坊|イーサリアム"],
  ["SOL", "sol|solana|солан\\p{L}*|ソラナ"],
  ["DOGE", "doge|dogecoin|狗狗币"],
  ["ADA", "ada|cardano"],
  ["LTC", "ltc|litecoin"],
  ["LINK", "chainlink|LINK"],
  ["AVAX", "avax|avalanche"],
  ["DOT", "polkadot|DOT"],
  ["TON", "toncoin|TON"],
  ["XRP", "xrp|ripple"],
  ["BNB", "bnb"],
  ["SHIB", "shib"],
  ["TRX", "trx|tron"],
  ["UNI", "UNI|uniswap"],
  ["SUI", "sui"],
  ["PEPE", "pepe"],
  ["XMR", "xmr|monero"],
  ["AAVE", "aave"],
  ["NEAR", "NEAR|near protocol"],
  ["HBAR", "hbar|hedera"],
  ["XLM", "xlm|stellar"],
  ["USDC", "usdc"],
  ["USDT", "usdt|tether"],
  ["DAI", "dai"],
];

/** Words with this beginning. */
const words = (list: string): RegExp => new RegExp(`(?<![\\p{L}])(?:${list})`, "iu");
const DOWN = new RegExp(
  `${
    words(
      "below|lower|under(?!\\p{L})|down|drop|dip|slip|dump|crash|fall|los(?:es?|ing)(?!\\p{L})|less|unter(?!\\p{L})|fällt|sinkt|verliert|rutscht|runter|" +
        "sous(?!\\p{L})|perd|baiss|tomb|moins|baj|ca[ei]|por debajo|menos|abaixo|perde|ниже|упад|пад|дешевле|alt[ıi]n|düş",
    ).source
  }|[<跌低]|以下|下回|下が`,
  "iu",
);
const UP = new RegExp(
  `${
    words(
      "above|better|doubles|green|over|up(?!\\p{L})|ris(?:es?|ing)|climb|gain|more|hit|reach|break|pump|rall|über|steig|kletter|knackt|plus|super|dépass|au-dessus|prend|mont|" +
        "llegu|sub|por encima|más|pass|acima|выше|дороже|выраст|превыс|geç|üzer|yüksel",
    ).source
  }|[>涨漲超高]|以上|上回|上が`,
  "iu",
);
const FLOW = words(
  "whales?|wale?s?(?!\\p{L})|inflow|outflow|zufluss|abfl|exchange|börse|bourse|бирж|borsa|交易所|取引所",
);
const OUT = words(
  "outflow|out of|leav|withdraw|from(?!\\p{L})|abfl|von(?!\\p{L})|aus(?!\\p{L})|salida|sort|retir|saída|вывод|流出|çık",
);
const FUNDING = words("funding|financ|финанс|资金费率|資金調達率");
const HOURLY =
  /(?:per|an|pro|par|por) (?:hour|stunde|heure|hora)|\/ ?h(?!\p{L})|(?:per|por|pro) 1 ?h(?!\p{L})/iu;
const DIGEST =
  /digest|summary|recap|overview|zusammenf|überblick|übersicht|résumé|resum|сводк|摘要|まとめ|özet/iu;
const LATE = /pm(?!\p{L})|evening|abend|soir|noche|noite|вечер|晚上|夜/iu;
const CLOCK = /(?<![\d:])(\d{1,2})(?:\s?[:.h時点]\s?(\d{2}))?/iu;
const CITIES: readonly (readonly [name: RegExp, zone: string])[] = [
  [/berlin/i, "Europe/Berlin"],
  [/new york/i, "America/New_York"],
  [/paris/i, "Europe/Paris"],
  [/москв/i, "Europe/Moscow"],
  [/東京/, "Asia/Tokyo"],
];

/** @param prompt The user's message, which contains the words as a JSON string after "Words: ". */
export function restated(prompt: string): Restated {
  const asked = plainDigits(wordsIn(prompt).normalize("NFC"));
  if (asked === null) return NOTHING;
  if (DIGEST.test(asked)) return digest(asked);
  const named = COINS.filter(([, names]) => nameOf(names).test(asked));
  const others = named.filter(([symbol]) => !STABLE.includes(symbol));
  const [[token, names] = [], further] = others.length === 0 ? named : others;
  if (token === undefined || names === undefined || further !== undefined) return NOTHING;
  const quantities = quantitiesIn(asked.replace(nameOf(names), "§").replace(/(?<!\d)1 §/, "§"));
  const percent = quantities.find(({ unit }) => unit === "percent");
  const amount = usdIn(quantities);
  const isDown = DOWN.test(asked);
  const isSaid = isDown || UP.test(asked);
  if (FLOW.test(asked))
    return amount === null
      ? NOTHING
      : lineOf(`${OUT.test(asked) ? "outflow" : "inflow"} of ${token} over ${amount}`);
  if (percent === undefined)
    return amount === null || !isSaid ? NOTHING : lineOf(`${token} ${isDown ? "below" : "above"} ${amount}`);
  const value = valueOf(percent);
  if (FUNDING.test(asked)) {
    const rate = `${percent.sign === -1 ? "-" : ""}${value} % per ${HOURLY.test(asked) ? 1 : 8} h`;
    return isSaid ? lineOf(`${token} funding ${isDown ? "below" : "above"} ${rate}`) : NOTHING;
  }
  const span = quantities.find(({ unit }) => unit === "hours");
  const hours = span === undefined ? spanAlone(asked) : valueOf(span);
  if (hours === null || (!isSaid && percent.sign !== -1)) return NOTHING;
  return lineOf(`${token} ${isDown || percent.sign === -1 ? "down" : "up"} ${value} % in ${hours} h`);
}

function wordsIn(prompt: string): string {
  const literal = prompt.slice(prompt.indexOf("Words: ") + "Words: ".length).split("\n")[0] ?? "";
  try {
    return z.string().parse(JSON.parse(literal));
  } catch {
    return literal;
  }
}

/** A name as a word of its own: scripts without spaces have letters beside it. */
const nameOf = (names: string): RegExp => new RegExp(`(?<![A-Za-z\\d])(?:${names})(?![A-Za-z\\d])`, "iu");

function digest(asked: string): Restated {
  const named = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+\b/.exec(asked)?.[0];
  const timeZone = named ?? CITIES.find(([name]) => name.test(asked))?.[1] ?? "UTC";
  const [, hour, minute = "00"] = CLOCK.exec(asked) ?? [];
  if (hour === undefined) return NOTHING;
  const isLate = LATE.test(asked) && Number(hour) < 12;
  const time = `${String(Number(hour) + (isLate ? 12 : 0)).padStart(2, "0")}:${minute}`;
  return lineOf(`digest at ${time} ${timeZone}`);
}

/** Of the readings of `90.000`, the one with thousands. */
function valueOf({ values }: Quantity): number {
  return Math.max(...values);
}

function usdIn(quantities: readonly Quantity[]): number | null {
  const amounts = quantities.filter(({ unit }) => unit === "usd" || unit === null);
  const amount = amounts.find(({ unit }) => unit === "usd") ?? amounts[0];
  return amount === undefined ? null : valueOf(amount);
}
