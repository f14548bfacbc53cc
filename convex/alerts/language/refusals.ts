/** What to say instead, for words that are near an alert and leave something open. Pure. */

type Hint = { when: RegExp; say: string };

const COIN = String.raw`(?:btc|bitcoin|eth|ether|ethereum)`;

/** These mean several things, or what is not measured: nobody is asked to guess. */
const AMBIGUITIES: readonly Hint[] = [
  {
    when: /\b(?:and|or(?! (?:more|less|above|below|higher|lower)\b)|but|unless|except|between|either|both)\b|;/,
    say: "One alert at a time: send each as an alert of its own.",
  },
  {
    when: /\b(?:not|never|no|isn't|doesn't|don't|stop|without)\b/,
    say: "Say what is to happen, not what is not: BTC above 100,000. Your list of alerts shows how to end one.",
  },
  {
    when: /€|£|¥|\b(?:eur|euros?|gbp|pounds?|yen|jpy|chf)\b/,
    say: "Amounts are in USD: BTC above 100,000.",
  },
  {
    when: /\d\s?e[+-]?\d/,
    say: "Write the number out: BTC above 100,000.",
  },
  {
    when: /funding.*(?:\b8 ?h|8[- ]hour|eight hours|annual|apr\b|apy\b|year|a day|per day|daily|\/ ?(?:8h|d|y))/,
    say: "Funding rates are told per hour here: 0.08 % in 8 hours is 0.01 % per hour. Say: ETH funding above 0.01 % per hour.",
  },
  {
    when: /(?:inflow|outflow|whale).*(?:below|under|less than|<)/,
    say: "Movements are told from an amount on: whale inflow of USDC over 10M.",
  },
  {
    when: /(?:inflow|outflow).*(?:\bin \d|\bin (?:a|an|the)\b|within|\bper\b|\blast\b|\bpast\b|total|\bsum\b|\bnet\b|today|daily)|(?:net|total) (?:in|out)flow/,
    say: "Each movement is looked at alone, not a sum over time: whale inflow of USDC over 10M.",
  },
  {
    when: /\b(?:closes?|closing|candle|opens?)\b/,
    say: "The price is looked at every five minutes, not at a close: BTC above 100,000.",
  },
  {
    when: /\b(?:moves?|changes?|swings?|varies|fluctuates|volatil\w*)\b(?! (?:up|down)).*(?:%|percent)/,
    say: "Say up or down: BTC down 5 % in 24 h.",
  },
  {
    when: new RegExp(
      String.raw`\b${COIN}\b.*\b(?:hits?|reach(?:es)?|touch(?:es)?|cross(?:es)?|equals|at|around|near|about|close to)\b.*\d`,
    ),
    say: "Say above or below: BTC above 100,000, or BTC below 90,000.",
  },
  {
    when: new RegExp(String.raw`^\$?${COIN}\b[^a-z<>%]*k?m?$`),
    say: "Say above or below, and a price: BTC above 100,000.",
  },
];

/** What an attempt may have meant, once neither the phrases nor a model have made an alert of it. */
const NEAREST: readonly Hint[] = [
  {
    when: /funding/,
    say: "Say coin, direction and percent per hour: ETH funding above 0.05 %.",
  },
  {
    when: /inflow|outflow|whale|exchange/,
    say: "Say direction, coin and worth: whale inflow of USDC over 10M, or whale outflow of ETH over $5M.",
  },
  {
    when: /digest|summary|recap|briefing/,
    say: "Say when, in hours and minutes: digest at 07:30, or digest at 07:30 Europe/Berlin.",
  },
  {
    when: /%|percent|per cent|\bpct\b/,
    say: "Say coin, direction, percent and time: BTC down 5 % in 24 h.",
  },
];

/** What to say instead of words that mean several things; `null` for others. */
export function ambiguityOf(text: string): string | null {
  return AMBIGUITIES.find(({ when }) => when.test(text))?.say ?? null;
}

/** What to say instead of words that nobody has understood. */
export function nearest(text: string): string {
  return NEAREST.find(({ when }) => when.test(text))?.say ?? HOW_TO_SAY;
}

/** For what is no alert at all. */
const HOW_TO_SAY =
  "Say it like one of these: BTC above 100,000 · ETH down 5 % in 24 h · ETH funding above 0.05 % · whale inflow of USDC over 10M · digest at 07:30 Europe/Berlin.";
