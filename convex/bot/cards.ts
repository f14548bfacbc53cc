import type { Infer } from "convex/values";
import type { ChatAccount } from "../accounts/chats";
import { STANDING_ORDER_EXAMPLES } from "../alerts/terms";
import { getOptional } from "../lib/env";
import { roundUnits, toUsd } from "../lib/money/amounts";
import { formatGain, formatSignedPercent, formatUsd } from "../lib/text/numbers";
import { formatDateTime, MINUTE } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import type { OutgoingCard } from "../messenger/model";
import { formatHoursAndMinutes } from "../research/cards";
import { getFocusName, type Shift } from "../research/model";
import type { PublishedHead } from "../signals/chain";
import { buildHeadLine, buildRecordLines, type WholeRecord } from "../signals/cards";
import { formatShortAmount, EXPLORER, linkTo } from "../wallets/model";
import { ON_PAPER } from "../wallets/orders/cards";
import type { OrderSummary } from "../wallets/orders/summaries";
import { describeMove } from "../wallets/past/moves";
import type { Result } from "../wallets/result";
import type { NamedMove, vHolding } from "../wallets/tables";
import { WALLET_TOKENS, type Symbol } from "../wallets/tokens";

/** The texts and cards of the bot's answers. */

type CardWithButtons = Pick<OutgoingCard, "buttons"> & { answer: Paragraph[] };

export const PRIVATE_ONLY = "I answer that in a private chat only: write to me there.";
export const EXPOSED_CODE_WARNING = " A link code that was shown here is no longer valid: create a new one.";
export const INTERNAL_FAILURE = "Something went wrong on my side. Please try again in a few minutes.";
export const ALREADY_LINKED: Paragraph = [
  "This account is already linked. Send ",
  { command: "unlink" },
  " before you link it to another user.",
];

/**
 * The answer to a request that needs an account. The web application creates a link code, and leads back by
 * `t.me/<bot>?start=CODE`. Without a web application, the `ownerUrl` of an account id makes this chat its owner; a pending
 * claim is answered with the time at which it takes effect.
 */
export function explainMissingAccount({ claimedFrom, isLogin }: ChatAccount): CardWithButtons {
  if (isLogin)
    return {
      answer: [["This chat is the login of your account, and not linked to it."]],
      buttons: [[USE_ACCOUNT_BUTTON]],
    };
  if (claimedFrom !== null) {
    const from = formatDateTime(claimedFrom);
    return {
      answer: [[`The account that you have claimed is yours from ${from} on: send that again then.`]],
    };
  }
  const address = getOptional("WEB_APP_URL");
  if (address === undefined) return { answer: HOW_TO_OWN, buttons: [[CREATE_WALLET_BUTTON]] };
  const url = new URL(address);
  url.searchParams.set("link", "messenger");
  return {
    answer: [["This needs your account: link it, and send that again. Or make one here."]],
    buttons: [[{ text: "Link my account", href: url.href }], [CREATE_WALLET_BUTTON]],
  };
}

/** Links the account to this chat, which is its login. */
export const USE_ACCOUNT_BUTTON: Button = { text: "Use my account here", command: "wallet here" };
/** Makes an account for this chat. */
export const CREATE_WALLET_BUTTON: Button = { text: "Create my wallet", command: "wallet new" };

const HOW_TO_OWN: Paragraph[] = [
  ["This needs an account, and this chat has none yet: a tap makes one that is yours at once."],
  [
    "If an assistant has made a wallet for you, its answer has an ",
    { bold: "ownerUrl" },
    ". Open it, or paste it here, and tap Own.",
  ],
  ["With a link code, send ", { command: "connect" }, " CODE."],
];

/** The recipients of an owner's wallets, each with a button that removes it. @param now Epoch ms. */
export function buildRecipientsCard(
  listed: readonly { address: string; countsFrom: number }[],
  now: number,
): CardWithButtons {
  const lines = listed.map(({ address, countsFrom }): Paragraph => [
    { code: address },
    countsFrom > now ? ` counts from ${formatDateTime(countsFrom)} on` : "",
  ]);
  return {
    answer: [
      [{ bold: "📒 Your recipients" }],
      ...(lines.length === 0 ? [["There is none yet: I send to listed addresses only."]] : lines),
      ["To add one: ", { command: "recipients" }, " add 0x… (it counts two hours later)."],
    ],
    buttons: listed.map(({ address }) => [
      { text: `Remove ${address.slice(0, 6)}…${address.slice(-4)}`, command: `recipients off ${address}` },
    ]),
  };
}

