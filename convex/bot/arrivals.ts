import { v } from "convex/values";
import { internal } from "../_generated/api";
import { defineMutation } from "../platform/changes";
import { formatUnits } from "../lib/money/amounts";
import { MINUTE, SECOND } from "../lib/time";
import { enqueueCard, findLinkedChat } from "../messenger/model";
import { cancel, completeWork, enqueueWork, getRunningWork, snoozeWork, vJob } from "../platform/work";
import { WALLET_TOKENS } from "../wallets/tokens";

/**
 * After a deposit card the wallet is looked at for half an hour, about thirty times, and its chat is told what has arrived.
 * The looks are one piece of leased work; without a card there is none. They end with the first order, whose proceeds are no
 * deposit.
 */

const WATCHED_MS = 30 * MINUTE;
/** A look every 15 seconds at first, and every two minutes at last. */
const [SHORTEST_MS, LONGEST_MS] = [15 * SECOND, 2 * MINUTE];
/** Anybody may send dust. */
const MOST_TOLD = 5;

const TOKENS = ["USDC", "ETH"] as const;

export const vWatched = {
  userId: v.string(),
  address: v.string(),
  /** Epoch ms. */
  since: v.number(),
  /** How many arrivals were told. */
  told: v.number(),
  /** The most that was seen of each token, digits in its smallest unit: a node may lag. Absent before the first look. */
  seen: v.optional(v.object({ USDC: v.string(), ETH: v.string() })),
};

/** Looks at a wallet from now on; an earlier watch of it ends. */
export const watch = defineMutation({ userId: v.string(), address: v.string() }, async (ctx, watched) => {
  const subject = `arrivals:${watched.userId}`;
  await cancel(ctx, subject);
  const since = Date.now();
  const terms = { subject, until: since + WATCHED_MS };
  await enqueueWork(ctx, internal.bot.looks.lookAtWallet, { ...watched, since, told: 0 }, terms);
});

/** Tells the chat what is more than before, and plans the next look. */
export const storeLook = defineMutation(
  { ...vWatched, job: vJob, USDC: v.string(), ETH: v.string() },
  async (ctx, { job, USDC, ETH, ...watched }) => {
    if ((await getRunningWork(ctx, job)) === null) return;
    const { userId, since, told, seen } = watched;
    const now = Date.now();
    const order = await ctx.db
      .query("orders")
      .withIndex("by_userId_and_countedAt", (q) => q.eq("userId", userId).gt("countedAt", since))
      .first();
    const chatId = await findLinkedChat(ctx, userId);
    if (order !== null || chatId === null || now - since >= WATCHED_MS || told >= MOST_TOLD) {
      await completeWork(ctx, job);
      return;
    }
    const present = { USDC: BigInt(USDC), ETH: BigInt(ETH) };
    const before = { USDC: BigInt(seen?.USDC ?? USDC), ETH: BigInt(seen?.ETH ?? ETH) };
    const more = TOKENS.filter((token) => present[token] > before[token]);
    const say = (amount: bigint, token: (typeof TOKENS)[number]) =>
      `${formatUnits(amount, WALLET_TOKENS[token].decimals)} ${token}`;
    if (more.length > 0)
      await enqueueCard(ctx, {
        ...{ userId, chatId, bot: "default", kind: "arrival", key: `arrival:${job.workId}:${told}` },
        paragraphs: [
          [
            {
              bold: `💰 ${more.map((token) => say(present[token] - before[token], token)).join(" and ")} arrived`,
            },
          ],
          [`Your wallet has ${TOKENS.map((token) => say(present[token], token)).join(" and ")} now.`],
          ["Say what to do with it, such as “swap 5 USDC to ETH”: nothing moves without your tap."],
        ],
        buttons: [[{ text: "Portfolio", command: "portfolio" }]],
      });
    const most = (token: (typeof TOKENS)[number]) =>
      (present[token] > before[token] ? present : before)[token].toString();
    const next = {
      ...watched,
      told: told + (more.length > 0 ? 1 : 0),
      seen: { USDC: most("USDC"), ETH: most("ETH") },
    };
    const pause = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (now - since) / 8));
    await snoozeWork(ctx, job, pause, next);
  },
);
