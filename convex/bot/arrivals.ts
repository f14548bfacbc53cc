import { v } from "convex/values";
import { internal } from "../_generated/api";
import { readMode } from "../identity/model";
import { formatUnits } from "../lib/money/amounts";
import { MINUTE, SECOND } from "../lib/time";
import { enqueueCard, findLinkedChat } from "../messenger/model";
import { defineMutation } from "../platform/changes";
import { cancel, completeWork, enqueueWork, getRunningWork, snoozeWork, vJob } from "../platform/work";
import { requireWallet } from "../wallets/model";
import { queryMoves } from "../wallets/past/looks";
import { createPast, readSum } from "../wallets/result";
import { vPayer } from "../wallets/tables";
import { WALLET_TOKENS, type Symbol } from "../wallets/tokens";

/**
 * Watches a wallet for half an hour after its deposit card, with about thirty reads, and notifies its chat of arrivals.
 * The reads are one piece of leased work; without a card there is none.
 */

const WATCH_MS = 30 * MINUTE;
/** The pauses between reads: 15 seconds at first, two minutes in the end. */
const [SHORTEST_MS, LONGEST_MS] = [15 * SECOND, 2 * MINUTE];
/** The most moves that one read reports. */
const MOST_MOVES = 20;

const vWallet = { userId: v.string(), ...vPayer.omit("book").fields };
export const vWatchedWallet = {
  ...vWallet,
  /** Epoch ms. */
  since: v.number(),
  /** The newest move (`n`) of which the chat has been notified; absent before the first read. */
  notifiedUpTo: v.optional(v.number()),
};

/**
 * Starts a watch; an earlier one of the same user ends.
 * @param args.isNew Whether the wallet was empty a moment ago: everything that the first read finds has arrived.
 */
export const watch = defineMutation({ ...vWallet, isNew: v.boolean() }, async (ctx, { isNew, ...wallet }) => {
  const subject = `arrivals:${wallet.userId}`;
  await cancel(ctx, subject);
  const since = Date.now();
  const watched = { ...wallet, since, ...(isNew ? { notifiedUpTo: 0 } : {}) };
  await enqueueWork(ctx, internal.bot.service.lookAtWallet, watched, { subject, until: since + WATCH_MS });
});

const formatAmount = (raw: string | bigint, token: Symbol) =>
  `${formatUnits(BigInt(raw), WALLET_TOKENS[token].decimals)} ${token}`;

/** Notifies the chat of what has arrived since the previous read, and schedules the next one. */
export const notifyArrivals = defineMutation(
  { ...vWatchedWallet, job: vJob },
  async (ctx, { job, ...watched }) => {
    if ((await getRunningWork(ctx, job)) === null) return;
    const { userId, walletId, since, notifiedUpTo } = watched;
    const now = Date.now();
    const chatId = await findLinkedChat(ctx, userId);
    if (chatId === null || now - since >= WATCH_MS) {
      await completeWork(ctx, job);
      return;
    }
    const moves = await queryMoves(ctx, walletId, Number.MAX_SAFE_INTEGER).take(MOST_MOVES);
    const newest = moves[0]?.n ?? 0;
    const arrived = moves.flatMap(({ n, orderId, in: leg }) =>
      leg !== undefined && orderId === undefined && n > (notifiedUpTo ?? newest)
        ? formatAmount(leg.raw, leg.token)
        : [],
    );
    const { past = createPast() } = await requireWallet(ctx, walletId);
    const held = (["USDC", "ETH"] as const).map((token) => formatAmount(readSum(past.held, token), token));
    if (arrived.length > 0)
      await enqueueCard(ctx, {
        ...{ userId, chatId, bot: "default", kind: "arrival", key: `arrival:${walletId}:${newest}` },
        paragraphs: [
          [{ bold: `💰 ${arrived.toReversed().join(" and ")} arrived` }],
          [`Your wallet has ${held.join(" and ")} now.`],
          [
            (await readMode(ctx, userId)) === true
              ? "Your account is on paper: this is real, and stands beside your book until you are live again."
              : "Say what to do with it, such as “swap 5 USDC to ETH”: nothing moves without your tap.",
          ],
        ],
        buttons: [[{ text: "Portfolio", command: "portfolio" }]],
      });
    const pause = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (now - since) / 8));
    await snoozeWork(ctx, job, pause, { ...watched, notifiedUpTo: newest });
  },
);
