import type { Infer } from "convex/values";
import { checksummed } from "../lib/money/addresses";
import { readCommand } from "../social/commands";
import { unitsOf } from "../social/orders";
import { recipientProblem } from "../wallets/recipients";
import type { vSymbol } from "../wallets/tables";

/** Orders in the owner's own words. Only the grammar of posts reads them, and a card shows them. Pure. */

type Symbol = Infer<typeof vSymbol>;
/** What somebody orders in their chat; the amount in digits of the smallest unit. */
export type Order =
  | { kind: "send"; token: Symbol; toAddress: string; amount: string }
  | { kind: "swap"; fromToken: Symbol; toToken: Symbol; amount: string };

/** Words that begin an order; a message without one of them is a question. */
const VERB = /^(?:please\s+)?(?:swap|exchange|convert|trade|sell|buy|send|transfer|pay)\s/i;

export const USAGE = {
  swap: "Write for example: /swap 25 USDC to ETH",
  send: "Write for example: /send 25 USDC to 0x… (the whole address, which has to be on your list)",
};

/** The order in a text; `null` if it orders nothing that could be carried out. */
export function orderIn(text: string): Order | null {
  // Some people write a comma as the decimal mark, so an amount with a comma is ambiguous.
  if (!VERB.test(text) || text.includes(",")) return null;
  const reading = readCommand(text.replaceAll("\u2060", ""));
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
