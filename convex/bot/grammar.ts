import type { Infer } from "convex/values";
import { checksummed } from "../lib/money/addresses";
import { symbolIn } from "../lib/money/tokens";
import { PRINTABLE } from "../lib/records/ids";
import { readCommand, unitsOf } from "../social/commands";
import { recipientProblem } from "../wallets/tokens";
import type { vSymbol } from "../wallets/tables";

/** Reads texts to the bot. Pure. */

export type ParsedCommand = {
  /** Lower case, without the slash. */
  name: string;
  /** The bot it names, lower case without the @; `null` when it names none. */
  to: string | null;
  /** The rest, trimmed; "" if there is none. */
  argument: string;
};

/** A text that was copied from a card contains invisible joiners. */
function typed(text: string): string {
  return text.replaceAll("\u2060", "").trim();
}

const COMMAND = /^\/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s([\s\S]*))?$/;

/** `/name argument` or `/name@bot argument`; `null` for any other text. */
export function parseCommand(text: string): ParsedCommand | null {
  const [matched, name = "", to, argument = ""] = COMMAND.exec(typed(text)) ?? [];
  if (matched === undefined) return null;
  return { name: name.toLowerCase(), to: to?.toLowerCase() ?? null, argument: argument.trim() };
}

/** Whether a command carries what may be a link code. */
export function showsCode({ name, argument }: ParsedCommand): boolean {
  return ["connect", "start"].includes(name) && argument !== "";
}

/** What a pasted link to the bot (`https://t.me/<bot>?start=own_…`) starts it with; `null` for any other text. */
export function pastedStart(text: string): string | null {
  return /^https:\/\/t\.me\/\w{1,64}\?start=([A-Za-z0-9_-]{1,64})$/.exec(typed(text))?.[1] ?? null;
}

const MENTION = /^@([A-Za-z0-9_]{1,64})[\s,:]([\s\S]*)$/;

/** `@bot how is ETH?`: words that begin with the bot's name. */
export function parseMention(text: string): { to: string; words: string } | null {
  const [, to = "", rest = ""] = MENTION.exec(typed(text)) ?? [];
  const words = rest.replace(/^[\s,:]+/, "");
  return words === "" ? null : { to: to.toLowerCase(), words };
}

const LONGEST_NAME = 60;

/** A token's symbol or name; empty if none is named, `null` if the words can be neither. */
export function focusIn(argument: string): string | null {
  if (argument === "") return "";
  return Array.from(argument).length <= LONGEST_NAME && PRINTABLE.test(argument) ? symbolIn(argument) : null;
}

type Symbol = Infer<typeof vSymbol>;
/** What somebody orders in their chat; the amount in digits of the smallest unit. */
export type Order =
  | { kind: "send"; token: Symbol; toAddress: string; amount: string }
  | { kind: "swap"; fromToken: Symbol; toToken: Symbol; amount: string };

/** Words that begin an order; a message without one of them is a question. */
const VERB = /^(?:please\s+)?(?:swap|exchange|convert|trade|sell|buy|send|transfer|pay)\s/i;

/** The order in a text, by the grammar of posts; `null` if it orders nothing that could be carried out. */
export function orderIn(text: string): Order | null {
  // Some people write a comma as the decimal mark, so an amount with a comma is ambiguous.
  if (!VERB.test(text) || text.includes(",")) return null;
  const reading = readCommand(typed(text));
  if (reading.kind !== "command") return null;
  const { fromToken, toToken, unit, recipient, ...command } = reading.command;
  const amount = unit === fromToken ? unitsOf(command.amount, fromToken)?.toString() : undefined;
  if (amount === undefined) return null;
  if (toToken !== null) return { kind: "swap", fromToken, toToken, amount };
  const toAddress = recipient === null ? null : checksummed(recipient);
  if (recipient === null || toAddress === null || recipientProblem(recipient) !== null) return null;
  return { kind: "send", token: fromToken, toAddress, amount };
}
