import type { MutationCtx } from "../../_generated/server";
import { checksummed } from "../../lib/money/addresses";
import { recipientProblem } from "../../wallets/recipients";
import { SYMBOLS, TOKENS, type Symbol } from "../../wallets/tokens";
import { notice } from "../cards";
import type { Order } from "../tables";
import { tokenIn } from "./grammar";
import { reply, type Command, type Outcome, type Request } from "./command";

/** Orders in the owner's own words: what they say is read by a grammar and by nothing else, and shown on a card. */

const AMOUNT = String.raw`(\d{1,12}(?:\.\d{1,18})?)`;
const TOKEN = String.raw`\$?([A-Za-z]{3,4})`;
const END = String.raw`\s*[.!]?$`;
const pattern = (source: string) => new RegExp(`^(?:please\\s+)?${source}${END}`, "i");

/** By which groups hold the amount, what pays it, and what is bought or who gets it. */
const SWAPS = [
  pattern(
    String.raw`(?:(?:swap|exchange|convert|trade)\s+)?${AMOUNT}\s*${TOKEN}\s+(?:(?:to|for|into)\s+)?${TOKEN}`,
  ),
  pattern(String.raw`sell\s+${AMOUNT}\s*${TOKEN}\s+(?:to|for|into)\s+${TOKEN}`),
];
const BUY = pattern(String.raw`buy\s+${TOKEN}\s+(?:with|for)\s+${AMOUNT}\s*${TOKEN}`);
const SEND = pattern(
  String.raw`(?:(?:send|transfer|pay)\s+)?${AMOUNT}\s*${TOKEN}\s+(?:to\s+)?(0x[0-9a-f]{40})`,
);
/** Words that begin an order; without one of them a message is a question, whatever it looks like. */
const VERB = /^(?:please\s+)?(?:swap|exchange|convert|trade|sell|buy|send|transfer|pay)\s/i;

/** What a text orders; `null` where it orders nothing that could be carried out. Pure. */
export function orderIn(text: string): Order | null {
  const words = text.replaceAll("\u2060", "").trim();
  const sent = SEND.exec(words);
  if (sent !== null) return sendOf(sent);
  const bought = BUY.exec(words);
  if (bought !== null) return swapOf(bought[2], bought[3], bought[1]);
  for (const swap of SWAPS) {
    const [matched, amount, from, to] = swap.exec(words) ?? [];
    if (matched !== undefined) return swapOf(amount, from, to);
  }
  return null;
}

function sendOf([, amount, symbol, address = ""]: RegExpExecArray): Order | null {
  const token = tokenOf(symbol);
  const toAddress = checksummed(address);
  const units = unitsOf(amount, token);
  if (token === null || toAddress === null || units === null || recipientProblem(address) !== null)
    return null;
  return { kind: "send", token, toAddress, amount: units };
}

function swapOf(amount: string | undefined, from: string | undefined, to: string | undefined): Order | null {
  const [fromToken, toToken] = [tokenOf(from), tokenOf(to)];
  const units = unitsOf(amount, fromToken);
  if (fromToken === null || toToken === null || fromToken === toToken || units === null) return null;
  return { kind: "swap", fromToken, toToken, amount: units };
}

function tokenOf(symbol: string | undefined): Symbol | null {
  return tokenIn(SYMBOLS, symbol ?? "") ?? null;
}

/** A decimal in the token's smallest unit, digits; `null` where it is nothing, or finer than that. */
function unitsOf(decimal: string | undefined, token: Symbol | null): string | null {
  if (decimal === undefined || token === null) return null;
  const { decimals } = TOKENS[token];
  const [whole = "", fraction = ""] = decimal.split(".");
  if (fraction.length > decimals) return null;
  const units = BigInt(whole + fraction.padEnd(decimals, "0"));
  return units === 0n ? null : units.toString();
}

const USAGE = {
  swap: "Write for example: /swap 25 USDC to ETH",
  send: "Write for example: /send 25 USDC to 0x… (the whole address, which has to be on your list)",
};

export const orderCommands: readonly Command[] = [
  orderNamed("swap", "AMOUNT TOKEN to TOKEN", "Swap, after a tap of yours"),
  orderNamed("send", "AMOUNT TOKEN to ADDRESS", "Send to an address on your list, after a tap of yours"),
];

function orderNamed(name: "swap" | "send", argument: string, summary: string): Command {
  return {
    ...{ name, argument, summary },
    access: "linked",
    binds: true,
    run: (_ctx: MutationCtx, { userId, argument: words }) => {
      const order = orderIn(words);
      return order?.kind === name ? shown(userId, order) : reply(USAGE[name]);
    },
  };
}

/** What plain words of a linked account order in its own chat; `null` where they are none of an order's. */
export function plainOrder({ sender, userId, argument }: Request): Outcome | null {
  if (!sender.alone || userId === null || !VERB.test(argument)) return null;
  const order = orderIn(argument);
  return order === null ? null : shown(userId, order);
}

function shown(userId: string, order: Order): Outcome {
  return { answer: notice("Working that out…"), later: { kind: "order", userId, order } };
}
