import { recordAudit } from "../../lib/records/audit";
import { dateTime, DAY } from "../../lib/time";
import { internal } from "../../_generated/api";
import type { MutationCtx } from "../../_generated/server";
import { freezeAccount, thaw, userInSay } from "../../messenger/owners";
import { changeRules } from "../../users/levels";
import { decidedCard } from "../../wallets/orders/cards";
import { answer } from "../../wallets/orders/questions";
import { orReason, reply, type Command, type Outcome, type Request } from "./command";
import { needsAccount } from "./webApp";

/** The owner's commands about their account: they make its rules tighter, decide a question, or take effect later. */

/** How a link for an owner starts the bot; the code follows. */
const OWNER_LINK = /^own_([2-9A-HJ-NP-Z]{12})$/;

export const ownerCommands: readonly Command[] = [
  {
    name: "own",
    hidden: true,
    argument: "CODE",
    summary: "Own the wallet of a link",
    access: "alone",
    binds: true,
    inPlace: true,
    run: (ctx, { sender, argument }) =>
      orReason(async () => {
        const { head, words } = await ctx.runMutation(internal.account.ownership.links.own, {
          ...{ code: argument, messengerId: sender.messengerId },
        });
        return { answer: [[{ bold: `🔐 ${head}` }], [words]] };
      }),
  },
  {
    name: "unfreeze",
    summary: "End a freeze two hours from now, if this account is the owner's only login",
    access: "linked",
    binds: true,
    run: (ctx, { userId, sender }) =>
      orReason(async () => {
        const from = await thaw(ctx, userId, sender.messengerId);
        return reply(
          `From ${dateTime(from)} on your account is not frozen any more, unless somebody freezes it again.`,
        );
      }),
  },
  {
    name: "freeze",
    summary: "Stop everything that moves your money, at once",
    access: "alone",
    binds: true,
    run: async (ctx, { sender }) => {
      const userId = await userInSay(ctx, sender.messengerId, Date.now());
      if (userId === null) return needsAccount("freeze");
      await freezeAccount(ctx, userId, "chat");
      return { answer: [] };
    },
  },
  {
    name: "block",
    summary: "For 24 hours, refuse orders that are made with only your account id",
    access: "linked",
    binds: true,
    run: async (ctx, { userId }) => {
      const blockedUntil = Date.now() + DAY;
      await changeRules(ctx, userId, { blockedUntil });
      await recordAudit(ctx, { actor: userId, action: "orders blocked", subject: "chat" });
      return reply(
        `Until ${dateTime(blockedUntil)} nobody can order or change your delivery settings by your account id alone. What you were asked is void.`,
      );
    },
  },
  {
    name: "newid",
    summary: "Replace an account id that has leaked with a new one",
    access: "linked",
    binds: true,
    inPlace: true,
    run: async (ctx, { userId, argument, isTap }) => {
      if (!isTap || argument !== "yes")
        return {
          answer: [
            [{ bold: "🔁 A new account id?" }],
            [
              "From then on the old one belongs to nobody: programs and assistants that use it need the new one. Orders that wait for your approval are void. Wallets, settings and keys stay.",
            ],
          ],
          buttons: [[{ text: "🔁 Replace", command: "newid yes" }]],
        };
      return orReason(async () => {
        const replaced: { userId: string } = await ctx.runMutation(internal.account.ids.replacement.replace, {
          userId,
        });
        return reply("Your account id is now ", { bold: replaced.userId });
      });
    },
  },
  answerNamed("approve", true),
  answerNamed("refuse", false),
];

/** The answer to a link for an owner; `null` if it is no such link. */
export async function ownerOffer(ctx: MutationCtx, { sender, argument }: Request): Promise<Outcome | null> {
  const [, code] = OWNER_LINK.exec(argument) ?? [];
  if (code === undefined) return null;
  const { messengerId } = sender;
  const offered = await ctx.runQuery(internal.account.ownership.links.offer, {
    code,
    messengerId,
    now: Date.now(),
  });
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

/** A tap on a question to the owner. */
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
      const decided = await answer(ctx, argument, isYes ? "yes" : "no", sender.messengerId);
      if (decided === null) return reply("You were not asked that.");
      return { answer: decidedCard(decided.order, decided.standing) };
    },
  };
}
