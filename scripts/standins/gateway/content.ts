/** Part of the gateway's stand-in for local use: the simulated model's answer to a prompt. */

import { restated } from "./alerts";
import { conforming, isRecord } from "./values";
import { factsIn } from "./facts";
import { formIn } from "./form";
import { signalReview, tradingSignal } from "./signals";
import type { Coin, Market } from "../sources/market";
import { onchainSignals } from "./onchain";
import { random } from "../random";
import { researchResult } from "./research";
import { bigUsd, percent, usd } from "./words";

export type Prompted = {
  messages: { role: string; content: string }[];
  /** Whether JSON was requested. */
  json: boolean;
  /** The schema that was sent with the prompt. */
  schema?: Record<string, unknown>;
};

/** The moment and the market of an answer. */
export type Scene = { seed: string; market: Market; at: number };

/** The model's answer: prose, or a value in the form that schema or prompt require. */
export function answerTo(prompted: Prompted, scene: Scene): { prose: string } | { value: unknown } {
  const schema = prompted.schema ?? formIn(prompted.messages.map(({ content }) => content));
  if (schema !== undefined) return { value: conforming(knowledge(schema, prompted, scene), schema) };
  const prose = chatAnswer(prompted, scene);
  return prompted.json ? { value: { answer: prose } } : { prose };
}

type Topic = { about: readonly string[]; tell: (prompted: Prompted, scene: Scene) => unknown };

/** The topics of the model: it recognises a question by the requested parts. */
const TOPICS: readonly Topic[] = [
  { about: ["keyPrices", "trending", "top20"], tell: marketSnapshot },
  { about: ["token", "answer"], tell: (asked, scene) => tokenAnswer(userMessage(asked, "Question:"), scene) },
  {
    about: ["summary", "signals"],
    tell: (asked, scene) => onchainSignals(userMessage(asked, "Focus token:"), scene),
  },
  {
    about: ["fullAnalysis", "shortSummary", "marketOutlook", "impacts"],
    tell: (asked, scene) => researchResult(userMessage(asked, "Evidence:"), scene),
  },
  {
    about: ["signal", "entry", "tp1", "sl"],
    tell: (asked, scene) => tradingSignal(userMessage(asked, "Live price:"), scene),
  },
  {
    about: ["line", "ask"],
    tell: (asked) => restated(userMessage(asked, "Words: ")),
  },
  { about: ["review"], tell: (asked, scene) => signalReview(userMessage(asked, "Review of the"), scene) },
];