/** The warning above each answer while a link that was made over HTTP, without the operator's secret, is unconfirmed. */
export const UNCONFIRMED_LINK_WARNING: Paragraph = [
  "Your account was linked to a user of the web application outside this chat. If that was you, send ",
  { command: "connect" },
  " CODE with the code that you created there; if it was not, send ",
  { command: "unlink" },
  " to drop it. Do not confirm a code that somebody else gave you.",
];

/** The refusal to unlink an account that is the only login of its user: the wallet would be lost with it. */
export const ONLY_LOGIN_REFUSAL: Paragraph = [
  "I do not unlink this account: it is the only way to your wallet, and without it nothing could be approved. ",
  { command: "freeze" },
  " stops everything that moves your money, and ",
  { command: "newid" },
  " replaces an account id that has leaked. To unlink it, first make another login: ",
  { command: "login" },
  ".",
];

/** The deposit address. Who can reach the wallet is said first, so that it is read before money is sent. */
export function buildDepositCard(address: string, isLogin: boolean, isOnPaper: boolean): Paragraph[] {
  return [
    [
      { bold: `${isOnPaper ? ON_PAPER : ""}💳 Your wallet on Base` },
      isOnPaper
        ? "\nYour account is on paper: what you send here is real, stands beside your book, and moves only when you are live again."
        : "\nIt is yours: what is in it moves only by your taps here.",
    ],
    [
      isLogin
        ? "This chat is its only login: who loses this messenger account loses the wallet. "
        : "The web application is its login. ",
      ...(isLogin ? [{ command: "login" }, " makes another login. "] : []),
      "Sending to a new address waits two hours (",
      { command: "recipients" },
      "), and ",
      { command: "freeze" },
      " stops everything.",
    ],
    [
      { code: address },
      "\nSend USDC or ETH on Base to it, from no other network. I look for 30 minutes, and tell you what arrives.",
    ],
    ...(isOnPaper
      ? []
      : [[{ words: "The wallet on the explorer", href: `https://basescan.org/address/${address}` }]]),
  ];
}

/** The card of an account that a code has linked. @param account Its user's name in the web application. */
export function buildLinkedCard(account: string, walletAddress: string): Paragraph[] {
  return [
    [{ bold: "✅ Linked" }, `\nThis account is linked to ${account} in the web application.`],
    [
      "Its wallet on Base is ",
      { code: walletAddress },
      ". Reports and alerts come to this chat from now on.",
    ],
    [
      "If you did not make this code yourself, send ",
      { command: "unlink" },
      ": it was made by somebody else. The web application's profile unlinks, too.",
    ],
  ];
}

/** The record of the signals. @param site The deployment's address. */
export function buildRecordCard(whole: WholeRecord, head: PublishedHead | null, site: string): Paragraph[] {
  return [
    [{ bold: "🏆 The record" }, ...buildRecordLines(whole).slice(1)],
    ...buildHeadLine(head),
    [{ words: "Every signal, and all figures", href: `${site}/record` }],
  ];
}

/** The orders that wait for their owner's tap, standing orders in words, and the last orders, each with its transaction. */
export function buildOrdersCard(
  questions: readonly OrderSummary[],
  standing: readonly string[],
  last: readonly OrderSummary[],
): Paragraph[] {
  if (questions.length + standing.length + last.length === 0)
    return [["You have ordered nothing yet. ", ...ORDER_EXAMPLES]];
  const describeItem = ({ what, note, txHash }: OrderSummary): Paragraph => [
    { bold: what },
    `\n${note}`,
    ...(txHash === undefined ? [] : [" · ", { words: "transaction", href: EXPLORER + txHash }]),
  ];
  return [
    [{ bold: "🧾 Your orders" }],
    ...questions.map((one) => ["⏳ Waits for your tap: ", ...describeItem(one)]),
    ...(standing.length === 0 ? [] : [["🔁 Standing orders", ...standing.map((words) => `\n${words}`)]]),
    ...last.map(describeItem),
  ];
}

