import { v, type Infer } from "convex/values";
import { resolveSymbol } from "../lib/money/coins";
import { getOptional } from "../lib/env";
import { listKeys } from "../lib/objects";
import { trimTrailing } from "../lib/text/strings";
import { CODE_LENGTH } from "../messenger/model";
import { PRINTABLE } from "../platform/records";

/**
 * Messages to the bot, their parsing, and the list of commands. Help, the messenger's menu and the description of the
 * bot for a model follow the list and its order.
 */

/** The author of a message to the bot, and its chat. */
const vSender = v.object({
  chatId: v.string(),
  /** The public name of a group or channel, such as `@news`. */
  chatName: v.optional(v.string()),
  /** The topic in the chat. */
  threadId: v.optional(v.number()),
  /** Whether it is a private chat of the sender with the bot. */
  alone: v.boolean(),
  /** The messenger's id of the account; of the group or channel for an admin who writes in its name. */
  messengerId: v.string(),
  messengerUsername: v.optional(v.string()),
});
export type Sender = Infer<typeof vSender>;

/** A message to the bot, or a tapped button as if its command had been typed. */
export const vMessage = v.object({
  updateId: v.number(),
  sender: vSender,
  /** "" for a picture or a recording without words. */
  text: v.string(),
  /** Whether the message was forwarded: then its author may be somebody else. */
  forwarded: v.boolean(),
  /** In a group: the addressed bot, lower case without the @; "" for a reply to this bot. */
  to: v.optional(v.string()),
  /** The message of the tapped button. */
  tapped: v.optional(v.object({ messageId: v.number(), isPicture: v.boolean() })),
});
export type BotMessage = Infer<typeof vMessage>;

export type ParsedCommand = {
  /** Lower case, without the slash. */
  name: string;
  /** The bot of its mention, lower case without the @; `null` without one. */
  to: string | null;
  /** The rest, trimmed; "" if there is none. */
  argument: string;
};

const COMMAND = /^\/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s([\s\S]*))?$/;

/** Letters of other scripts that look like those of `freeze`. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  ƒ: "f",
  ғ: "f",
  г: "r",
  е: "e",
  є: "e",
  ε: "e",
  ʐ: "z",
  ᴢ: "z",
};

/** Whether a word means freeze, in any spelling: a needless freeze can be ended, and a late one is worthless. */
function isFreeze(word: string): boolean {
  const letters = Array.from(
    word
      .toLowerCase()
      .normalize("NFKD")
      .replace(/[\p{M}\p{Cf}]/gu, ""),
  );
  return /^\/?f+r+e+z+e*[.!]*$/.test(letters.map((one) => LOOKALIKES[one] ?? one).join(""));
}

/** `/name argument` or `/name@bot argument`; `null` for any other text. */
export function parseCommand(text: string): ParsedCommand | null {
  const visible = text.replace(/^[\s\p{Cf}]+/u, "");
  const word = /^\S{1,200}/.exec(visible)?.[0] ?? "";
  const said = visible.slice(word.length);
  const head = word.normalize("NFKC").replace(/\p{Cf}/gu, "");
  const isAlone = said.trim() === "" || head.startsWith("/");
  if (isAlone && isFreeze(head)) return { name: "freeze", to: null, argument: "" };
  const [matched, name = "", to, argument = ""] = COMMAND.exec((head + said).trim()) ?? [];
  if (matched === undefined) return null;
  return { name: name.toLowerCase(), to: to?.toLowerCase() ?? null, argument: argument.trim() };
}

/** A link code in a link to the bot. Any other payload, such as a campaign's name, is ignored. */
const CODE = new RegExp(`^[2-9A-HJ-NP-Z]{${CODE_LENGTH}}$`, "i");

/** Whether a command has an argument that may be a link code. */
export function hasCode({ name, argument }: ParsedCommand): boolean {
  return name === "start" ? CODE.test(argument) : /^(?:connect|login)$/.test(name) && argument !== "";
}

/**
 * A command in the payload (at most 64 characters) of a link to the bot: a group's button continues in the private chat
 * by it.
 */
const LINKED_COMMAND = /^do_([A-Za-z0-9_-]{1,61})$/;
/** The commands that such links may hold. Anyone can make a link, so these only read, or ask first. */
const LINKABLE = /^(?:alert [^]+|alerts|portfolio|status|orders|limits|wallet|help|research(?: \S+)?)$/;

/** The private chat's address for a command of a button; `null` without the bot's name. Any other command opens the help. */
export function buildPrivateLink(command: string): string | null {
  const bot = getOptional("MESSENGER_BOT_NAME");
  // A stranger's link starts no research: its card has the button.
  const linked = command.replace(/^follow\b/, "research");
  const payload = btoa(/^[\x20-\x7e]+$/.test(linked) ? linked : "help");
  const letters = payload.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const isFit = LINKABLE.test(linked) && LINKED_COMMAND.test(`do_${letters}`);
  return bot === undefined ? null : `https://t.me/${bot}?start=${isFit ? `do_${letters}` : "help"}`;
}

/** The command in a payload of such a link; `null` for any other one. */
export function parsePrivateLink(payload: string): string | null {
  const [, letters] = LINKED_COMMAND.exec(payload) ?? [];
  if (letters === undefined) return null;
  try {
    const command = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
    return LINKABLE.test(command) ? command : null;
  } catch {
    return null;
  }
}

const LONGEST_NAME = 60;