function knowledge(schema: Record<string, unknown>, prompted: Prompted, scene: Scene): unknown {
  const asked = isRecord(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  const known = TOPICS.find(({ about }) => about.every((name) => asked.includes(name)));
  return known?.tell(prompted, scene);
}

/** The first user message with the marker (a repair turn adds further ones), otherwise the first of all. */
function userMessage({ messages }: Prompted, marker: string): string {
  const fromUser = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  return fromUser.find((content) => content.includes(marker)) ?? fromUser[0] ?? "";
}

function marketSnapshot(prompted: Prompted, { market, at }: Scene): unknown {
  const coins = market.coins(at);
  const keyPrice = (symbol: string) => {
    const { price, change24h } = market.coin(symbol, at);
    return { usd: price, usd_24h_change: change24h };
  };
  const snapshot = {
    keyPrices: { bitcoin: keyPrice("BTC"), ethereum: keyPrice("ETH"), solana: keyPrice("SOL") },
    trending: market.trending(at),
    top20: coins.slice(0, 20).map(({ name, symbol, price, change24h, marketCap }, index) => ({
      rank: index + 1,
      name,
      symbol,
      price,
      change24h,
      marketCap,
    })),
  };
  const named = /\bthe token \$?([A-Za-z0-9][A-Za-z0-9.$-]{0,23})/.exec(
    userMessage(prompted, "the token "),
  )?.[1];
  return { ...snapshot, focus: named === undefined ? null : market.coin(named.replace(/\.+$/, ""), at) };
}

function tokenAnswer(prompt: string, { market, at }: Scene): unknown {
  const question = prompt.slice(prompt.indexOf("Question:") + "Question:".length);
  const coins = market.coins(at).map((coin) => asPrompted(coin, prompt));
  const [token, ...others] = mentioned(question, coins);
  if (token === undefined) {
    return {
      token: null,
      answer: "The question names no token that trades on the simulated market. Name one by its symbol.",
    };
  }
  const { outlook, averageChange } = market.mood(at);
  const against = token.change24h >= averageChange ? "ahead of" : "behind";
  return {
    token,
    answer:
      `${token.name} (${token.symbol}) trades at ${usd(token.price)}, ${percent(token.change24h)} over 24 hours. ` +
      `Its market capitalisation is ${bigUsd(token.marketCap)} with ${bigUsd(token.volume24h)} traded in a day. ` +
      `That is ${against} the ${outlook} market average.` +
      (others.length === 0
        ? ""
        : ` The figures are ${token.name}'s alone; of the others you name, ` +
          `${others.map(({ name, symbol, price }) => `${name} (${symbol}) trades at ${usd(price)}`).join(", ")}.`),
  };
}

/** A coin with the price and sizes from the prompt, as a model would use them. */
function asPrompted(coin: Coin, prompt: string): Coin {
  const [, price, change24h] =
    new RegExp(`[ :]${escaped(coin.symbol)} ([\\d.e-]+) USD \\(([+-]?[\\d.e-]+) % over`).exec(prompt) ?? [];
  const [, marketCap, volume24h] =
    new RegExp(
      `[ :]${escaped(coin.symbol)} rank \\d+, market capitalisation ([\\d.e+]+) USD, volume over 24 hours ([\\d.e+]+)`,
    ).exec(prompt) ?? [];
  return {
    ...coin,
    ...(price === undefined ? {} : { price: Number(price), change24h: Number(change24h) }),
    ...(marketCap === undefined ? {} : { marketCap: Number(marketCap), volume24h: Number(volume24h) }),
  };
}

/** Symbols that are everyday words: they count only in capitals or after a dollar sign. */
const EVERYDAY = new Set(["NEAR", "LINK", "DOT", "TON", "APT", "OP", "UNI", "SUI", "RENDER", "HYPE", "ICP"]);

/** The coins that a text names, by symbol or name, in its order. */
function mentioned(text: string, coins: readonly Coin[]): Coin[] {
  const places = coins.map((coin) => {
    const symbols = EVERYDAY.has(coin.symbol)
      ? [coin.symbol, `\\$${coin.symbol.toLowerCase()}`]
      : [coin.symbol, coin.symbol.toLowerCase()];
    const name = escaped(coin.name);
    const names = EVERYDAY.has(coin.name.toUpperCase()) ? [name] : [name, name.toLowerCase()];
    const found = new RegExp(`(?<![A-Za-z0-9])(?:${[...symbols, ...names].join("|")})(?![A-Za-z0-9])`).exec(
      text,
    );
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

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

const CHAT_OPENINGS = [
  "I am a simulated assistant for local use, so take this as a rehearsal.",
  "This is the simulated assistant of the local stack.",
  "Speaking as a simulated assistant, not a real analyst:",
];

function chatAnswer({ messages }: Prompted, { seed, market, at }: Scene): string {
  const asked = (messages.findLast(({ role }) => role === "user")?.content ?? "").replace(/\s+/g, " ").trim();
  const quoted = asked.length > 120 ? `${asked.slice(0, 119)}…` : asked;
  const facts = factsIn(messages.find(({ role }) => role === "system")?.content ?? "");
  /** The slot of the fact in the prompt; without one, the model's own words. */
  const slot = (about: string, write: (value: number) => string, own: number) => {
    const fact = facts.find((one) => one.about === about && one.value !== null);
    return fact === undefined ? write(own) : `{f${fact.id}}`;
  };
  const priced = ({ name, symbol, price, change24h }: Coin) =>
    `${name} at ${slot(`${symbol} price`, usd, price)} ` +
    `(${slot(`${symbol} price change over 24 hours`, (value) => `${percent(value)} in 24 hours`, change24h)})`;
  const [bitcoin, ethereum] = [market.coin("BTC", at), market.coin("ETH", at)];
  const about = mentioned(asked, market.coins(at))[0] ?? null;
  const aside =
    about === null || about.symbol === "BTC" || about.symbol === "ETH" ? "" : ` I also see ${priced(about)}.`;
  return (
    `${random(seed, "chat", asked).pick(CHAT_OPENINGS)} You asked: “${quoted}”. ` +
    `Right now I see ${priced(bitcoin)} and ${priced(ethereum)}.${aside}`
  );
}
