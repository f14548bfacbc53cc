/**
 * Part of the stand-ins for local use: the texts of the simulated models. A writer answers in the requested shape, by
 * the usual names of fields and by their descriptions, from the numbered facts in the prompt and from the simulated
 * market. It does not know its caller.
 */

import * as z from "zod";
import { parseJson } from "../json";
import { getOutlook, type Coin, type Scene } from "./market";
import { random, type Random } from "./random";

type Message = { role: string; content: string };

/** A task as the writer has understood it. */
type Task = {
  /** The question, without the data of its prompt. */
  question: string;
  facts: Fact[];
  coins: Coin[];
  /** The coins that the question names, in its order. */
  named: Coin[];
  /** The default subject: the first named coin, else Bitcoin. */
  topic: Coin;
  scene: Scene;
  /** The same for half an hour. */
  chance: Random;
};

/** Where in the answer a value stands. */
type Place = { field: string; coin: Coin | null; rank: number };

const schemaShape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).default([]),
  description: z.string().default(""),
  properties: z.record(z.string(), z.unknown()).default({}),
  items: z.unknown().optional(),
  enum: z.array(z.string()).optional(),
  anyOf: z.array(z.unknown()).optional(),
});

const HALF_HOUR = 30 * 60_000;

/** @param given The schema sent with the prompt; without it, the writer keeps to one in the system's message. */
export function answerTo(messages: readonly Message[], given: unknown, scene: Scene): string {
  const system = messages.find(({ role }) => role === "system")?.content ?? "";
  const form = system.split("\n").find((line) => /^\{"type":"object".*\}$/.test(line));
  const schema = given ?? (form === undefined ? undefined : parseJson(form));
  const ofUser = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  // In a structured conversation, corrections follow the task.
  const prompt = (schema === undefined ? ofUser.at(-1) : ofUser[0]) ?? "";
  const task = parseTask(prompt, `${system}\n${prompt}`, scene);
  if (schema === undefined) return prose(task);
  return JSON.stringify(buildValue(schema, { field: "", coin: null, rank: 1 }, task));
}

function parseTask(prompt: string, whole: string, scene: Scene): Task {
  const { seed, now, market } = scene;
  const parseGiven = (coin: Coin): Coin => {
    const [, price = coin.price, change = coin.change24h] =
      new RegExp(
        `(?:^Live price: \\$|[ :]${coin.symbol} )([\\d.e-]+) (?:USD \\(([+-]?[\\d.e-]+) %|USD|\\()`,
        "m",
      ).exec(prompt) ?? [];
    return { ...coin, price: Number(price), change24h: Number(change) };
  };
  const focus = /(?:Focus t|^T)oken: *\$?([A-Za-z0-9][A-Za-z0-9$-]*)/m.exec(prompt)?.[1];
  const coins = market.coins();
  // Without a mark, the first paragraph is the question; data follow.
  const question = /Question: ([^]*)/.exec(prompt)?.[1] ?? prompt.split("\n\n")[0] ?? "";
  const about = focus === undefined ? findCoins(question, coins) : [market.coin(focus)];
  const givens = about.map(parseGiven);
  const topic = givens[0] ?? parseGiven(market.coin("BTC"));
  const chance = random(seed, "writer", topic.symbol, Math.floor(now() / HALF_HOUR));
  return { question, facts: parseFacts(whole), coins, named: givens, topic, scene, chance };
}

/** English words, which name a coin only in capitals. */
const EVERYDAY = new Set("NEAR LINK DOT TON APT OP HYPE RENDER".split(" "));

/** The coins that a text names, in its order. At one place the longer name wins: "Bitcoin Cash" is not Bitcoin. */
function findCoins(text: string, coins: readonly Coin[]): Coin[] {
  const places = coins.map((coin) => {
    const forms = EVERYDAY.has(coin.symbol) ? coin.symbol : `${coin.symbol}|${coin.name}`;
    const flags = EVERYDAY.has(coin.symbol) ? "" : "i";
    const found = new RegExp(`(?<![A-Za-z0-9])(?:${forms})(?![A-Za-z0-9])`, flags).exec(text);
    return { coin, at: found?.index ?? Infinity, length: found?.[0].length ?? 0 };
  });
  return places
    .filter(({ at }) => at !== Infinity)
    .sort((a, b) => a.at - b.at || b.length - a.length)
    .filter(({ at }, index, all) => at !== all[index - 1]?.at)
    .map(({ coin }) => coin);
}

