/** Part of the gateway's stand-in for local use: what the simulated model says. */

import { restated } from "./alerts";
import { outlookOf, type Coin, type Scene } from "./market";
import { random } from "./random";
import { researchResult } from "./research";
import { bigUsd, factsIn, focusToken, listed, percent, slot, usd, type ToldFact } from "./words";

const HALF_HOUR = 30 * 60_000;
const DAY = 86_400_000;
/** A move of the recorded hours below this says nothing about direction. */
const FLAT = 0.0008;

type Message = { role: string; content: string };

type Topic = {
  /** The parts of the answer, by which the model recognises the question. */
  parts: readonly string[];
  /** What the user's message with the question contains: a repair turn adds further ones. */
  mark: string;
  tell: (prompt: string, scene: Scene) => unknown;
};

const TOPICS: readonly Topic[] = [
  { parts: ["keyPrices", "trending", "top20"], mark: "", tell: marketSnapshot },
  { parts: ["token", "answer"], mark: "Question:", tell: tokenAnswer },
  { parts: ["summary", "signals"], mark: "", tell: onchainSignals },
  {
    parts: ["fullAnalysis", "shortSummary", "marketOutlook", "impacts"],
    mark: "Evidence:",
    tell: (prompt, { seed, now }) => researchResult(prompt, seed, now()),
  },
  { parts: ["signal", "entry", "tp1", "sl"], mark: "Live price:", tell: tradingSignal },
  { parts: ["line", "ask"], mark: "Words: ", tell: restated },
  { parts: ["review"], mark: "Review of the", tell: signalReview },
  // What a deployment asks to see whether anybody answers.
  {
    parts: ["answer", "reason"],
    mark: "",
    tell: () => ({ answer: "yes", reason: "It wets what it touches." }),
  },
];

/** @param schema The one sent with the prompt; without it, the model keeps to the one in the system's message. */
export function answerTo(
  messages: readonly Message[],
  schema: Record<string, unknown> | undefined,
  scene: Scene,
): string {
  const system = messages.find(({ role }) => role === "system")?.content ?? "";
  const form = system.split("\n").find((line) => /^\{.*"additionalProperties":false\}$/.test(line));
  const asked = schema === undefined ? form : JSON.stringify(schema);
  if (asked === undefined) return chatAnswer(messages, system, scene);
  const topic = TOPICS.find(({ parts }) => parts.every((part) => asked.includes(`"${part}":`)));
  const ofUser = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const prompt = ofUser.find((content) => content.includes(topic?.mark ?? "")) ?? "";
  return JSON.stringify(topic?.tell(prompt, scene) ?? {});
}

function marketSnapshot(_prompt: string, { market }: Scene): unknown {
  const keyPrice = (symbol: string) => {
    const { price, change24h } = market.coin(symbol);
    return { usd: price, usd_24h_change: change24h };
  };
  return {
    keyPrices: { bitcoin: keyPrice("BTC"), ethereum: keyPrice("ETH"), solana: keyPrice("SOL") },
    trending: market.trending(),
    top20: market
      .coins()
      .slice(0, 20)
      .map(({ volume24h: _unasked, ...coin }, index) => ({ rank: index + 1, ...coin })),
  };
}

function tokenAnswer(prompt: string, { market }: Scene): unknown {
  const question = prompt.slice(prompt.indexOf("Question:"));
  const coins = market.coins().map((coin) => asPrompted(coin, prompt));
  const [token, ...others] = mentioned(question, coins);
  if (token === undefined) {
    const answer = "The question names no token that trades on the simulated market. Name one by its symbol.";
    return { token: null, answer };
  }
  const sentences = [
    `${token.name} (${token.symbol}) trades at ${usd(token.price)}, ${percent(token.change24h)} over 24 hours.`,
    `Its market capitalisation is ${bigUsd(token.marketCap)} with ${bigUsd(token.volume24h)} traded in a day.`,
    ...(others.length === 0 ? [] : [`These figures are ${token.name}'s alone.`]),
    ...others.map(({ name, symbol, price }) => `${name} (${symbol}) trades at ${usd(price)}.`),
  ];
  return { token, answer: sentences.join(" ") };
}

