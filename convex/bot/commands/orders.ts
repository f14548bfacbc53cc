import type { MutationCtx } from "../../_generated/server";
import { checksummed } from "../../lib/money/addresses";
import { readCommand } from "../../social/posts/commands";
import { unitsOf } from "../../social/posts/orders";
import { recipientProblem } from "../../wallets/recipients";
import { notice } from "../cards";
import type { Order } from "../tables";
import { reply, type Command, type Outcome, type Request } from "./command";

/** Orders in the owner's own words. Only the grammar of posts reads them, and a card shows them. */

/** Words that begin an order; a message without one of them is a question. */
const VERB = /^(?:please\s+)?(?:swap|exchange|convert|trade|sell|buy|send|transfer|pay)\s/i;

/** The order in a text; `null` if it orders nothing that could be carried out. Pure. */
export function orderIn(text: string): Order | null {
  // Some people write a comma as the decimal mark, so an amount with a comma is ambiguous.
  const reading = text.includes(",") ? null : readCommand(text.replaceAll("\u2060", ""));
  if (reading?.kind !== "command") return null;
  const { fromToken, toToken, unit, recipient, ...command } = reading.command;
  const units = unit === fromToken ? unitsOf(command.amount, fromToken) : null;
  if (units === null) return null;
  const amount = units.toString();
  if (toToken !== null) return { kind: "swap", fromToken, toToken, amount };
  const toAddress = recipient === null ? null : checksummed(recipient);
  if (recipient === null || toAddress === null || recipientProblem(recipient) !== null) return null;
  return { kind: "send", token: fromToken, toAddress, amount };
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
      const order = orderIn(VERB.test(words) ? words : `${name} ${words}`);
      return order?.kind === name ? shown(userId, order) : reply(USAGE[name]);
    },
  };
}

/** The order in the plain words of a linked account in its own chat; `null` if they are no order. */
export function plainOrder({ sender, userId, argument }: Request): Outcome | null {
  if (!sender.alone || userId === null || !VERB.test(argument)) return null;
  const order = orderIn(argument);
  return order === null ? null : shown(userId, order);
}

function shown(userId: string, order: Order): Outcome {
  return { answer: notice("Working that out…"), later: { kind: "order", userId, order } };
}