type Fact = {
  /** Its slot: the place that its figure or its words take. */
  slot: string;
  /** `BTC price` */
  about: string;
  isFigure: boolean;
  isModels: boolean;
};

/** The numbered facts of a prompt, as a model has to cite them: lines, and rows of tables, below their source. */
function parseFacts(prompt: string): Fact[] {
  let isModels = false;
  let kinds: string[] = [];
  return prompt.split("\n").flatMap((line): Fact[] => {
    const [first = "", ...cells] = line.split(" | ");
    if (line.startsWith("# ")) isModels = line.includes("language model");
    if (first === "subject") kinds = cells;
    const [, id, about = ""] = /^f(\d+) (.+?)(?:: .*)?$/.exec(line) ?? [];
    if (id !== undefined) return [{ slot: `{f${id}}`, about, isFigure: false, isModels }];
    return cells.flatMap((cell, at) => {
      const [, number] = /^f(\d+) /.exec(cell) ?? [];
      const about = `${first} ${kinds[at]?.replace("24 hours", "the day") ?? ""}`;
      return number === undefined ? [] : [{ slot: `{f${number}}`, about, isFigure: true, isModels }];
    });
  });
}

/** A part of a schema: its type, and whether it may be `null`. */
function getSchemaPart(node: unknown) {
  const schema = schemaShape.parse(node);
  const inner = schema.anyOf === undefined ? schema : schemaShape.parse(schema.anyOf[0]);
  const [type = "", ...others] = [inner.type].flat();
  const isOptional = schema.anyOf !== undefined || others.includes("null");
  return { ...inner, type, isOptional, description: inner.description || schema.description };
}

function buildValue(node: unknown, place: Place, task: Task): unknown {
  const part = getSchemaPart(node);
  const { type, description, properties, items, enum: words } = part;
  if (part.isOptional && isLeftOut(part, place, task)) return null;
  if (words !== undefined) return chooseWord(words, place, task);
  if (type === "array")
    return coinsFor(description, task).map((coin, index) =>
      buildValue(items, { ...place, coin, rank: index + 1 }, task),
    );
  if (type === "object")
    return Object.fromEntries(
      Object.entries(properties).map(([field, inner]) => {
        const coinOfField = task.coins.find(({ name }) => name.toLowerCase() === field);
        const coin = coinOfField ?? place.coin ?? (place.field === "" ? null : task.topic);
        return [field, buildValue(inner, { ...place, field, coin }, task)];
      }),
    );
  if (type === "number" || type === "integer") return chooseNumber(description, place, task);
  return place.field === "line" ? findWish(task) : chooseText(description, place, task);
}

/** Whether an optional value is left out, for lack of data in the question. */
function isLeftOut(
  { type, description }: ReturnType<typeof getSchemaPart>,
  { field }: Place,
  task: Task,
): boolean {
  if (type === "object") return task.named.length === 0;
  if (type === "string") return field !== "line";
  const [, word] = /null for (\w+)/.exec(description) ?? [];
  return word !== undefined && word === buildTrade(task);
}

/** A wish in English for an alert on a price, in one line; `null` for any other. */
function findWish({ question: prompt, named }: Task): string | null {
  const [, digits, thousands] = /\$?(\d[\d,]*(?:\.\d+)?)(k\b)?/i.exec(prompt) ?? [];
  const [side] = /below|under|drops|falls|above|over|rises|hits|reaches/i.exec(prompt) ?? [];
  if (named[0] === undefined || digits === undefined || side === undefined) return null;
  const level = Number(digits.replaceAll(",", "")) * (thousands === undefined ? 1 : 1_000);
  return `${named[0].symbol} ${/[bufd]/i.test(side.charAt(0)) ? "below" : "above"} ${level}`;
}

/** A day's move below this, in percent, says nothing about direction. */
const FLAT = 0.3;

function chooseSide({ topic }: Task): 1 | -1 | 0 {
  if (Math.abs(topic.change24h) < FLAT) return 0;
  return topic.change24h > 0 ? 1 : -1;
}

const buildTrade = (task: Task): string => ["HOLD", "BUY", "SELL"].at(chooseSide(task)) ?? "";

function chooseWord(words: readonly string[], { coin }: Place, task: Task): string {
  const apt = words.find(
    (word) => word === buildTrade(task) || word === getOutlook((coin ?? task.topic).change24h),
  );
  return apt ?? task.chance.pick(words);
}

