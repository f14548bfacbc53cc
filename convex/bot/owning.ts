import { internal } from "../_generated/api";
import type { MutationCtx } from "../_generated/server";
import { pseudonymOf } from "../lib/security/pseudonyms";
import { reasonOf } from "../lib/text/failures";
import { dateTime } from "../lib/time";
import { walletOf } from "../wallets/model";
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
  const from: number | null = await ctx.runMutation(internal.accounts.claims.own, { code, messengerId });
  if (from === null) return { answer: [[{ bold: "🔐 Owned" }], [OWNED]] };
  return {
    answer: [
      [{ bold: "🔐 Not yours yet" }],
      [
        `The account has a wallet, so it is yours from ${dateTime(from)}, unless somebody who knows its id ends your claim before. Until then everything stays as it is.`,
      ],
    ],
  };
}

const OWNED =
  "It is yours. From now on, whoever only knows the account id moves none of its money, and changes nothing about where its cards go, without your tap here.";

async function offer(ctx: MutationCtx, code: string, messengerId: string): Promise<Outcome> {
  const offered = await ctx.runQuery(internal.accounts.claims.offered, { code, messengerId });
  if ("refusal" in offered) return reply(reasonOf({ code: "conflict", message: offered.refusal }));
  const { userId, waits } = offered;
  const wallet = await walletOf(ctx, userId, "custody");
  return {
    answer: [
      [{ bold: "🔐 Is this your wallet?" }],
      [wallet === null ? "There is no wallet yet." : { code: wallet.address }],
      [`Its account is called ${pseudonymOf(userId)}.`],
      [
        "If you tap Own, this chat decides: orders with only the account id wait for your tap, and nobody else can own it. Tap it only for a wallet that you, or a tool of yours, have made.",
      ],
      ...(waits ? [["It is yours 48 hours after your tap."]] : []),
    ],
    buttons: [[{ text: "🔐 Own", command: `own ${code}` }]],
  };
}
