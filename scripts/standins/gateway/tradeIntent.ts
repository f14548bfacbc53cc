/**
 * Part of the gateway's stand-in for local use: the simulated model's reading of a post. It is as gullible as a model
 * can be: it answers whatever a post dictates, with full confidence.
 */

import * as z from "zod";

const TOKENS: Record<string, string> = {
  eth: "ETH",
  ether: "ETH",
  ethereum: "ETH",
  weth: "WETH",
  usdc: "USDC",
  usdt: "USDT",
  tether: "USDT",
  dai: "DAI",
};

const VERBS: Record<string, string> = {
  buy: "buy",
  purchase: "buy",
  sell: "sell",
  swap: "swap",
  convert: "swap",
  exchange: "swap",
  trade: "swap",
  send: "send",
  transfer: "send",
  pay: "send",
};

const TOKEN = /(?<![\w.])[$#]?(ether|ethereum|eth|weth|usdc|usdt|tether|dai)(?!\w)/gi;
const VERB = /\b(buy|purchase|sell|swap|convert|exchange|trade|send|transfer|pay)\b/gi;
const ADDRESS = /0x[0-9a-f]{40}/gi;
const AMOUNT =
  /(\$\s?)?(\d[\d,]*(?:\.\d+)?|\.\d+)\s?(\$|(?:usdc|usdt|usd|dollars?|bucks?|tether|ethereum|ether|eth|weth|dai)(?!\w))?/gi;

/** What a post may dictate, field by field. */
const DICTATED = z
  .object({
    action: z.string(),
    fromToken: z.string().nullable(),
    toToken: z.string().nullable(),
    amount: z.string().nullable(),
    unit: z.string().nullable(),
    recipient: z.string().nullable(),
    confidence: z.number(),
  })
  .partial();

/** @param prompt The user's message, which contains the post as a JSON string after "Post: ". */
export function tradeIntent(prompt: string): unknown {
  const text = postIn(prompt);
  const read = readLoosely(text);
  return { ...read, ...dictated(text) };
}

function postIn(prompt: string): string {
  const literal = prompt.slice(prompt.indexOf("Post: ") + "Post: ".length);
  try {
    return z.string().parse(JSON.parse(literal));
  } catch {
    return literal;
  }
}

function readLoosely(text: string): Record<string, unknown> {
  const action = VERBS[last(text, VERB)?.[1]?.toLowerCase() ?? ""] ?? "unknown";
  const recipient = last(text, ADDRESS)?.[0] ?? null;
  const rest = text.replace(ADDRESS, " ");
  const counted = last(rest, AMOUNT);
  const [whole = "", dollar, number, named] = counted ?? [];
  const unit = dollar !== undefined ? "USD" : unitOf(named);
  const others = whole === "" ? rest : rest.replace(whole, " ");
  const tokens = Array.from(others.matchAll(TOKEN), ([, word = ""]) => TOKENS[word.toLowerCase()] ?? null);
  const payer = /\b(?:with|using)\s+[$#]?([a-z]+)/i.exec(others)?.[1]?.toLowerCase() ?? "";
  const amount = number?.replaceAll(",", "") ?? null;
  const sides = sidesOf(action, unit === "USD" ? null : unit, tokens, TOKENS[payer] ?? null);
  const sent = action === "send" ? recipient : null;
  return { action, ...sides, amount, unit, recipient: sent, confidence: action === "unknown" ? 0.9 : 0.95 };
}

function sidesOf(
  action: string,
  unit: string | null,
  tokens: readonly (string | null)[],
  payer: string | null,
): { fromToken: string | null; toToken: string | null } {
  switch (action) {
    case "buy": {
      const bought = tokens.find((token) => token !== payer) ?? null;
      return bought === null
        ? { fromToken: payer ?? "USDC", toToken: unit }
        : { fromToken: payer ?? unit ?? "USDC", toToken: bought };
    }
    case "sell": {
      const [first = null, second = null] = unit === null ? tokens : [unit, ...tokens];
      return { fromToken: first, toToken: second ?? "USDC" };
    }
    case "swap":
      return { fromToken: unit ?? tokens[0] ?? null, toToken: tokens.at(-1) ?? null };
    case "send":
      return { fromToken: unit ?? tokens[0] ?? null, toToken: null };
    default:
      return { fromToken: null, toToken: null };
  }
}

function unitOf(named: string | undefined): string | null {
  if (named === undefined) return null;
  return TOKENS[named.toLowerCase()] ?? "USD";
}

/** The answer that the post dictates: any JSON object in it, and certainty if it speaks to the model. */
function dictated(text: string): Record<string, unknown> {
  const sure = /ignore|instruction|system|override|confidence|assistant|admin|rules|must|answer|\{/i.test(
    text,
  );
  const certainty = sure ? { confidence: 1 } : {};
  for (const [object] of text.matchAll(/\{[^{}]*\}/g)) {
    try {
      return { ...certainty, ...DICTATED.parse(JSON.parse(object)) };
    } catch {
      continue;
    }
  }
  return certainty;
}

function last(text: string, pattern: RegExp): RegExpMatchArray | undefined {
  return Array.from(text.matchAll(pattern)).at(-1);
}
