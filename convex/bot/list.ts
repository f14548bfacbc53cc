import type { Paragraph } from "../messenger/format";
import { helpCard } from "./cards";

/** The bot's commands. Answers, help and the messenger's menu are made from this list, in its order. */

export type Command = {
  /** Without the slash: lower-case letters, digits and _. */
  name: string;
  /** Its arguments, for the help: `CODE`, `[TOKEN]`. */
  argument?: string;
  /** One line for help and menu. */
  summary: string;
  /**
   * `anywhere`: in groups too, by anybody. `alone`: in a chat with the bot alone. `own`: there, by the linked user or else
   * by the account itself, which has alerts without any other. `linked`: there, and by a linked user.
   */
  access: "anywhere" | "alone" | "own" | "linked";
  /** `read`: a query (`reads`). `bind`: one transaction, which is done once (`bindings`). `work`: an action (`works`). */
  by: "read" | "bind" | "work";
  /** The answer to a tap replaces the message with the button. */
  inPlace?: true;
  /** For buttons: neither help nor menu names it. */
  hidden?: true;
  /** It commits its sender to something, so a forwarded message cannot do it. */
  binds?: true;
};

export const commands: readonly Command[] = [
  {
    name: "price",
    argument: "COIN",
    summary: "What a coin costs; its name alone works too",
    access: "anywhere",
    by: "work",
    inPlace: true,
  },
  {
    name: "alert",
    argument: "WORDS",
    summary: "Get an alert when something happens, in your own words",
    access: "own",
    by: "work",
    inPlace: true,
  },
  { name: "why", summary: "Why an alert has fired", access: "own", by: "work", hidden: true },
  {
    name: "alerts",
    argument: "[off NUMBER]",
    summary: "Your alerts; switch one off by its number",
    access: "own",
    by: "bind",
    inPlace: true,
  },
  {
    name: "signals",
    argument: "[TOKEN]",
    summary: "The latest trading signals of BTC and ETH",
    access: "anywhere",
    by: "read",
    inPlace: true,
  },
  {
    name: "record",
    summary: "How the signals have done, against chance",
    access: "anywhere",
    by: "read",
    inPlace: true,
  },
  {
    name: "whales",
    argument: "[HOURS]",
    summary: "Whale alerts of the last hours (6, or as many as you say, up to 168)",
    access: "anywhere",
    by: "read",
    inPlace: true,
  },
  {
    name: "research",
    argument: "[TOKEN]",
    summary: "A research snapshot of a token, or of the whole market",
    access: "anywhere",
    by: "work",
  },
  {
    name: "report",
    argument: "[TOKEN]",
    summary: "The whole text of the last research",
    access: "anywhere",
    by: "read",
  },
  {
    name: "sources",
    argument: "[TOKEN]",
    summary: "The sources of the last research",
    access: "anywhere",
    by: "read",
  },
  {
    name: "follow",
    argument: "[TOKEN]",
    summary: "Start a research shift of eight hours",
    access: "linked",
    by: "bind",
  },
  {
    name: "stop",
    argument: "[TOKEN]",
    summary: "Stop your research shifts, or that of a token",
    access: "linked",
    by: "bind",
    inPlace: true,
  },
  { name: "resume", summary: "Take back a stop", access: "linked", by: "bind", hidden: true, inPlace: true },
  { name: "status", summary: "How your research shift is doing", access: "linked", by: "read" },
  {
    name: "ask",
    argument: "QUESTION",
    summary: "Ask the crypto assistant; a plain question works too",
    access: "anywhere",
    by: "work",
  },
  { name: "wallet", summary: "Your wallet's address", access: "linked", by: "read" },
  { name: "portfolio", summary: "What your wallet holds, at live prices", access: "linked", by: "work" },
  { name: "start", summary: "Say hello", access: "anywhere", by: "work", binds: true },
  {
    name: "connect",
    argument: "CODE",
    summary: "Link this account to yours in the web application",
    access: "alone",
    by: "work",
    binds: true,
  },
  {
    name: "confirm",
    argument: "CODE",
    summary: "Use a link of this account that was made outside this chat",
    access: "alone",
    by: "bind",
    binds: true,
  },
  { name: "unlink", summary: "Unlink this account", access: "alone", by: "bind" },
  {
    name: "own",
    argument: "CODE",
    summary: "Own the wallet of a link",
    access: "alone",
    by: "bind",
    binds: true,
    hidden: true,
    inPlace: true,
  },
  {
    name: "unfreeze",
    summary: "End a freeze two hours from now, if this account is the owner's only login",
    access: "linked",
    by: "bind",
    binds: true,
  },
  {
    name: "freeze",
    summary: "Stop everything that moves your money, at once",
    access: "alone",
    by: "bind",
    binds: true,
  },
  {
    name: "block",
    summary: "For 24 hours, refuse orders that are made with only your account id",
    access: "linked",
    by: "bind",
    binds: true,
  },
  {
    name: "newid",
    summary: "Replace an account id that has leaked with a new one",
    access: "linked",
    by: "bind",
    binds: true,
    inPlace: true,
  },
  {
    name: "recipients",
    argument: "[add ADDRESS]",
    summary: "The addresses that you send to; a new one counts two hours later",
    access: "linked",
    by: "bind",
    binds: true,
    inPlace: true,
  },
  {
    name: "approve",
    summary: "Answer what you were asked",
    access: "linked",
    by: "bind",
    binds: true,
    hidden: true,
    inPlace: true,
  },
  {
    name: "refuse",
    summary: "Answer what you were asked",
    access: "linked",
    by: "bind",
    binds: true,
    hidden: true,
    inPlace: true,
  },
  {
    name: "swap",
    argument: "AMOUNT TOKEN to TOKEN",
    summary: "Swap, after a tap of yours",
    access: "linked",
    by: "work",
    binds: true,
  },
  {
    name: "send",
    argument: "AMOUNT TOKEN to ADDRESS",
    summary: "Send to an address on your list, after a tap of yours",
    access: "linked",
    by: "work",
    binds: true,
  },
  { name: "help", summary: "What I can do", access: "anywhere", by: "read" },
];

/** The command of a name (lower case), or `null`. */
export function commandNamed(name: string): Command | null {
  return commands.find((command) => command.name === name) ?? null;
}

/** What the bot can do, after an introduction. */
export function help(introduction?: string): Paragraph[] {
  return helpCard(commands, introduction);
}
