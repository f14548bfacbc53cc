import { trimTrailing } from "../lib/text/strings";
import {
  findToken,
  SYMBOLS,
  type Symbol,
  DOLLARS,
  formatSize,
  SHARES,
  toCanonicalAmount,
  type Size,
} from "../wallets/tokens";

/**
 * Reads trade commands from posts, by code alone. A post is a command only if every word of it belongs to the grammar: posts
 * that talk to a model, quote, ask, doubt or set conditions use words outside it. Pure.
 */

export type TradeCommand = {
  action: "buy" | "sell" | "swap" | "send";
  fromToken: Symbol;
  /** `null` for a send. */
  toToken: Symbol | null;
  /** The amount as it is said, as `wallets/tokens` writes it: of `fromToken`, unless another unit or a part is named. */
  size: string;
  /** As written, 0x and 40 hex digits; `null` for a swap of any kind. */
  recipient: string | null;
};

/** A post's command, or why it has none, with its confidence: a bare command, a command among polite words, anything else. */
export type PostReading = { confidence: number } & (
  | { kind: "command"; command: TradeCommand }
  | { kind: "none"; reason: string }
);
const CERTAIN = { exact: 0.95, polite: 0.85, none: 0.4 } as const;

/** A command has a few words; a longer post is none. */
const MAX_LENGTH = 1_000;

const ACTIONS = new Map<string, TradeCommand["action"]>([
  ["buy", "buy"],
  ["purchase", "buy"],
  ["sell", "sell"],
  ["swap", "swap"],
  ["convert", "swap"],
  ["exchange", "swap"],
  ["trade", "swap"],
  ["send", "send"],
  ["transfer", "send"],
  ["pay", "send"],
]);

const JOINING = new Set(["of", "for", "to", "into", "with", "from", "using", "in"]);

