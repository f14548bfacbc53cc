import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getRequired } from "../lib/env";
import { charge } from "../platform/limits/charges";
import { formatDateTime } from "../lib/time";
import type { Button } from "../messenger/format";
import { SECRET_MARK } from "../messenger/tables";
import { ensureWallet } from "../wallets/custody/wallets";
import { readPortfolio } from "../wallets/past/portfolio";
import type { ChatAccount } from "../accounts/chats";
import { buildDepositCard, buildHistoryCard, CREATE, needsAccount } from "./cards";
import { buildQuestion, reply, type CommandOutcome, type CommandRequest } from "./outcomes";

/** Answers about the account of a private chat that take more than one transaction: its wallet, and its login. */

/**
 * The wallet's address with a picture to scan; for half an hour the wallet is looked at. A tap makes an account where there
 * is none (`new`), or moves the account's link to the chat that is its login (`here`).
 */
export async function answerWallet(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { argument, isTap, sender } = request;
  const { messengerId } = sender;
  getRequired("WALLET_ENCRYPTION_KEY");
  if (isTap && argument === "here")
    await ctx.runMutation(internal.accounts.chats.moveLinkToLogin, { messengerId });
  const make = isTap && argument === "new";
  const { ensureAccount } = internal.accounts.chats;
  const account: ChatAccount | null = await ctx.runMutation(ensureAccount, { messengerId, make });
  if (account === null) return needsAccount(ctx, messengerId);
  const { userId, isLogin } = account;
  const { address, existing, book } = await ensureWallet(ctx, { userId, kind: "custody" });
  await ctx.runMutation(internal.bot.arrivals.watch, { userId, address, isNew: !existing });
  const handle = await createFunctionHandle(internal.pictures.drawings.deposit);
  const buttons = [[{ text: "Portfolio", command: "portfolio" }]];
  return {
    answer: buildDepositCard(address, isLogin, book !== undefined),
    buttons,
    picture: { handle, subject: address },
  };
}

/** The moves that `/history` shows, and the most. */
const [SHOWN_MOVES, MOST_MOVES] = [10, 25];

/** The newest moves of the wallet, after a look at it. */
export async function answerHistory(
  ctx: ActionCtx,
  { userId, argument }: CommandRequest,
): Promise<CommandOutcome> {
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  await readPortfolio(ctx, wallet);
  const limit = Math.min(MOST_MOVES, Number(/^\d{1,3}$/.exec(argument)?.[0] ?? 0) || SHOWN_MOVES);
  const { book } = wallet;
  const page = { walletId: book?.id ?? wallet.walletId, before: Number.MAX_SAFE_INTEGER, limit };
  const moves = await ctx.runQuery(internal.wallets.past.looks.listMoves, page);
  return {
    answer: buildHistoryCard(moves, book !== undefined),
    buttons: [[{ text: "Portfolio", command: "portfolio" }]],
  };
}

/** A picture of the wallet's worth over time. */
export async function answerChart(ctx: ActionCtx, { userId }: CommandRequest): Promise<CommandOutcome> {
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  const { since } = (await readPortfolio(ctx, wallet)).result;
  if (wallet.book !== undefined)
    return reply("A book on paper has no chart: ", { command: "paper" }, " has its result.");
  if (since === null) return { answer: buildHistoryCard([], false) };
  const handle = await createFunctionHandle(internal.pictures.drawings.worth);
  return {
    ...reply({ bold: "📈 Your wallet's worth" }, `\nSince ${formatDateTime(Date.parse(since))}`),
    buttons: [[{ text: "Portfolio", command: "portfolio" }]],
    picture: { handle, subject: wallet.walletId },
  };
}

/** The button about the account of whoever starts the bot. A link that went with a deletion is restored. */
export async function findAccountButton(ctx: ActionCtx, { sender, userId }: CommandRequest): Promise<Button> {
  const portfolio = { text: "Portfolio", command: "portfolio" };
  if (userId !== "" || !sender.alone) return portfolio;
  const { messengerId } = sender;
  if ((await ctx.runMutation(internal.accounts.chats.ensureAccount, { messengerId, make: false })) !== null)
    return portfolio;
  const { isLogin } = await ctx.runQuery(internal.accounts.chats.getStanding, { messengerId });
  return isLogin ? { text: "Use my account here", command: "wallet here" } : CREATE;
}

/**
 * Makes the code by which another chat or the web application becomes the login; or, with a code of another chat (its hash),
 * asks whether this one shall, and after a tap opens that change.
 */
export async function answerLogin(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { sender, argument: codeHash, userId, isTap } = request;
  const { messengerId } = sender;
  if (codeHash === "") {
    if (userId === "") return needsAccount(ctx, messengerId);
    const asked = { userId, messengerId };
    const seed: string = await ctx.runMutation(internal.accounts.chats.createLoginCode, asked);
    const handle = await createFunctionHandle(internal.accounts.attachments.readSecret);
    return {
      answer: [
        [{ bold: "🔑 Another login" }, "\n", { code: SECRET_MARK }],
        [
          "For ten minutes: enter this code in the web application, or send me ",
          { command: "login" },
          " and the code from another private chat. Two hours later that is your login, and this chat stays linked. Show the code to nobody. A freeze cancels the change.",
        ],
      ],
      secret: { handle, subject: `login ${seed}` },
    };
  }
  await charge(ctx, "link", { userId: `messenger:${messengerId}`, address: null });
  const wish = { codeHash, messengerId, isMeant: isTap };
  const { account, from } = await ctx.runMutation(internal.accounts.chats.redeemLoginCode, wish);
  const when = `From ${formatDateTime(from)} on`;
  if (isTap)
    return reply(
      `${when} this chat is the login of ${account}, unless a freeze cancels it. You are told here.`,
    );
  const warning = `${when}. Tap only if you made the code yourself: the chat that made it stays linked, and may spend what you pay in.`;
  const yes = { text: "🔐 Yes, mine", command: `login ${codeHash}` };
  return buildQuestion(`🔐 Make this chat the login of ${account}?`, [warning], yes);
}
