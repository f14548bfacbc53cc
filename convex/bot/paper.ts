import type { ActionCtx } from "../_generated/server";
import { changePaper, readPaperState, type PaperState } from "../accounts/paperHttp";
import { formatUnits } from "../lib/money/amounts";
import { listKeys } from "../lib/objects";
import { formatGain, formatSignedPercent, formatUsd } from "../lib/text/numbers";
import { formatDateTime } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { getPaperStart } from "../wallets/book";
import { ON_PAPER } from "../wallets/orders/cards";
import { WALLET_TOKENS } from "../wallets/tokens";
import { formatShortAmount } from "./cards";
import type { CommandOutcome, CommandRequest } from "./outcomes";

/** What the buttons of /paper change. */
const WISHES = {
  on: { on: true },
  live: { on: false },
  again: { startAgain: true },
} as const;
const isWish = (word: string): word is keyof typeof WISHES => Object.hasOwn(WISHES, word);

/** The account's mode with its book, and buttons that change it: only taps do. */
export async function answerPaper(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { userId, argument, isTap, sender, updateId } = request;
  const { messengerId } = sender;
  if (isTap && isWish(argument))
    await changePaper(ctx, userId, WISHES[argument], { messengerId, key: `chat_${updateId}` });
  const state = await readPaperState(ctx, userId);
  return state.paper ? buildBookCard(state) : buildOfferCard();
}

function buildOfferCard(): CommandOutcome {
  const start = listKeys(getPaperStart()).map((token) => {
    const { decimals } = WALLET_TOKENS[token];
    return `${formatShortAmount(formatUnits(getPaperStart()[token] ?? 0n, decimals))} ${token}`;
  });
  return {
    answer: [
      [{ bold: "📝 Paper: everything but the money" }],
      [
        `You order as ever, with the same limits and cards, live quotes and fees; but what moves is a book that starts with ${start.join(" and ")}. Nothing real is signed or sent, and what your wallet holds stays.`,
      ],
      ["It is on at once. Back to live takes two hours, is told here, and a freeze cancels it."],
      ["Now your account is live: orders move real money."],
    ],
    buttons: [[{ text: "📝 Switch on", command: "paper on" }]],
  };
}

function buildBookCard(state: PaperState): CommandOutcome {
  const { since, liveFrom, balances, startedWith, resultUsd, resultPercent, realValueUsd } = state;
  const lines = balances
    .filter(({ raw }) => raw !== "0")
    .map(({ token, balance, valueUsd = null }) => {
      const worth = valueUsd === null ? "no live price" : `$${formatUsd(valueUsd)}`;
      return `\n${token}  ${formatShortAmount(balance)}  (${worth})`;
    });
  const started = startedWith.map(({ token, balance }) => `${formatShortAmount(balance)} ${token}`);
  const end: Paragraph[] =
    liveFrom === null
      ? []
      : [[`Live from ${formatDateTime(Date.parse(liveFrom))} on, unless you freeze your account before.`]];
  const goOn: Button =
    liveFrom === null
      ? { text: "Go live in 2 h", command: "paper live" }
      : { text: "Stay on paper", command: "paper on" };
  return {
    answer: [
      [
        { bold: `${ON_PAPER}your book` },
        `\nOrders move this, and nothing real${since === null ? "" : ` since ${formatDateTime(Date.parse(since))}`}.`,
      ],
      lines.length === 0 ? ["The book is empty."] : [{ bold: "Holdings" }, ...lines],
      [`It started with ${started.join(" and ")}. `, ...describeResult(resultUsd, resultPercent)],
      ...(realValueUsd === undefined
        ? []
        : [[`Beside it your wallet really holds $${formatUsd(realValueUsd)}.`]]),
      ...end,
    ],
    buttons: [[{ text: "Start again", command: "paper again" }, goOn]],
  };
}

function describeResult(usd: number | null, percent: number | null): Paragraph {
  if (usd === null) return ["Its result is not known without live prices."];
  const share = percent === null ? "" : ` (${formatSignedPercent(percent)})`;
  return ["Result: ", { bold: `${formatGain(usd)}${share}` }];
}
