import type { Paragraph } from "../../messenger/format";
import { helpCard } from "../cards";
import { accountCommands } from "./account";
import { alertCommands } from "./alerts";
import type { Command } from "./command";
import { marketCommands } from "./market";
import { orderCommands } from "./orders";
import { ownerCommands } from "./owner";
import { priceCommand } from "./prices";
import { researchCommands } from "./research";

/**
 * The bot's commands, with one file for each subject. Answers, help and the messenger's menu are made from them, in
 * this order.
 */
export const commands: readonly Command[] = [
  priceCommand,
  ...alertCommands,
  ...marketCommands,
  ...researchCommands,
  ...accountCommands,
  ...ownerCommands,
  ...orderCommands,
  { name: "help", summary: "What I can do", access: "anywhere", run: () => ({ answer: help() }) },
];

/** The command of a name (lower case), or `null`. */
export function commandNamed(name: string): Command | null {
  return commands.find((command) => command.name === name) ?? null;
}

/** What the bot can do, after an introduction. */
export function help(introduction?: string): Paragraph[] {
  return helpCard(commands, introduction);
}
