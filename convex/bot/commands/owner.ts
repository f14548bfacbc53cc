import { recordAudit } from "../../lib/records/audit";
import { dateTime, DAY } from "../../lib/time";
import type { MutationCtx } from "../../_generated/server";
import { freezeAccount, userInSay } from "../../messenger/owners";
import { changeRules } from "../../users/levels";
import { decide } from "../../wallets/orders/approvals";
import { decidedCard } from "../../wallets/orders/cards";
import { HOW_TO_LINK, notice } from "../cards";
import type { Command, Outcome, Request } from "./command";

/** What the owner of an account says in their chat about it. All of it tightens, or decides what they were asked. */

type Owned = Request & { userId: string };

export const ownerCommands: readonly Command[] = [
  {
    name: "freeze",
    summary: "Stop everything that moves your money, at once",
    access: "alone",
    binds: true,
    run: freeze,
  },
  {
    name: "block",
    summary: "For 24 hours, refuse orders that come by your userId alone",
    access: "linked",
    binds: true,
    run: block,
  },
  answerNamed("approve", true),
  answerNamed("refuse", false),
];

/** A tap on what the owner was asked. */
function answerNamed(name: string, isYes: boolean): Command {
  return {
    name,
    hidden: true,
    argument: "ID",
    summary: "Answer what you were asked",
    access: "linked",
    binds: true,
    inPlace: true,
    run: async (ctx, { sender, argument }) => {
      const decided = await decide(ctx, argument, { messengerId: sender.messengerId, isYes });
      if (decided === null) return { answer: notice("You were not asked that.") };
      return { answer: decidedCard(decided.approval, decided.standing) };
    },
  };
}

async function freeze(ctx: MutationCtx, { sender }: Request): Promise<Outcome> {
  const userId = await userInSay(ctx, sender.messengerId, Date.now());
  if (userId === null) return { answer: notice(...HOW_TO_LINK) };
  const isNew = await freezeAccount(ctx, userId, "chat");
  return { answer: isNew ? [] : notice("Your account is frozen already.") };
}

async function block(ctx: MutationCtx, { userId }: Owned): Promise<Outcome> {
  const blockedUntil = Date.now() + DAY;
  await changeRules(ctx, userId, { blockedUntil });
  await recordAudit(ctx, { actor: userId, action: "orders blocked", subject: "chat" });
  return {
    answer: notice(
      `Until ${dateTime(blockedUntil)} nobody can order or change your delivery settings by your userId alone. What you were asked is void.`,
    ),
  };
}
