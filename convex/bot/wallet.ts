import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { PaperMode } from "../accounts/paper";
import { changePaper } from "../accounts/paperHttp";
import { getRequired } from "../lib/env";
import { formatUnits } from "../lib/money/amounts";
import { listKeys } from "../lib/objects";
import { formatDateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { SECRET_MARK, type Secret } from "../messenger/tables";
import { charge } from "../platform/limits/charges";
import { getPaperStart } from "../wallets/book";
import { ensureWallet } from "../wallets/custody/wallets";
import { readPortfolio } from "../wallets/holdings";
import { formatShortAmount } from "../wallets/model";
import { WALLET_TOKENS } from "../wallets/tokens";
import {
  buildDepositCard,
  buildHistoryCard,
  buildPaperOffer,
  buildPortfolioCard,
  explainMissingAccount,
} from "./cards";
import { buildQuestion, reply, type ActionRequest, type CommandOutcome } from "./outcomes";

/** Answers about a chat's wallet, live and on paper, and about its login. For actions. */

const PORTFOLIO: Button = { text: "Portfolio", command: "portfolio" };

/**
 * The wallet's address with a picture to scan. The wallet is then watched for deposits for half an hour. A tap makes an
 * account for a chat without one (`new`), or moves an account's link to the chat that is its login (`here`).
 */
export async function answerWallet(ctx: ActionCtx, request: ActionRequest): Promise<CommandOutcome> {
  const { argument, isTap, chatAccount } = request;
  const { messengerId } = request.sender;
  getRequired("WALLET_ENCRYPTION_KEY");
  const takesAccount = isTap && (argument === "here" || argument === "new");
  if (!takesAccount && request.userId === "") return explainMissingAccount(chatAccount);
  const taken = { messengerId, isHere: argument === "here" };
  const { userId, isLogin } = takesAccount
    ? await ctx.runMutation(internal.accounts.chats.takeAccount, taken)
    : { userId: request.userId, isLogin: chatAccount.isLogin };
  const { existing, book, ...wallet } = await ensureWallet(ctx, { userId, kind: "custody" });
  await ctx.runMutation(internal.bot.arrivals.watch, { ...wallet, userId, isNew: !existing });
  const handle = await createFunctionHandle(internal.pictures.drawings.deposit);
  return {
    answer: buildDepositCard(wallet.address, isLogin, book !== undefined),
    buttons: [[PORTFOLIO]],
    picture: { handle, subject: wallet.address },
  };
}

/** What the wallet, or the account's book on paper, holds and has made. */
export async function answerPortfolio(ctx: ActionCtx, { userId }: ActionRequest): Promise<CommandOutcome> {
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  const answer = buildPortfolioCard({ ...wallet, ...(await readPortfolio(ctx, wallet)) });
  const past = [{ text: "History", command: "history" }];
  if (wallet.book === undefined) {
    past.push({ text: "Chart", command: "chart" });
    return { answer, buttons: [past, [{ text: "Pay in", command: "wallet" }]] };
  }
  const { liveFrom }: PaperMode = await ctx.runQuery(internal.accounts.paper.readPaperMode, { userId });
  const end: Paragraph[] =
    liveFrom === null
      ? []
      : [[`Live from ${formatDateTime(liveFrom)} on, unless you freeze your account before.`]];
  const goOn: Button =
    liveFrom === null
      ? { text: "Go live in 2 h", command: "paper live" }
      : { text: "Stay on paper", command: "paper on" };
  return {
    answer: [...answer, [`The book began with ${listStart()}.`], ...end],
    buttons: [past, [{ text: "Start again", command: "paper again" }, goOn]],
  };
}

/** The starting balance of a book on paper, in words. */
function listStart(): string {
  const start = getPaperStart();
  const tokens = listKeys(start).map((token) => {
    const amount = formatUnits(start[token] ?? 0n, WALLET_TOKENS[token].decimals);
    return `${formatShortAmount(amount)} ${token}`;
  });
  return tokens.join(" and ");
}

/** The changes behind the buttons of /paper. */
const PAPER_CHANGES = {
  on: { on: true },
  live: { on: false },
  again: { startAgain: true },
} as const;
const isPaperChange = (word: string): word is keyof typeof PAPER_CHANGES =>
  Object.hasOwn(PAPER_CHANGES, word);

/** The account's book on paper, or else what paper is. Only a tap on a button changes the mode, never typed words. */
export async function answerPaper(ctx: ActionCtx, request: ActionRequest): Promise<CommandOutcome> {
  const { userId, argument, isTap, sender, updateId } = request;
  const { messengerId } = sender;
  if (isTap && isPaperChange(argument))
    await changePaper(ctx, userId, PAPER_CHANGES[argument], { messengerId, key: `chat_${updateId}` });
  const { isOnPaper }: PaperMode = await ctx.runQuery(internal.accounts.paper.readPaperMode, { userId });
  if (isOnPaper) return answerPortfolio(ctx, request);
  return { answer: buildPaperOffer(listStart()), buttons: [[{ text: "📝 Switch on", command: "paper on" }]] };
}

/** How many moves `/history` shows by default, and at most. */
const [SHOWN_MOVES, MOST_MOVES] = [10, 25];

/** The newest moves of the wallet. The wallet is read first, so that new deposits are among them. */
export async function answerHistory(
  ctx: ActionCtx,
  { userId, argument }: ActionRequest,
): Promise<CommandOutcome> {
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  await readPortfolio(ctx, wallet);
  const limit = Math.min(MOST_MOVES, Number(/^\d{1,3}$/.exec(argument)?.[0] ?? 0) || SHOWN_MOVES);
  const { book } = wallet;
  const page = { walletId: book?.id ?? wallet.walletId, before: Number.MAX_SAFE_INTEGER, limit };
  const moves = await ctx.runQuery(internal.wallets.past.looks.listMoves, page);
  return { answer: buildHistoryCard(moves, book !== undefined), buttons: [[PORTFOLIO]] };
}

/** A picture of the wallet's worth over time. */
export async function answerChart(ctx: ActionCtx, { userId }: ActionRequest): Promise<CommandOutcome> {
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" });
  const { since } = (await readPortfolio(ctx, wallet)).result;
  if (wallet.book !== undefined)
    return reply("A book on paper has no chart: ", { command: "paper" }, " has its result.");
  if (since === null) return { answer: buildHistoryCard([], false) };
  const handle = await createFunctionHandle(internal.pictures.drawings.worth);
  return {
    ...reply({ bold: "📈 Your wallet's worth" }, `\nSince ${formatDateTime(Date.parse(since))}`),
    buttons: [[PORTFOLIO]],
    picture: { handle, subject: wallet.walletId },
  };
}

/**
 * Without an argument, makes the code by which another chat or the web application becomes the login. With the hash of a code
 * from another chat, asks whether this chat should become the login; the tap starts that change.
 */
export async function answerLogin(ctx: ActionCtx, request: ActionRequest): Promise<CommandOutcome> {
  const { sender, argument: codeHash, userId, isTap } = request;
  const { messengerId } = sender;
  if (codeHash === "") {
    if (userId === "") return explainMissingAccount(request.chatAccount);
    const chat = { userId, messengerId };
    const secret: Secret = await ctx.runMutation(internal.accounts.chats.createLoginCode, chat);
    return {
      answer: [
        [{ bold: "🔑 Another login" }, "\n", { code: SECRET_MARK }],
        [
          "For ten minutes: enter this code in the web application, or send me ",
          { command: "login" },
          " and the code from another private chat. Two hours later that is your login, and this chat stays linked. Show the code to nobody. A freeze cancels the change.",
        ],
      ],
      secret,
    };
  }
  await charge(ctx, "link", { userId: `messenger:${messengerId}`, address: null });
  const redemption = { codeHash, messengerId, isConfirmed: isTap };
  const { account, from } = await ctx.runMutation(internal.accounts.chats.redeemLoginCode, redemption);
  const when = `From ${formatDateTime(from)} on`;
  if (isTap)
    return reply(
      `${when} this chat is the login of ${account}, unless a freeze cancels it. You are told here.`,
    );
  const warning = `${when}. Tap only if you made the code yourself: the chat that made it stays linked, and may spend what you pay in.`;
  const yes = { text: "🔐 Yes, mine", command: `login ${codeHash}` };
  return buildQuestion(`🔐 Make this chat the login of ${account}?`, [warning], yes);
}
