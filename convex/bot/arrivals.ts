import { v } from "convex/values";
import { internal } from "../_generated/api";
import { defineMutation } from "../platform/changes";
import { readMode } from "../identity/model";
import { formatUnits } from "../lib/money/amounts";
import { MINUTE, SECOND } from "../lib/time";
import { enqueueCard, findLinkedChat } from "../messenger/model";
import { cancel, completeWork, enqueueWork, getRunningWork, snoozeWork, vJob } from "../platform/work";
import { WALLET_TOKENS } from "../wallets/tokens";

/**
 * After a deposit card the wallet is looked at for half an hour, about thirty times, and its chat is told what has arrived.
 * The looks are one piece of leased work; without a card there is none. What an order brings is no arrival.
 */

const WATCHED_MS = 30 * MINUTE;
/** A look every 15 seconds at first, and every two minutes at last. */
const [SHORTEST_MS, LONGEST_MS] = [15 * SECOND, 2 * MINUTE];

const TOKENS = ["USDC", "ETH"] as const;

export const vWatched = {
  userId: v.string(),
  address: v.string(),
  /** Epoch ms. */
  since: v.number(),
  /** At the last look: its time, and the most that was seen of each token (digits in its smallest unit), as nodes may lag. */
  last: v.optional(v.object({ at: v.number(), USDC: v.string(), ETH: v.string() })),
};

/**
 * Looks at a wallet from now on; an earlier watch of it ends.
 * @param args.isNew Whether the wallet was empty a moment ago: all that the first look finds has arrived.
 */
const vWatch = { userId: v.string(), address: v.string(), isNew: v.boolean() };
export const watch = defineMutation(vWatch, async (ctx, { isNew, ...watched }) => {
  const subject = `arrivals:${watched.userId}`;
  await cancel(ctx, subject);
  const since = Date.now();
  const terms = { subject, until: since + WATCHED_MS };
  const last = isNew ? { last: { at: since, USDC: "0", ETH: "0" } } : {};
  await enqueueWork(ctx, internal.bot.looks.lookAtWallet, { ...watched, since, ...last }, terms);
});

/** Tells the chat what is more than before, and plans the next look. */
export const storeLook = defineMutation(
  { ...vWatched, job: vJob, USDC: v.string(), ETH: v.string() },
  async (ctx, { job, USDC, ETH, ...watched }) => {
    if ((await getRunningWork(ctx, job)) === null) return;
    const { userId, since, last } = watched;
    const now = Date.now();
    const chatId = await findLinkedChat(ctx, userId);
    if (chatId === null || now - since >= WATCHED_MS) {
      await completeWork(ctx, job);
      return;
    }
    const order = await ctx.db
      .query("orders")
      .withIndex("by_userId_and_countedAt", (q) =>
        q.eq("userId", userId).eq("paper", undefined).gt("countedAt", 0),
      )
      .order("desc")
      .first();
    const isOrdered = order !== null && (order.endedAt ?? now) + MINUTE >= (last?.at ?? now);
    const held = TOKENS.map((token) => {
      const present = BigInt(token === "USDC" ? USDC : ETH);
      const before = isOrdered ? present : BigInt(last?.[token] ?? present);
      const say = (amount: bigint) => `${formatUnits(amount, WALLET_TOKENS[token].decimals)} ${token}`;
      return {
        most: present > before ? present : before,
        more: present > before ? say(present - before) : null,
        all: say(present),
      };
    });
    const arrived = held.flatMap(({ more }) => more ?? []);
    if (arrived.length > 0)
      await enqueueCard(ctx, {
        ...{ userId, chatId, bot: "default", kind: "arrival", key: `arrival:${job.workId}:${since}:${now}` },
        paragraphs: [
          [{ bold: `💰 ${arrived.join(" and ")} arrived` }],
          [`Your wallet has ${held.map(({ all }) => all).join(" and ")} now.`],
          [
            (await readMode(ctx, userId)) === true
              ? "Your account is on paper: this is real, and stands beside your book until you are live again."
              : "Say what to do with it, such as “swap 5 USDC to ETH”: nothing moves without your tap.",
          ],
        ],
        buttons: [[{ text: "Portfolio", command: "portfolio" }]],
      });
    const [usdc, eth] = held.map(({ most }) => most.toString());
    const pause = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (now - since) / 8));
    await snoozeWork(ctx, job, pause, { ...watched, last: { at: now, USDC: usdc ?? USDC, ETH: eth ?? ETH } });
  },
);
