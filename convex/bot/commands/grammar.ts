/** What a text to the bot says. Pure. */

export type ParsedCommand = {
  /** Lower case, without the slash. */
  name: string;
  /** The bot it names, lower case without the @; `null` when it names none. */
  to: string | null;
  /** What follows, trimmed; "" for nothing. */
  argument: string;
};

/** Copied from a card, a text has joiners in it that nobody sees. */
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

const MENTION = /^@([A-Za-z0-9_]{1,64})[\s,:]([\s\S]*)$/;

/** `@bot how is ETH?`: words that begin with the bot they are for. */
export function parseMention(text: string): { to: string; words: string } | null {
  const [, to = "", rest = ""] = MENTION.exec(typed(text)) ?? [];
  const words = rest.replace(/^[\s,:]+/, "");
  return words === "" ? null : { to: to.toLowerCase(), words };
}
