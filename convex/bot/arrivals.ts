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
 * After a deposit card the wallet is looked at for half an hour, about thirty times, and its chat is told of the moves by
 * which something has arrived. The looks are one piece of leased work; without a card there is none.
 */

const WATCHED_MS = 30 * MINUTE;
/** A look every 15 seconds at first, and every two minutes at last. */
const [SHORTEST_MS, LONGEST_MS] = [15 * SECOND, 2 * MINUTE];
/** More moves in one look are not told. */
const MOST_MOVES = 20;

const vWallet = { userId: v.string(), ...vPayer.omit("book").fields };
export const vWatched = {
  ...vWallet,
  /** Epoch ms. */
  since: v.number(),
  /** The newest move that the chat knows of (`n`); absent until the first look. */
  told: v.optional(v.number()),
};

/**
 * Looks at a wallet from now on; an earlier watch of it ends.
 * @param args.isNew Whether the wallet was empty a moment ago: all that the first look finds has arrived.
 */
export const watch = defineMutation({ ...vWallet, isNew: v.boolean() }, async (ctx, { isNew, ...wallet }) => {
  const subject = `arrivals:${wallet.userId}`;
  await cancel(ctx, subject);
  const since = Date.now();
  const watched = { ...wallet, since, ...(isNew ? { told: 0 } : {}) };
  await enqueueWork(ctx, internal.bot.service.lookAtWallet, watched, { subject, until: since + WATCHED_MS });
});

const say = (raw: string | bigint, token: Symbol) =>
  `${formatUnits(BigInt(raw), WALLET_TOKENS[token].decimals)} ${token}`;

/** Tells the chat what has arrived since the look before, and plans the next look. */
export const tellArrivals = defineMutation({ ...vWatched, job: vJob }, async (ctx, { job, ...watched }) => {
  if ((await getRunningWork(ctx, job)) === null) return;
  const { userId, walletId, since, told } = watched;
  const now = Date.now();
  const chatId = await findLinkedChat(ctx, userId);
  if (chatId === null || now - since >= WATCHED_MS) {
    await completeWork(ctx, job);
    return;
  }
  const moves = await queryMoves(ctx, walletId, Number.MAX_SAFE_INTEGER).take(MOST_MOVES);
  const newest = moves[0]?.n ?? 0;
  const arrived = moves.flatMap(({ n, orderId, in: leg }) =>
    leg !== undefined && orderId === undefined && n > (told ?? newest) ? say(leg.raw, leg.token) : [],
  );
  const { past = createPast() } = await requireWallet(ctx, walletId);
  const held = (["USDC", "ETH"] as const).map((token) => say(readSum(past.held, token), token));
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
  await snoozeWork(ctx, job, pause, { ...watched, told: newest });
});