/** A coin with the price and sizes from the prompt, as a model would use them. */
function asPrompted(coin: Coin, prompt: string): Coin {
  const read = (pattern: string) =>
    new RegExp(`[ :]${coin.symbol} ${pattern}`).exec(prompt)?.slice(1).map(Number);
  const [price = coin.price, change24h = coin.change24h] =
    read(String.raw`([\d.e-]+) USD \(([+-]?[\d.e-]+) % over`) ?? [];
  const [marketCap = coin.marketCap, volume24h = coin.volume24h] =
    read(
      String.raw`[\d.e-]+ USD \([^)]*rank \d+, market capitalisation ([\d.e+]+) USD, volume over 24 hours ([\d.e+]+)`,
    ) ?? [];
  return { ...coin, price, change24h, marketCap, volume24h };
}

/** Names that are everyday words: they count only in capitals, or after a dollar sign. */
const EVERYDAY = new Set("NEAR LINK DOT TON APT OP UNI SUI SUI RENDER HYPE ICP OPTIMISM PEPE".split(" "));

/** The coins that a text names, by symbol or name, in its order. */
function mentioned(text: string, coins: readonly Coin[]): Coin[] {
  const places = coins.map((coin) => {
    const words = [coin.symbol, coin.name].flatMap((word) =>
      EVERYDAY.has(word.toUpperCase()) ? [word, `\\$${word.toLowerCase()}`] : [word, word.toLowerCase()],
    );
    const found = new RegExp(`(?<![A-Za-z0-9])(?:${words.join("|")})(?![A-Za-z0-9])`).exec(text);
    return { coin, place: found?.index ?? Infinity, length: found?.[0].length ?? 0 };
  });
  return (
    places
      .filter(({ place }) => place !== Infinity)
      .sort((a, b) => a.place - b.place || b.length - a.length)
      // At one place the longer name wins: "Bitcoin Cash" is not Bitcoin.
      .filter(({ place }, index, all) => place !== all[index - 1]?.place)
      .map(({ coin }) => coin)
  );
}

function chatAnswer(messages: readonly Message[], system: string, { market }: Scene): string {
  const asked = (messages.findLast(({ role }) => role === "user")?.content ?? "").replace(/\s+/g, " ").trim();
  const quoted = asked.length > 120 ? `${asked.slice(0, 119)}…` : asked;
  const facts = factsIn(system);
  /** The slot of the fact in the prompt; without one, the model's own words. */
  const figure = (about: string, own: string) => {
    const fact = facts.find((one) => one.about === about && one.value !== null);
    return fact === undefined ? own : slot(fact);
  };
  const priced = ({ name, symbol, price, change24h }: Coin) =>
    `${name} at ${figure(`${symbol} price`, usd(price))} ` +
    `(${figure(`${symbol} price change over 24 hours`, `${percent(change24h)} in 24 hours`)})`;
  const about = mentioned(asked, market.coins())[0];
  const aside =
    about === undefined || about.symbol === "BTC" || about.symbol === "ETH"
      ? ""
      : ` I also see ${priced(about)}.`;
  return (
    `This is the simulated assistant of the local stack. You asked: “${quoted}”. ` +
    `Right now I see ${priced(market.coin("BTC"))} and ${priced(market.coin("ETH"))}.${aside}`
  );
}

const KINDS = { whale_movement: "moved by large holders", unusual_volume: "traded above the usual pace" };

