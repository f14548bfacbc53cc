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

const command = (
  name: string,
  access: Command["access"],
  by: Command["by"],
  summary: string,
  more: Pick<Command, "argument" | "inPlace" | "hidden" | "binds"> = {},
): Command => ({ name, access, by, summary, ...more });

export const commands: readonly Command[] = [
  command("price", "anywhere", "work", "What a coin costs; its name alone works too", {
    argument: "COIN",
    inPlace: true,
  }),
  command("alert", "own", "work", "Get an alert when something happens, in your own words", {
    argument: "WORDS",
    inPlace: true,
  }),
  command("why", "own", "work", "Why an alert has fired", { hidden: true }),
  command("alerts", "own", "bind", "Your alerts; switch one off by its number", {
    argument: "[off NUMBER]",
    inPlace: true,
  }),
  command("signals", "anywhere", "read", "The latest trading signals of BTC and ETH", {
    argument: "[TOKEN]",
    inPlace: true,
  }),
  command("record", "anywhere", "read", "How the signals have done, against chance", { inPlace: true }),
  command(
    "whales",
    "anywhere",
    "read",
    "Whale alerts of the last hours (6, or as many as you say, up to 168)",
    { argument: "[HOURS]", inPlace: true },
  ),
  command("research", "anywhere", "work", "A research snapshot of a token, or of the whole market", {
    argument: "[TOKEN]",
  }),
  command("report", "anywhere", "read", "The whole text of the last research", { argument: "[TOKEN]" }),
  command("sources", "anywhere", "read", "The sources of the last research", { argument: "[TOKEN]" }),
  command("follow", "linked", "bind", "Start a research shift of eight hours", { argument: "[TOKEN]" }),
  command("stop", "linked", "bind", "Stop your research shifts, or that of a token", {
    argument: "[TOKEN]",
    inPlace: true,
  }),
  command("resume", "linked", "bind", "Take back a stop", { inPlace: true, hidden: true }),
  command("status", "linked", "read", "How your research shift is doing"),
  command("ask", "anywhere", "work", "Ask the crypto assistant; a plain question works too", {
    argument: "QUESTION",
  }),
  command("wallet", "linked", "read", "Your wallet's address"),
  command("portfolio", "linked", "work", "What your wallet holds, at live prices"),
  command("start", "anywhere", "work", "Say hello", { binds: true }),
  command("connect", "alone", "work", "Link this account to yours in the web application", {
    argument: "CODE",
    binds: true,
  }),
  command("confirm", "alone", "bind", "Use a link of this account that was made outside this chat", {
    argument: "CODE",
    binds: true,
  }),
  command("unlink", "alone", "bind", "Unlink this account"),
  command("own", "alone", "bind", "Own the wallet of a link", {
    argument: "CODE",
    inPlace: true,
    hidden: true,
    binds: true,
  }),
  command(
    "unfreeze",
    "linked",
    "bind",
    "End a freeze two hours from now, if this account is the owner's only login",
    { binds: true },
  ),
  command("freeze", "alone", "bind", "Stop everything that moves your money, at once", { binds: true }),
  command("block", "linked", "bind", "For 24 hours, refuse orders that are made with only your account id", {
    binds: true,
  }),
  command("newid", "linked", "bind", "Replace an account id that has leaked with a new one", {
    inPlace: true,
    binds: true,
  }),
  command(
    "recipients",
    "linked",
    "bind",
    "The addresses that you send to; a new one counts two hours later",
    { argument: "[add ADDRESS]", inPlace: true, binds: true },
  ),
  command("approve", "linked", "bind", "Answer what you were asked", {
    inPlace: true,
    hidden: true,
    binds: true,
  }),
  command("refuse", "linked", "bind", "Answer what you were asked", {
    inPlace: true,
    hidden: true,
    binds: true,
  }),
  command("swap", "linked", "work", "Swap, after a tap of yours", {
    argument: "AMOUNT TOKEN to TOKEN",
    binds: true,
  }),
  command("send", "linked", "work", "Send to an address on your list, after a tap of yours", {
    argument: "AMOUNT TOKEN to ADDRESS",
    binds: true,
  }),
  command("help", "anywhere", "read", "What I can do"),
];

/** The command of a name (lower case), or `null`. */
export function commandNamed(name: string): Command | null {
  return commands.find((one) => one.name === name) ?? null;
}

/** What the bot can do, after an introduction. */
export function help(introduction?: string): Paragraph[] {
  return helpCard(commands, introduction);
}
