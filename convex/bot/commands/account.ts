import type { MutationCtx } from "../../_generated/server";
import { codeHash } from "../../messenger/codes";
import { linkOfAccount } from "../../messenger/model";
import { confirmLink, dropLink, isLogin } from "../../messenger/owners";
import { pseudonymOf } from "../../lib/security/pseudonyms";
import { walletOf } from "../../wallets/model";
import {
  linkedCard,
  ONLY_LOGIN,
  walletCard,
  NOTHING_TO_CONFIRM,
  notice,
  UNCONFIRMED,
  WRONG_CODE,
} from "../cards";
import { unconfirmedLinkOf } from "../model";
import { orReason, reply, type Command, type Outcome, type Request } from "./command";
import { ownerOffer } from "./owner";
import { startOutcome } from "./prices";
import { carriedIn, needsAccount } from "./webApp";

/** The bot's commands about the account's link and wallet. */

export const accountCommands: readonly Command[] = [
  {
    name: "wallet",
    summary: "Your wallet's address",
    access: "linked",
    run: async (ctx, { userId }) => ({ answer: walletCard(await walletOf(ctx, userId, "custody")) }),
  },
  {
    name: "portfolio",
    summary: "What your wallet holds, at live prices",
    access: "linked",
    // Its answer is a picture, which cannot replace a notice.
    run: (_ctx, { userId }) => ({ answer: [], later: { kind: "portfolio", userId } }),
  },
  {
    name: "start",
    summary: "Say hello",
    binds: true,
    access: "anywhere",
    // A deep link (t.me/<bot>?start=CODE) arrives as this command.
    run: async (ctx, request) => {
      if (request.argument === "" || !request.sender.alone) return startOutcome(ctx, request);
      return (await ownerOffer(ctx, request)) ?? connect(ctx, request);
    },
  },
  {
    name: "connect",
    argument: "CODE",
    summary: "Link this account to yours in the web application",
    binds: true,
    access: "alone",
    run: (ctx, request) => connect(ctx, request),
  },
  {
    name: "confirm",
    argument: "CODE",
    summary: "Use a link of this account that was made outside this chat",
    binds: true,
    access: "alone",
    run: (ctx, request) => confirm(ctx, request),
  },
  {
    name: "unlink",
    summary: "Unlink this account",
    access: "alone",
    run: async (ctx, { sender }) => {
      const link = await linkOfAccount(ctx, sender.messengerId);
      if (link === null) return reply("This account is not linked.");
      if (await isLogin(ctx, link.userId, sender.messengerId)) return reply(...ONLY_LOGIN);
      await dropLink(ctx, link, "account");
      return reply("Unlinked. This chat gets no more of your reports or alerts.");
    },
  },
];

/**
 * Only the person who made the link knows its code: the account's user has it from the web application; the victim of a
 * stranger does not have it.
 */
async function confirm(ctx: MutationCtx, { sender, argument }: Request): Promise<Outcome> {
  const link = await linkOfAccount(ctx, sender.messengerId);
  if (link === null) return reply(...NOTHING_TO_CONFIRM);
  if (link.confirmedAt !== undefined) return reply("This account's link is confirmed already.");
  if (argument === "") return reply(...UNCONFIRMED);
  if (link.codeHash !== codeHash(argument)) return reply(...WRONG_CODE);
  await confirmLink(ctx, link, Date.now());
  const wallet = await walletOf(ctx, link.userId, "custody");
  return {
    answer: linkedCard({ account: pseudonymOf(link.userId), walletAddress: wallet?.address ?? null }),
  };
}

async function connect(ctx: MutationCtx, request: Request): Promise<Outcome> {
  const { sender, userId, argument } = request;
  if (userId !== null) {
    return reply(
      "This account is already linked. Send ",
      { command: "unlink" },
      " before you link it to another user.",
    );
  }
  if (argument === "") return needsAccount("start");
  const { code, then } = carriedIn(argument);
  return orReason(async () => {
    // A code that has linked this account through another bot is used up, and confirms the link.
    const link = await unconfirmedLinkOf(ctx, sender);
    if (link?.codeHash === codeHash(code)) return confirm(ctx, { ...request, argument: code });
    // The code itself is not stored anywhere.
    const later = { kind: "connect" as const, codeHash: codeHash(code), then };
    return { answer: notice("Checking your code…"), later };
  });
}