/** A wallet's holdings without the empty ones; a value is `null` without a live price. All values have cents. */
export function buildPortfolioCard(portfolio: {
  address: string;
  book?: unknown;
  balances: readonly Infer<typeof vHolding>[];
  totalValueUsd: number;
  result: Result;
  realValueUsd?: number;
}): Paragraph[] {
  const { address, book, realValueUsd } = portfolio;
  const holdings = portfolio.balances.filter(({ raw }) => raw !== "0");
  const lines = holdings.map(
    ({ token, balance, valueUsd }) =>
      `\n${token}  ${formatShortAmount(balance)}  (${valueUsd === null ? "no live price" : `$${formatUsd(valueUsd)}`})`,
  );
  return [
    book === undefined
      ? [{ bold: "📊 Your portfolio on Base" }, "\n", { code: address }]
      : [{ bold: `${ON_PAPER}your portfolio` }, "\nOrders move this, and nothing real."],
    holdings.length === 0 ? ["The wallet is empty."] : [{ bold: "Holdings" }, ...lines],
    ["Total: ", { bold: `$${formatUsd(portfolio.totalValueUsd)}` }],
    ...(portfolio.result.since === null ? [] : [buildResultLines(portfolio.result)]),
    ...(realValueUsd === undefined
      ? []
      : [[`Beside it the wallet really holds $${formatUsd(realValueUsd)}.`]]),
  ];
}

/** An explanation of paper mode. @param start The starting balance of a book, in words. */
export const buildPaperOffer = (start: string): Paragraph[] => [
  [{ bold: "📝 Paper: everything but the money" }],
  [
    `You order as ever, with the same limits and cards, live quotes and fees; but what moves is a book that starts with ${start}. Nothing real is signed or sent, and what your wallet holds stays.`,
  ],
  ["It is on at once. Back to live takes two hours, is told here, and a freeze cancels it."],
  ["Now your account is live: orders move real money."],
];

/** What was paid in, what the wallet has made of it, and its network fees. */
function buildResultLines({
  paidInUsd,
  takenOutUsd,
  totalUsd,
  percent,
  feesUsd,
  unpriced,
}: Result): Paragraph {
  return [
    `Paid in $${formatUsd(paidInUsd)}${takenOutUsd === 0 ? "" : `, taken out $${formatUsd(takenOutUsd)}`}`,
    "\nResult ",
    { bold: formatGain(totalUsd) },
    percent === null ? "" : ` (${formatSignedPercent(percent)})`,
    unpriced.length === 0 ? "" : `, without ${unpriced.join(" and ")}, which had no live price`,
    `\nNetwork fees $${formatUsd(feesUsd)}`,
  ];
}

/** The newest moves of a wallet. */
export function buildHistoryCard(moves: readonly NamedMove[], isOnPaper: boolean): Paragraph[] {
  if (moves.length === 0) return [["Nothing has moved in your wallet yet."]];
  const formatRounded = (raw: string, token: Symbol) =>
    `${roundUnits(BigInt(raw), WALLET_TOKENS[token].decimals, 6)} ${token}`;
  const lines = moves.map((move): Paragraph => {
    const { at, realised, fee, kind, txHash } = move;
    const result = realised === undefined ? "" : ` · result ${formatGain(toUsd(BigInt(realised)))}`;
    const paid = fee === undefined || kind === "fee" ? "" : ` · fee ${formatRounded(fee.raw, "ETH")}`;
    const when = formatDateTime(at);
    const { explorerUrl } = linkTo(txHash);
    return [
      { bold: describeMove(move, formatRounded) },
      `${result}${paid}\n`,
      explorerUrl === undefined ? when : { words: when, href: explorerUrl },
    ];
  });
  return [[{ bold: isOnPaper ? `${ON_PAPER}what has moved` : "🧾 What has moved" }], ...lines];
}

/** The progress of a user's active shifts. @param now Epoch ms. */
export function buildStatusCard(active: readonly Shift[], now: number): Paragraph[] {
  if (active.length === 0) return [["No research shift is running."]];
  return active.map(({ token, startedAt, stopsAt, interimReportsCount }) => {
    const remaining = Math.max(0, Math.ceil((stopsAt - now) / MINUTE)) * MINUTE;
    return [
      { bold: `🔬 Research shift · ${getFocusName(token)}` },
      `\nRunning for ${formatHoursAndMinutes(now - startedAt)}, ${formatHoursAndMinutes(remaining)} to go`,
      `\nInterim reports: ${interimReportsCount} of 2`,
    ];
  });
}

export const ORDER_EXAMPLES: Paragraph = [
  "Say it like one of these: buy $20 of ETH · swap 25 USDC to BTC · sell half my ETH · ",
  { command: "swap" },
  " all DAI to USDC · ",
  { command: "send" },
  " 25 USDC to 0x… (the whole address, which has to be on your list).",
];

/** The note below an alert whose words look like an order. */
export const ALERT_ONLY_NOTE: Paragraph = [`It only alerts you. ${STANDING_ORDER_EXAMPLES}`];