/** The coins of a list: the question's, then the most searched, the largest or the moving ones. */
function coinsFor(description: string, { scene, facts, named, chance }: Task): Coin[] {
  const { market } = scene;
  const [, least, , most] = /(\d+|ten)( to (\d+))?/.exec(description.replace("ten", "10")) ?? [];
  const isUpTo = description.includes("at most");
  const count =
    most === undefined && !isUpTo
      ? Number(least ?? 3)
      : chance.whole(isUpTo ? 3 : Number(least), Math.min(6, Number(most ?? least)));
  const listSearched = () => market.trending().map(({ symbol }) => market.coin(symbol));
  if (description.includes("largest")) return market.coins().slice(0, count);
  if (description.includes("searched")) return listSearched().slice(0, count);
  const majors = ["BTC", "ETH"].map((symbol) => market.coin(symbol));
  const all = [...named, ...majors, ...chance.shuffled([...listSearched(), ...market.movers()])];
  const isKnown = ({ symbol }: Coin) => facts.some(({ about }) => about.startsWith(`${symbol} `));
  const chosen = new Map(all.filter(isKnown).map((coin) => [coin.symbol, coin]));
  const usual = new Map(all.map((coin) => [coin.symbol, coin]));
  return [...(chosen.size === 0 ? usual : chosen).values()].slice(0, count);
}

function chooseNumber(description: string, { field, coin: given, rank }: Place, task: Task): number {
  const { topic, chance } = task;
  const coin = given ?? topic;
  if (field === "rank") return rank;
  if (/change/i.test(field)) return coin.change24h;
  if (/cap/i.test(field)) return coin.marketCap;
  if (/volume/i.test(field)) return coin.volume24h;
  if (/amount/i.test(field)) return Math.round(coin.volume24h * chance.between(0.002, 0.02));
  const [, from, to] = /(\d+)(?: \(.*?\))?,? to (\d+)/.exec(description) ?? [];
  if (from !== undefined && to !== undefined) {
    const score = Number(from) + (Number(to) - Number(from)) * chance.between(0.64, 0.86);
    return Number(to) > 1 ? Math.round(score) : Number(score.toFixed(2));
  }
  const level = { tp1: 0.9, tp2: 1.6, sl: -0.7 }[field] ?? 0;
  const price = coin.price * (1 + (chooseSide(task) * level) / 100);
  return price < 1 ? price : Math.round(price * 100) / 100;
}

function chooseText(description: string, { field, coin }: Place, task: Task): string {
  const about = coin ?? task.topic;
  if (["symbol", "token"].includes(field)) return about.symbol;
  if (field === "name") return about.name;
  if (field === "title") return `${about.name} (${about.symbol})`;
  const outlook = getOutlook(about.change24h);
  const [, least] = /(\d+) to \d+ words/.exec(description) ?? [];
  if (least !== undefined) return essay(Number(least) + 5, task);
  const [, mark] = new RegExp(`(\\S+) for ${outlook}`).exec(description) ?? [];
  if (mark !== undefined) return `${mark} ${sentenceOn(about, task, 1) || `${about.name} has no figure.`}`;
  const coins = coin === null && task.named.length > 0 ? task.named : [about];
  // Facts about no particular coin, for a question without one.
  const record = coin === null ? listFigures(task).filter(({ about }) => about.startsWith("Market ")) : [];
  const said = [...coins.map((one) => sentenceOn(one, task)), buildList(record.slice(0, 3))];
  return [...said.filter((one) => one !== ""), `The simulated analyst is ${outlook}.`].slice(0, 4).join(" ");
}

/** The first figures of a coin by the facts; by the market only where the prompt has no facts. */
function sentenceOn({ symbol, name, price, change24h }: Coin, task: Task, most = 2): string {
  if (task.facts.length === 0)
    return `${name} (${symbol}) trades at ${formatDollars(price)}, ${change24h < 0 ? "" : "+"}${change24h.toFixed(2)} % over 24 hours.`;
  const ownFigures = listFigures(task).filter(({ about }) => about.startsWith(`${symbol} `));
  return buildList(ownFigures.slice(0, most));
}

/** Figures that the service measured, under names without digits of their own. */
const listFigures = ({ facts }: Task): Fact[] =>
  facts.filter(({ isFigure, isModels, about }) => isFigure && !isModels && !/\d/.test(about));

const buildList = (facts: readonly Fact[]): string =>
  facts.length === 0 ? "" : `${facts.map(({ about, slot }) => `${about} ${slot}`).join(", ")}.`;