/** On-chain signals that fit the simulated market's moves, the same for half an hour. */
function onchainSignals(prompt: string, { seed, market, now }: Scene): unknown {
  const focus = focusToken(prompt);
  const chance = random(seed, "onchain", Math.floor(now() / HALF_HOUR), focus ?? "");
  const { byChange, outlook, averageChange } = market.mood();
  const busiest = byChange.toSorted((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h)).slice(0, 6);
  const others = chance.shuffled(["BTC", "ETH", ...busiest.map(({ symbol }) => symbol)]);
  const symbols = [...new Set([...(focus === null ? [] : [focus]), ...others])].slice(0, chance.whole(3, 6));
  const signals = symbols.map((token) => {
    const { change24h, volume24h } = market.coin(token);
    const kind = chance.pick(["whale_movement", "unusual_volume"] as const);
    const amountUsd = Math.round(volume24h * chance.between(0.002, 0.02));
    const detail = `${bigUsd(amountUsd)} of ${token} ${KINDS[kind]}; the price is ${percent(change24h)} on the day.`;
    return { token, kind, direction: outlookOf(change24h), detail, amountUsd };
  });
  const summary = `${signals.length} notable flows in the last half hour, led by ${listed(symbols.slice(0, 2))}`;
  return { summary: `${summary}, in a ${outlook} market (${percent(averageChange)} on average).`, signals };
}

/** Follows the recorded hours, around the live price of the prompt: the same signal for the same prompt, all day long. */
function tradingSignal(prompt: string, { seed, market, now }: Scene): unknown {
  const at = now();
  const token = /^Token: (\w+)/m.exec(prompt)?.[1] ?? "BTC";
  const stated = Number(/^Live price: \$([\d.e+-]+)/m.exec(prompt)?.[1]);
  const live = stated > 0 ? stated : market.coin(token).price;
  const chance = random(seed, "signal", token, Math.floor(at / DAY));
  const closes = Array.from(prompt.matchAll(/^\S+Z \$([\d.]+) \(/gm), ([, close]) => Number(close));
  const move = live / (closes[0] ?? market.price(token, at - 6 * 3_600_000)) - 1;
  const confidence = chance.whole(62, 86);
  const entry = cents(live * (1 + chance.between(-0.0006, 0.0006)));
  const moved = `${token} moved ${percent(move * 100)} over the recorded hours to ${usd(live)}.`;
  if (Math.abs(move) < FLAT) {
    const reasoning = `${moved} The simulated analyst sees no edge and stays out.`;
    return { signal: "HOLD", entry, tp1: null, tp2: null, sl: null, confidence, reasoning };
  }
  const side = move > 0 ? 1 : -1;
  const risk = chance.between(0.005, 0.01);
  const level = (factor: number) => cents(live * (1 + side * risk * factor));
  return {
    signal: side === 1 ? "BUY" : "SELL",
    entry,
    tp1: level(chance.between(1, 1.4)),
    tp2: level(chance.between(1.8, 2.4)),
    sl: level(-1),
    confidence,
    reasoning: `${moved} The simulated analyst follows the move and risks ${percent(risk * 100).slice(1)} on it.`,
  };
}

function cents(value: number): number {
  return Math.round(value * 100) / 100;
}

/** A review from the numbered facts in the prompt, with slots for figures as the prompt requires. */
function signalReview(prompt: string): unknown {
  const facts = factsIn(prompt);
  const find = (about: string) => facts.find((fact) => fact.about === `Market ${about}`);
  const [won, lost, expired] = ["signals won", "signals lost", "signals expired"].map(find);
  const total = find("result before costs");
  const [wins, losses] = [won?.value ?? 0, lost?.value ?? 0];
  const shown = (fact: ToldFact | undefined) => (fact === undefined ? "none" : slot(fact));
  const cite = (fact: ToldFact | undefined) => (fact === undefined ? "" : ` [f${fact.id}]`);
  const span = /Review of the (day|week)/.exec(prompt)?.[1] ?? "day";
  const mood = wins === losses ? "An even" : wins > losses ? "A good" : "A hard";
  const opening = `${mood} ${span} on the simulated market`;
  const counts = `The record shows ${shown(won)} won, ${shown(lost)} lost and ${shown(expired)} expired`;
  return {
    review:
      `${opening}${cite(won)}. ${counts}, for a result of ${shown(total)} in all. ` +
      `One period proves little: judge the method by its whole record${cite(total)}.`,
  };
}