/** A name without the quotation marks around it and the end of a sentence behind it. */
export function trimName(words: string): string {
  return trimTrailing(words.replace(/^[\s"'“”„«»‘’‚]+/, ""), " \n\t\"'“”«»‘’.,;:!?");
}

/** The token of an argument, by its symbol or name; "" without an argument, `null` for words that can be neither. */
export function parseFocus(words: string): string | null {
  const argument = trimName(words);
  if (argument === "") return "";
  return Array.from(argument).length <= LONGEST_NAME && PRINTABLE.test(argument)
    ? resolveSymbol(argument)
    : null;
}

/**
 * The chats and users of a command. `anywhere`: every chat, every user. `alone`: private chats. `own`: private chats, for
 * the linked user or else for the account itself, which may have alerts. `linked`: private chats of linked users.
 */
type Access = "anywhere" | "alone" | "own" | "linked";

/**
 * `inPlace`: the answer to a tap replaces the message of the button. `binds`: it commits its sender, so a forwarded message
 * cannot give it.
 */
type CommandTrait = "inPlace" | "binds";

type CommandRow = {
  access: Access;
  /** For the help: `CODE`, `[TOKEN]`; "" for none. */
  argument: string;
  /** One line for help and menu; "" for commands of buttons alone. */
  summary: string;
  traits: readonly CommandTrait[];
};

function define(access: Access, argument = "", summary = "", ...traits: CommandTrait[]): CommandRow {
  return { access, argument, summary, traits };
}

/** By name, in lower case without the slash. The compiler demands a handler for each, in `actionHandlers` or in `handlers`. */
const ROWS = {
  price: define("anywhere", "COIN", "What a coin costs; its name alone works too", "inPlace"),
  alert: define("own", "WORDS", "Tells you when something happens, in your own words", "inPlace"),
  alerts: define("own", "", "Your alerts, to change and to switch off", "inPlace"),
  signals: define("anywhere", "[TOKEN]", "The latest signals of BTC and ETH", "inPlace"),
  record: define("anywhere", "", "How the signals have done, against chance", "inPlace"),
  whales: define("anywhere", "[HOURS]", "Whale alerts: 6 hours, or up to 168", "inPlace"),
  subscribe: define("anywhere", "", "Signals, outcomes, whales, the week: sent here", "binds"),
  switch: define("anywhere", "TOPIC on", "", "inPlace", "binds"),
  unsubscribe: define("anywhere", "[TOPIC]", "", "binds"),
  research: define("anywhere", "[TOKEN]", "A research snapshot of a token, or of the market"),
  report: define("anywhere", "[TOKEN]", "The whole text of the last research, with sources"),
  follow: define("linked", "[TOKEN]", "Research for eight hours, with three reports"),
  stop: define("linked", "[TOKEN]", "Stops your research, or that of a token", "inPlace"),
  status: define("linked", "", "How your research is doing"),
  ask: define("anywhere", "QUESTION", "Asks the assistant; a plain question works too"),
  wallet: define("alone", "", "Pay in: your wallet's address, or a new wallet", "binds"),
  portfolio: define("linked", "", "What your wallet holds at live prices, and what it has made"),
  history: define("linked", "[N]", "What has come, gone and been swapped in your wallet"),
  chart: define("linked"),
  orders: define("linked", "", "Your orders: those that wait for you, and the last ones"),
  paper: define("linked", "", "Everything but the money: orders on paper", "inPlace", "binds"),
  swap: define("linked", "AMOUNT TOKEN to TOKEN", "Swaps, after a tap of yours", "binds"),
  send: define("linked", "AMOUNT TOKEN to ADDRESS", "Sends, after a tap of yours", "binds"),
  gas: define("linked", "[USDC]", "Gets ETH for network fees with your USDC, after a tap", "binds"),
  recipients: define("linked", "[add ADDRESS]", "Whom you send to", "inPlace", "binds"),
  limits: define("linked", "[USD]", "What may move in a day, and what is left of it", "binds"),
  freeze: define("alone", "", "Stops everything that moves your money, at once", "binds"),
  unfreeze: define("linked", "", "Ends a freeze two hours from now", "binds"),
  login: define("alone", "[CODE]", "Makes another chat or the web application your login", "binds"),
  newid: define("linked", "", "Replaces an account id that has leaked", "inPlace", "binds"),
  connect: define("alone", "CODE", "Links this chat to your account elsewhere", "inPlace", "binds"),
  unlink: define("alone", "", "Unlinks this chat"),
  me: define("linked", "", "Your page: holdings, orders, limits, keys, and a freeze", "binds"),
  ai: define("linked", "", "Your account in AI clients and programs: its id, its keys", "binds"),
  export: define("linked", "", "Your data as a file", "binds"),
  delete: define("linked", "", "Deletes your data; the wallet stays yours", "inPlace", "binds"),
  start: define("anywhere", "", "Says hello", "binds"),
  help: define("anywhere", "", "What I can do", "inPlace"),
  own: define("alone", "", "", "inPlace", "binds"),
  approve: define("linked", "", "", "inPlace", "binds"),
  refuse: define("linked", "", "", "inPlace", "binds"),
  pause: define("linked"),
  again: define("linked", "", "", "binds"),
};

export type CommandName = keyof typeof ROWS;
export type BotCommand = CommandRow & { name: CommandName };
export const commands: readonly BotCommand[] = listKeys(ROWS).map((name) => ({ name, ...ROWS[name] }));

/** The command of a name (lower case), or `null`. */
export function findCommand(name: string): BotCommand | null {
  return commands.find((one) => one.name === name) ?? null;
}

/** Whether a button's command is answered in groups, too. */
export function isForGroups(written: string): boolean {
  return findCommand(parseCommand(`/${written}`)?.name ?? "")?.access === "anywhere";
}

/** The commands in help and menu. */
export const menu = commands.filter(({ summary }) => summary !== "");
