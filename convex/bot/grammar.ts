import { PRINTABLE } from "../lib/records/ids";
import { symbolIn, WRITTEN } from "../lib/money/tokens";

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
  return ["connect", "confirm", "start"].includes(name) && argument !== "";
}

const CARRIED = /^([2-9A-HJ-NP-Z]{8})-([a-z0-9_]{1,32})(?:-([A-Za-z0-9]{1,20}))?$/;

/** A link code and the request that came with it, as the bot's command; `then` is empty without a request. */
export function carriedIn(argument: string): { code: string; then: string } {
  const [, code = argument, name = "", more = ""] = CARRIED.exec(argument) ?? [];
  return { code, then: more === "" ? name : `${name} ${more}` };
}

/** The hash of a link code, and the request that came with it, as a job keeps them; "" for no hash. */
export function hashIn(argument: string): { hash: string; then: string } {
  const [, hash = "", then = ""] = /^([0-9a-f]{64})(?: (.*))?$/.exec(argument) ?? [];
  return { hash, then };
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

// The arguments of a command are read as endpoints read them (`lib/http/input`, `whales/shapes`), without their
// shapes.
const TOKEN = new RegExp(`^${WRITTEN}$`);
const HOURS = /^\s*[0-9]{1,16}(?:\.[0-9]{1,16})?\s*$/;
const [LEAST_HOURS, MOST_HOURS] = [0.1, 168];
const LONGEST_NAME = 60;

/** One of a few tokens, in any spelling; `null` for any other, `undefined` if none is named. */
export function tokenIn<Symbol extends string>(
  symbols: readonly Symbol[],
  argument: string,
): Symbol | null | undefined {
  if (argument === "") return undefined;
  const written = argument.trim();
  if (!TOKEN.test(written)) return null;
  const symbol = symbolIn(written);
  return symbols.find((one) => one === symbol) ?? null;
}

/** A token's symbol or name; empty if none is named, `null` if the words can be neither. */
export function focusIn(argument: string): string | null {
  if (argument === "") return "";
  const name = argument.trim();
  return Array.from(argument).length <= LONGEST_NAME && PRINTABLE.test(name) ? symbolIn(name) : null;
}

/** Hours to look back; `null` if the number is too small or too large, or not a number. */
export function hoursIn(argument: string, otherwise: number): number | null {
  if (argument === "") return otherwise;
  const hours = HOURS.test(argument) ? Number(argument) : NaN;
  return hours >= LEAST_HOURS && hours <= MOST_HOURS ? hours : null;
}
