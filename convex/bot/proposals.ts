import { findDifference, readLine } from "../alerts/reading";
import type { Button } from "../messenger/format";
import { DOLLARS, SHARES } from "../wallets/sizes";
import { findToken } from "../wallets/tokens";
import { findCommand, menu, parseCommand, type CommandName } from "./commands";
import { readOrder } from "./orders";

/**
 * What a model may propose: one command, which code checks against the person's own words and shows as a button. The tap on
 * it begins what the same words would begin if they were typed, and what moves money asks once more.
 */

/** Never proposed: sends, recipients and logins, what loosens or ends something at once, and what asks a model again. */
const WITHHELD: readonly CommandName[] = [
  ...(["send", "recipients", "login", "connect", "unlink", "unfreeze", "ask", "start"] as const),
];

/** The functions for the model, a line for each. */
export const FUNCTIONS = menu
  .map(({ name, argument, summary }) => `/${name}${argument === "" ? "" : ` ${argument}`}: ${summary}`)
  .join("\n");

const COIN = /^[A-Za-z0-9][A-Za-z0-9.$-]{0,19}$/;

/** Whether the words behind a command stand in the person's own words. By the command; none of the others takes any. */
const CHECKS: Partial<Record<CommandName, (argument: string, words: string) => boolean>> = {
  price: (argument) => COIN.test(argument),
  signals: (argument) => COIN.test(argument),
  research: (argument) => COIN.test(argument),
  report: (argument) => COIN.test(argument),
  follow: (argument) => COIN.test(argument),
  stop: (argument) => COIN.test(argument),
  whales: (argument, words) => listNumbers(words).includes(argument),
  alert: (argument, words) => {
    const condition = readLine(argument);
    return condition !== null && findDifference(condition, argument, words, []) === null;
  },
  swap: (argument, words) => hasSaid(argument, words),
};

/** Numbers as they are written, without signs of currencies. */
const listNumbers = (text: string): string[] => text.match(/\d+(?:[.,]\d+)*/g) ?? [];

/** Whether the words name a swap's amount, with its sign, then the token that leaves, and somewhere the other one. */
function hasSaid(argument: string, words: string): boolean {
  const order = readOrder(`swap ${argument}`);
  if (order?.kind !== "swap") return false;
  const split = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^\x20-\x7e]/g, " ")
      .replace(/(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)|[$%]/g, " $& ")
      .split(/[^a-z0-9.$%]+/);
  const said = split(words).map((word) => word.replace(/\.$/, ""));
  const amounts = split(argument).filter((part) => /\d/.test(part) || SHARES.has(part));
  const [at = -1, ...others] = amounts.map((part) => said.indexOf(part));
  const tokens = said.map((word) => findToken(word));
  const has = (sign: "$" | "%") =>
    said.some((word) => word === sign || (sign === "$" && DOLLARS.has(word))) === argument.includes(sign);
  return (
    at >= 0 &&
    others.length === 0 &&
    has("$") &&
    has("%") &&
    tokens.slice(at).find((token) => token !== null) === order.fromToken &&
    tokens.includes(order.toToken)
  );
}

/**
 * The button of a model's proposal; `null` if it is withheld, or says something that the person did not.
 * @param proposed A command with its words, without the slash.
 * @param words The person's own, with those that the bot's question was about.
 */
export function checkProposal(proposed: string, words: string): Extract<Button, { command: string }> | null {
  const { name = "", argument = "" } = parseCommand(`/${proposed}`) ?? {};
  const command = findCommand(name);
  if (command === null || command.summary === "" || WITHHELD.includes(command.name)) return null;
  const isFit = argument === "" || CHECKS[command.name]?.(argument, words) === true;
  if (!isFit || (argument === "" && /^(?:swap|alert)$/.test(name))) return null;
  // A freeze is asked for once more: the idea was not the person's alone.
  const tapped = name === "freeze" ? "pause" : name;
  const text = `▶ ${name.charAt(0).toUpperCase()}${name.slice(1)} ${argument}`.trim();
  const button = { text, command: `${tapped} ${argument}`.trim() };
  return button.command.length > 64 ? null : button;
}
