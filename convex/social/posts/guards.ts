import { canonicalAmount, readCommand, type Command } from "./commands";
import type { Intent } from "../tables";

/** Whether the model's reading is what the author wrote. The model proposes; the author's own words decide, read by code. Pure. */

export type Verdict =
  | { kind: "agreed"; command: Command }
  /** `unreadable`: it is unclear which trade was meant. */
  | { kind: "refused"; reason: string; unreadable: boolean };

/** @param threshold The confidence must exceed this; reaching it is not enough. */
export function judge(text: string, intent: Intent, threshold: number): Verdict {
  if (intent.action === "unknown") return refused("The post asks for no trade", true);
  if (!(intent.confidence > threshold))
    return refused("It is not certain enough what the post asks for", false);
  const reading = readCommand(text);
  if (reading.kind === "none") return refused(reading.reason, true);
  const { command } = reading;
  const disagreement = difference(command, intent);
  return disagreement === null
    ? { kind: "agreed", command }
    : refused(`The ${disagreement} is not what the post says`, true);
}

function refused(reason: string, unreadable: boolean): Verdict {
  return { kind: "refused", reason, unreadable };
}

/** Names the first difference between the model's reading and the author's words. */
function difference(command: Command, intent: Intent): string | null {
  if (intent.action !== command.action) return "action";
  if (intent.amount === null || canonicalAmount(intent.amount) !== command.amount) return "amount";
  if (intent.unit !== command.unit) return "amount's unit";
  if (intent.fromToken !== command.fromToken || intent.toToken !== command.toToken) return "token";
  if ((intent.recipient?.toLowerCase() ?? null) !== (command.recipient?.toLowerCase() ?? null))
    return "recipient";
  return null;
}
