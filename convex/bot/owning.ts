import { internal } from "../_generated/api";
import type { MutationCtx } from "../_generated/server";
import { parseCommand, pastedStart } from "./grammar";
import { orReason, reply, type Outcome } from "./commands";
import type { Message } from "./tables";

/** How a link for an owner starts the bot; the code follows. */
const OWNER_LINK = /^own_([2-9A-HJ-NP-Z]{12})$/;

/**
 * The answer to a link for an owner, or to the tap that owns; `null` for any other message. It is given at once, so that no
 * job keeps the code.
 */
export async function ownerAnswer(ctx: MutationCtx, message: Message): Promise<Outcome | null> {
  const { sender, text, forwarded } = message;
  if (!sender.alone || forwarded) return null;
  const command = parseCommand(text);
  const started = pastedStart(text) ?? (command?.name === "start" ? command.argument : "");
  const [, offered] = OWNER_LINK.exec(started) ?? [];
  if (offered !== undefined) return orReason(() => offer(ctx, offered, sender.messengerId));
  if (command?.name === "own") return orReason(() => own(ctx, command.argument, sender.messengerId));
  return null;
}

async function own(ctx: MutationCtx, code: string, messengerId: string): Promise<Outcome> {
  const { head, words } = await ctx.runMutation(internal.account.ownership.links.own, { code, messengerId });
  return { answer: [[{ bold: `🔐 ${head}` }], [words]] };
}

async function offer(ctx: MutationCtx, code: string, messengerId: string): Promise<Outcome> {
  const now = Date.now();
  const offered = await ctx.runQuery(internal.account.ownership.links.offer, { code, messengerId, now });
  if ("refusal" in offered) return reply(offered.refusal);
  const { address, pseudonym, isWeak } = offered;
  return {
    answer: [
      [{ bold: "🔐 Is this your wallet?" }],
      [address === null ? "There is no wallet yet." : { code: address }],
      [`Its account is called ${pseudonym}.`],
      [
        "If you tap Own, this chat decides: orders with only the account id wait for your tap, and nobody else can own it. Tap it only for a wallet that you, or a tool of yours, have made.",
      ],
      ...(isWeak ? [["Its id could be guessed, so it is yours 48 hours after your tap."]] : []),
    ],
    buttons: [[{ text: "🔐 Own", command: `own ${code}` }]],
  };
}