/** Words without a meaning for a trade. */
const COURTESIES = new Set(
  "please pls plz hey hi hello gm thanks thank thx ty some the now worth token tokens".split(" "),
);

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const SHARE = /^(\d{1,3}(?:\.\d{1,2})?)%$/;
const NUMBER = /^(\$?)((?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(\$?)([a-z]*)$/;
const HANDLE = /^@\w{1,30}$/;
/** The network appends its own links to posts with pictures and quotes. */
const OWN_LINK = /^https?:\/\/t\.co\/\w+$/i;
/** Pictograms that express neither a question, nor a refusal, nor a joke. */
const PICTOGRAM = /^(?:[\u{1f64f}\u{1f44d}\u{1f680}\u{1f60a}]\p{Emoji_Modifier}?\ufe0f?)+$/u;

/** Words that mean nothing right after these words; elsewhere they may reverse a sentence. */
const BEHIND = new Map<string, RegExp>([
  ["me", /do:buy$/],
  ["my", /(?:do:(?:sell|swap|send)|share:\d+(?: of| in)?)$/],
]);

/** Reads a post. Without a command, the reason is a sentence for its author. */
export function readCommand(text: string): PostReading {
  if (text.length > MAX_LENGTH)
    return ignore("The post is too long for a trade command: write only the command");
  // NFKC turns a raised, circled or broken number into another one. An ellipsis means that words are missing.
  if (/\p{No}/u.test(text)) return ignore("The post has a number in special characters: write plain digits");
  const plain = text.normalize("NFKC").replace(/(?<=\d)\s+%(?!\S)/g, "%");
  if (plain.includes("..")) return ignore("The post has an ellipsis: write the whole command in one post");
  const tokens: string[] = [];
  let isPolite = false;
  for (const raw of plain.split(/\s+/)) {
    const behind = BEHIND.get(raw.toLowerCase())?.test(tokens.slice(-2).join(" ")) === true;
    const word = behind ? "" : parseWord(raw);
    if (word === null)
      return ignore(
        "The post says more than a plain trade command: write only the command, such as: buy 10 USD of ETH",
      );
    if (word !== "") tokens.push(...word.split(" "));
    else isPolite ||= behind || /[\p{L}\p{S}]/u.test(raw.replace(/^[@#].*|^https?:.*/, ""));
  }
  const verbs = tokens.filter((word) => word.startsWith("do:"));
  if (verbs.length !== 1)
    return ignore("The post does not name exactly one of buy, sell, swap and send: write one command a post");
  if (tokens.filter((word) => /^(?:amount|share):/.test(word)).length !== 1) {
    return ignore("The post does not name exactly one amount: write one, such as: buy 10 USD of ETH");
  }
  const reading = compose(tokens.join(" "));
  return reading.kind === "command" && isPolite ? { ...reading, confidence: CERTAIN.polite } : reading;
}

function ignore(reason: string): PostReading {
  return { kind: "none", confidence: CERTAIN.none, reason };
}

/** A word in the grammar's spelling, `""` for a meaningless word, `null` for a word outside the grammar. */
function parseWord(raw: string): string | null {
  const bare = trimTrailing(raw, ".,!;:");
  if (bare === "" || HANDLE.test(bare) || OWN_LINK.test(bare) || PICTOGRAM.test(bare)) return "";
  if (ADDRESS.test(bare)) return `at:${bare}`;
  const word = bare.toLowerCase();
  if (COURTESIES.has(word)) return "";
  if (JOINING.has(word)) return word;
  const verb = ACTIONS.get(word);
  if (verb !== undefined) return `do:${verb}`;
  const token = findToken(word.replace(/^[$#](?=[a-z])/, ""));
  if (token !== null) return `token:${token}`;
  if (DOLLARS.has(word)) return "token:USD";
  const bps = SHARES.get(word) ?? Math.round(Number(SHARE.exec(word)?.[1] ?? "0") * 100);
  if (bps > 0 && bps <= 10_000) return `share:${bps}`;
  return parseAmount(word);
}

/** `$1,000.50`, `10`, `10usdc`, `10$`: the amount, and its unit if it is part of the word. */
function parseAmount(word: string): string | null {
  const parts = NUMBER.exec(word);
  if (parts === null) return null;
  const [, before = "", number = "", behind = "", suffix = ""] = parts;
  const unit = before + behind === "" ? "" : "USD";
  const unitName = suffix === "" ? "" : DOLLARS.has(suffix) ? "USD" : findToken(suffix);
  if (unitName === null || (unit !== "" && unitName !== "" && unitName !== unit)) return null;
  const amount = toCanonicalAmount(number.replaceAll(",", ""));
  if (amount === null) return null;
  return unit + unitName === "" ? `amount:${amount}` : `amount:${amount} token:${unit || unitName}`;
}

const buildAmountPattern = (units: string) => String.raw`amount:(?<amount>\S+) token:(?<unit>${units})`;
const AMOUNT = buildAmountPattern(String.raw`\w+`);
const USD_AMOUNT = buildAmountPattern("USD");
const STABLE_AMOUNT = buildAmountPattern("USDC|USDT|DAI");
const SHARE_OF = String.raw`share:(?<share>\d+)(?: (?:of|in))?`;
const token = (name: string) => String.raw`token:(?<${name}>${SYMBOLS.join("|")})`;
const PAYING = `(?: (?:with|using|from|for) ${token("from")})?`;

/** The sentences of commands. A token after the amount's unit is the token of the amount. */
const SENTENCES: Record<TradeCommand["action"], readonly RegExp[]> = {
  buy: [
    toPattern(`do:buy ${AMOUNT}(?: (?:of|into) ${token("to")})?${PAYING}`),
    // Without `of`, only dollars and their equivalents are certain to be the price.
    toPattern(`do:buy ${USD_AMOUNT} (?:in )?${token("to")}${PAYING}`),
    toPattern(String.raw`do:buy ${STABLE_AMOUNT} token:(?<to>ETH|WETH|CBBTC)${PAYING}`),
    toPattern(`do:buy ${token("to")} (?:with|using|for) ${AMOUNT}(?: (?:of |in )?${token("from")})?`),
    toPattern(`do:buy ${token("to")} (?:with|using|for) ${SHARE_OF} ${token("from")}`),
  ],
  sell: [
    toPattern(`do:sell ${AMOUNT}(?: (?:of )?${token("from")})?(?: (?:for|to|into) ${token("to")})?`),
    toPattern(`do:sell ${SHARE_OF} ${token("from")}(?: (?:for|to|into) ${token("to")})?`),
  ],
  swap: [
    toPattern(`do:swap ${AMOUNT}(?: (?:of |from )?${token("from")})?(?: (?:to|for|into))? ${token("to")}`),
    toPattern(`do:swap ${SHARE_OF} ${token("from")} (?:to|for|into) ${token("to")}`),
  ],
  send: [
    toPattern(`do:send ${AMOUNT}(?: (?:of |in )?${token("from")})?(?: to)? at:(?<at>\\S+)`),
    toPattern(`do:send ${SHARE_OF} ${token("from")} to at:(?<at>\\S+)`),
    toPattern(`do:send at:(?<at>\\S+) ${AMOUNT}(?: (?:of |in )?${token("from")})?`),
  ],
};

function toPattern(pattern: string): RegExp {
  return new RegExp(`^${pattern}$`);
}

function compose(words: string): PostReading {
  for (const [action, sentences] of Object.entries(SENTENCES)) {
    for (const pattern of sentences) {
      const found = pattern.exec(words)?.groups;
      if (found !== undefined && isAction(action)) return buildCommand(action, found);
    }
  }
  return ignore("The post does not read as a trade command, such as: buy 10 USD of ETH");
}

function isAction(word: string): word is TradeCommand["action"] {
  return Object.hasOwn(SENTENCES, word);
}

function buildCommand(
  action: TradeCommand["action"],
  found: Record<string, string | undefined>,
): PostReading {
  const size = parseSize(found);
  if (size === null)
    return ignore("The post does not say which token the amount is in: write it behind the number");
  const coin = size.kind === "share" || size.unit === "USD" ? null : size.unit;
  const [from, to] = [parseToken(found.from), parseToken(found.to)];
  const sides = chooseSides(action, coin, from, to);
  if (sides === null) return ignore("The post does not say which token to give and which to get: name both");
  // An amount is of the given or of the bought token; any other would need a second price.
  const sound = coin === null || coin === sides.fromToken || (action === "buy" && coin === sides.toToken);
  if (!sound || sides.fromToken === sides.toToken) {
    return ignore(
      "The post's tokens and amount do not fit together: give the amount in one of the two tokens, or in USD",
    );
  }
  const command = { action, ...sides, size: formatSize(size, sides.fromToken), recipient: found.at ?? null };
  return { kind: "command", confidence: CERTAIN.exact, command };
}

/** Buying pays with USDC and selling yields USDC, unless the post says otherwise. */
function chooseSides(
  action: TradeCommand["action"],
  coin: Symbol | null,
  from: Symbol | null,
  to: Symbol | null,
): Pick<TradeCommand, "fromToken" | "toToken"> | null {
  if (action === "buy" && to === null)
    return coin === null ? null : { fromToken: from ?? "USDC", toToken: coin };
  if (action === "buy") return { fromToken: from ?? coin ?? "USDC", toToken: to };
  const given = from ?? coin;
  if (given === null || (action === "swap" && to === null)) return null;
  return { fromToken: given, toToken: action === "sell" ? (to ?? "USDC") : to };
}

function parseSize({ share, amount = "", unit: name }: Record<string, string | undefined>): Size | null {
  if (share !== undefined) return { kind: "share", bps: Number(share) };
  const unit = name === "USD" ? "USD" : parseToken(name);
  return unit === null ? null : { kind: "worth", amount, unit };
}

function parseToken(text: string | undefined): Symbol | null {
  return text === undefined ? null : findToken(text);
}