/** A text of this many words besides its quotations: the facts, and remarks that are true of any market. */
function essay(words: number, task: Task): string {
  const { facts, topic, chance } = task;
  const isOn = ({ about }: Fact) => about.startsWith(`${topic.symbol} `);
  const figures = listFigures(task).toSorted((a, b) => Number(isOn(b)) - Number(isOn(a)));
  const quoted = facts.filter(({ isFigure }) => !isFigure);
  const quotes = [...quoted.filter(({ isModels }) => !isModels).slice(0, 2), ...quoted.slice(-2)];
  const details = [
    ...[0, 3, 6, 9, 12, 15].map((from) => buildList(figures.slice(from, from + 3))),
    ...[...new Set(quotes)].map(({ slot, isModels }) => `${isModels ? "Models say" : "On record"}: ${slot}.`),
  ].filter((one) => one !== "");
  const sentences = [`The market is ${getOutlook(topic.change24h)} on ${topic.name} (${topic.symbol}).`];
  const count = () => sentences.join(" ").split(" ").length;
  const remarks = chance.shuffled(REMARKS);
  while (details.length > 0 || (count() < words && remarks.length > 0))
    sentences.push(...details.splice(0, 1), ...(count() < words ? remarks.splice(0, 1) : []));
  const paragraphs = [0, 8, 16, 24].map((from) => sentences.slice(from, from + 8).join(" "));
  return paragraphs.filter((one) => one !== "").join("\n\n");
}

const REMARKS = [
  "The majors still absorb most of the day's turnover, so that their direction sets the tone for everything further out on the risk curve.",
  "Breadth of this kind has tended to persist for several hours before it turns, which argues for patience with positions that already work.",
  "Stablecoin prices hold their peg closely, so that the funding side of the market shows no sign of stress.",
  "Macroeconomic releases remain the obvious outside risk, and a surprise in rates or the dollar would overrule every signal discussed here.",
  "Intraday swings in the majors remain modest by historical standards, and short-dated volatility has little reason to reprice from here alone.",
  "Depth near the price is what large orders meet first, and a thin book turns an ordinary order into a headline.",
  "Smaller capitalisations react with a wider amplitude than Bitcoin, and their moves should be sized with that leverage in mind.",
  "Exchange balances deserve attention over the next sessions, because transfers ahead of a move tend to cluster and seldom come alone.",
  "Leverage is the quieter risk: crowded positions unwind quickly, and a cascade of liquidations rarely stops at a tidy technical level.",
  "Order books around the current price look balanced, which leaves the next impulse to flows rather than to positioning already in place.",
  "Rotation between sectors continues under the surface, with capital leaving yesterday's winners rather than the market as a whole.",
  "Narratives spread faster than fundamentals change, and the desk discounts any story that has not yet appeared in volume.",
  "Position sizes should reflect the possibility that correlations rise towards one exactly when diversification is needed the most.",
  "Time of day matters as well: liquidity thins between the American close and the Asian open, when moves tend to overshoot.",
  "A narrow advance is fragile, and the number of coins that take part says more than the size of the largest gain.",
  "Where mood and flows disagree, the desk gives flows more weight, since they commit capital while opinions commit nothing.",
  "Nothing here is certain, and a plan that survives being wrong is worth more than a forecast that happens to be right.",
  "What moves the majors first tends to reach the rest within the session, and the order in which coins follow is worth watching.",
  "Liquidity is deepest where everybody looks, and the desk trusts a move less the further it happens from there.",
];

/** An answer without a shape. */
function prose(task: Task): string {
  const question = task.question.replace(/\s+/g, " ").trim();
  const quoted = question.length > 120 ? `${question.slice(0, 119)}…` : question;
  const majors = ["BTC", "ETH"].map((symbol) => task.scene.market.coin(symbol));
  const coins = task.named.length === 0 ? majors : task.named;
  const said = coins.map((coin) => sentenceOn(coin, task)).filter((one) => one !== "");
  return [
    `This is the simulated assistant of the local stack. You asked: “${quoted}”.`,
    ...(said.length === 0 ? ["No source tells a figure of that."] : said),
  ].join(" ");
}

/** `$104,512`, `$2.31`, `$0.0000057`. */
export function formatDollars(value: number): string {
  if (value < 1) return `$${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
  const decimals = value >= 1_000 ? 0 : 2;
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
}
