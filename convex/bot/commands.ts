import { v, type Infer } from "convex/values";
import { resolveSymbol } from "../lib/money/coins";
import { listKeys } from "../lib/objects";
import { trimTrailing } from "../lib/text/strings";
import type { Paragraph } from "../messenger/format";
import { CODE_LENGTH } from "../messenger/model";
import { PRINTABLE } from "../platform/records";

/**
 * What is said to the bot: the messages, how they are read, and the commands. Help and the messenger's menu are made from
 * the one list of commands, in its order.
 */

/** The author of a message to the bot, and its chat. */
const vSender = v.object({
  chatId: v.string(),
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

const LONGEST_NAME = 60;

/** A name without the quotation marks around it and the end of a sentence behind it. */
export function bareName(words: string): string {
  return trimTrailing(words.replace(/^[\s"'“”„«»‘’‚]+/, ""), " \n\t\"'“”«»‘’.,;:!?");
}

/** The token of an argument, by its symbol or name; "" without an argument, `null` for words that can be neither. */
export function parseFocus(words: string): string | null {
  const argument = bareName(words);
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
 * `inPlace`: the answer to a tap replaces the message of the button. `hidden`: only for buttons, and in neither help nor
 * menu. `binds`: it commits its sender, so a forwarded message cannot give it.
 */
type Trait = "inPlace" | "hidden" | "binds";

/** What answers a command: the table of handlers in `handlers` (mutation), `service` (action) or `updates` (receipt). */
type Runner = "mutation" | "action" | "receipt";

type CommandRow<By extends Runner = Runner> = {
  /** `mutation` needs no provider, `action` asks one; `receipt` is answered before a job keeps its argument. */
  by: By;
  /** For the help: `CODE`, `[TOKEN]`; "" for none. */
  argument: string;
  access: Access;
  /** One line for help and menu. */
  summary: string;
  traits: readonly Trait[];
};

function command<const By extends Runner>(
  by: By,
  argument: string,
  access: Access,
  summary: string,
  ...traits: Trait[]
): CommandRow<By> {
  return { by, argument, access, summary, traits };
}

/** By name, in lower case without the slash. The compiler demands a handler of what answers each. */
const ROWS = {
  price: command("action", "COIN", "anywhere", "What a coin costs; its name alone works too", "inPlace"),
  alert: command(
    "action",
    "WORDS",
    "own",
    "Get an alert when something happens, in your own words",
    "inPlace",
  ),
  alerts: command("mutation", "", "own", "Your alerts, to switch them on and off", "inPlace"),
  signals: command("mutation", "[TOKEN]", "anywhere", "The latest trading signals of BTC and ETH", "inPlace"),
  record: command("mutation", "", "anywhere", "How the signals have done, against chance", "inPlace"),
  whales: command(
    "mutation",
    "[HOURS]",
    "anywhere",
    "Whale alerts of the last hours: 6, or up to 168",
    "inPlace",
  ),
  subscribe: command("action", "", "anywhere", "Signals, outcomes, whales, the week: sent here", "binds"),
  switch: command("action", "TOPIC on", "anywhere", "Switch one of them", "inPlace", "hidden", "binds"),
  unsubscribe: command("action", "[TOPIC]", "anywhere", "Stop them", "hidden", "binds"),
  research: command(
    "action",
    "[TOKEN]",
    "anywhere",
    "A research snapshot of a token, or of the whole market",
  ),
  report: command("mutation", "[TOKEN]", "anywhere", "The whole text of the last research, with its sources"),
  follow: command("mutation", "[TOKEN]", "linked", "Start a research shift of eight hours"),
  stop: command("mutation", "[TOKEN]", "linked", "Stop your research shifts, or that of a token", "inPlace"),
  status: command("mutation", "", "linked", "How your research shift is doing"),
  ask: command("action", "QUESTION", "anywhere", "Ask the crypto assistant; a plain question works too"),
  wallet: command(
    "action",
    "",
    "alone",
    "Pay in: your wallet's address; makes a wallet if you have none",
    "binds",
  ),
  me: command("mutation", "", "linked", "Your page: holdings, orders, limits, keys, and a freeze", "binds"),
  portfolio: command("action", "", "linked", "Your wallet: its address, and what it holds at live prices"),
  swap: command("action", "AMOUNT TOKEN to TOKEN", "linked", "Swap, after a tap of yours", "binds"),
  send: command(
    "action",
    "AMOUNT TOKEN to ADDRESS",
    "linked",
    "Send to a listed address, after a tap of yours",
    "binds",
  ),
  gas: command("action", "[USDC]", "linked", "Get ETH for network fees with your USDC, after a tap", "binds"),
  recipients: command(
    "mutation",
    "[add ADDRESS]",
    "linked",
    "The addresses that you send to",
    "inPlace",
    "binds",
  ),
  limits: command("mutation", "[USD]", "linked", "What may move in a day, and what is left of it", "binds"),
  freeze: command("mutation", "", "alone", "Stop everything that moves your money, at once", "binds"),
  unfreeze: command(
    "mutation",
    "",
    "linked",
    "End a freeze two hours from now, if this chat is your only login",
    "binds",
  ),
  newid: command(
    "mutation",
    "",
    "linked",
    "Replace an account id that has leaked with a new one",
    "inPlace",
    "binds",
  ),
  ai: command(
    "mutation",
    "",
    "linked",
    "Use your account in AI clients and programs: its id, its keys",
    "binds",
  ),
  login: command("action", "[CODE]", "alone", "Make another chat or the web application your login", "binds"),
  export: command("mutation", "", "linked", "Your data as a file", "binds"),
  delete: command("mutation", "", "linked", "Delete your data; the wallet stays yours", "inPlace", "binds"),
  start: command("action", "", "anywhere", "Say hello", "binds"),
  connect: command(
    "action",
    "CODE",
    "alone",
    "Link this account to yours in the web application",
    "inPlace",
    "binds",
  ),
  unlink: command("mutation", "", "alone", "Unlink this account"),
  own: command("receipt", "CODE", "alone", "Own the wallet of a link", "inPlace", "hidden", "binds"),
  approve: command("mutation", "", "linked", "Approve an order of yours", "inPlace", "hidden", "binds"),
  refuse: command("mutation", "", "linked", "Refuse an order of yours", "inPlace", "hidden", "binds"),
  pause: command("mutation", "", "linked", "Ask whether to freeze", "hidden"),
  again: command("action", "", "linked", "Ask again about an order", "hidden", "binds"),
  help: command("mutation", "", "anywhere", "What I can do"),
};

type Rows = typeof ROWS;
type CommandName = keyof Rows;
/** The names of the commands that one part answers. */
export type CommandsBy<By extends Runner> = {
  [Name in CommandName]: Rows[Name]["by"] extends By ? Name : never;
}[CommandName];

export type BotCommand = CommandRow & { name: CommandName };
export const commands: readonly BotCommand[] = listKeys(ROWS).map((name) => ({ name, ...ROWS[name] }));

/** The command of a name (lower case), or `null`. */
export function findCommand(name: string): BotCommand | null {
  return commands.find((one) => one.name === name) ?? null;
}

export function isAnsweredBy<By extends Runner>(by: By, name: CommandName): name is CommandsBy<By> {
  return ROWS[name].by === by;
}

/** The commands in help and menu. */
export const menu = commands.filter(({ traits }) => !traits.includes("hidden"));

/** The help: a line for each command after an introduction, those for everybody first. */
export function buildHelp(introduction?: string): Paragraph[] {
  const isOwn = ({ access }: BotCommand) => access === "linked" || access === "alone";
  const lines = (some: readonly BotCommand[]) =>
    some.flatMap(({ name, argument, summary }): Paragraph => [
      "\n",
      { command: name },
      `${argument === "" ? "" : ` ${argument}`}: ${summary}`,
    ]);
  return [
    ...(introduction === undefined ? [] : [[{ bold: introduction }]]),
    ["I follow crypto markets, run research, and show your wallet. I move nothing without your tap."],
    [{ bold: "For everybody" }, ...lines(menu.filter((one) => !isOwn(one)))],
    [{ bold: "For your account" }, ...lines(menu.filter(isOwn))],
  ];
}
