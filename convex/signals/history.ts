import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { enqueueRequestedCard } from "../messenger/notices";
import { countedDays } from "./arms/days";
import { publishedHead } from "./record/publication";
import { eventsAfter, headOf, newestOf } from "./record/chain";
import { CUTS, latestSignals, signalIn, signalsOfDay, totalsOf } from "./record/model";
import { DAILY, vSignal, vToken } from "./record/tables";
import { totalsFields } from "./statistics/totals";
import { vHead, vPersonEvent, vSignalEvent } from "./stored";
import { latestCard, picturesOf } from "./views/cards";

/** What there is to know of the daily signals, and their card for those who ask. */

/** The newest signal of each of the tokens that has one. */
export const latest = internalQuery({
  args: { tokens: v.array(vToken) },
  returns: v.array(vSignal),
  handler: async (ctx, { tokens }) => latestSignals(ctx, tokens),
});

/** A token's signal of a UTC day, `2026-11-20`. */
export const ofDay = internalQuery({
  args: { token: vToken, day: v.string() },
  returns: v.union(vSignal, v.null()),
  handler: async (ctx, { token, day }) => {
    const signals = await signalsOfDay(ctx, day);
    return signals.find((one) => one.token === token) ?? null;
  },
});

/** Queues a card with the newest signals for a user's messenger; `null` when none is. */
export const sendLatest = internalMutation({
  args: { tokens: v.array(vToken), userId: v.string() },
  returns: v.union(v.id("messages"), v.null()),
  handler: async (ctx, { tokens, userId }) => {
    const signals = await latestSignals(ctx, tokens);
    if (signals.length === 0) return null;
    const paragraphs = latestCard(signals, await publishedHead(ctx));
    const picture = await picturesOf(signals);
    return enqueueRequestedCard(ctx, { userId, kind: "latest signals", paragraphs, picture });
  },
});

/** What is asked for: signals of a token or of both, generated since a moment and before another (epoch ms). */
const vAsked = v.object({
  /** Left out: the daily ones. */
  arm: v.optional(v.string()),
  token: v.union(vToken, v.null()),
  limit: v.number(),
  since: v.optional(v.number()),
  before: v.optional(v.number()),
});
const vPage = v.object({ signals: v.array(vSignal), totals: v.object(totalsFields) });

/** Signals, newest first, and the totals of their whole scope. A page costs its own length, however long the record. */
export const page = internalQuery({
  args: vAsked,
  returns: vPage,
  handler: async (ctx, asked) => pageOf(ctx, asked),
});

/** The end of a record with the totals of all of it, and which of its days the totals' arms count. */
export const end = internalQuery({
  args: vAsked.pick("arm", "token", "limit"),
  returns: vPage.extend({ counted: v.array(v.string()) }),
  handler: async (ctx, asked) => {
    const told = await pageOf(ctx, asked);
    return { ...told, counted: await countedDays(ctx, asked.arm ?? DAILY, told.signals) };
  },
});

async function pageOf(
  ctx: QueryCtx,
  { arm = DAILY, token, limit, since = 0, before = Infinity }: Infer<typeof vAsked>,
) {
  const signals = ctx.db.query("signals");
  const indexed =
    token === null
      ? signals.withIndex("by_arm", (q) =>
          q.eq("arm", arm).gte("generatedAt", since).lt("generatedAt", before),
        )
      : signals.withIndex("by_token", (q) =>
          q.eq("arm", arm).eq("token", token).gte("generatedAt", since).lt("generatedAt", before),
        );
  const rows = await indexed.order("desc").take(limit);
  return { signals: rows.map(signalIn), totals: await totalsOf(ctx, arm, token ?? "ALL") };
}

/** Events of the chain behind a sequence number, in order, and the chain's head. */
export const proof = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.object({ events: v.array(vSignalEvent), head: vHead }),
  handler: async (ctx, page) => ({
    events: (await eventsAfter(ctx, "daily", page)).map(({ event }) => event),
    head: await headOf(ctx, "daily"),
  }),
});

/** Models and prompts that are told of. */
const MOST_MODELS = 20;

/** What parts of a record come to: by side, by how far the price moved, and of the daily signals by who wrote them. */
export const cuts = internalQuery({
  args: { arm: v.optional(v.string()) },
  returns: v.array(v.object({ cut: v.string(), totals: v.object(totalsFields) })),
  handler: async (ctx, { arm = DAILY }) => {
    const ofModels = await ctx.db
      .query("signalTotals")
      // What begins with `daily/`.
      .withIndex("by_arm", (q) => q.gt("arm", `${DAILY}/`).lt("arm", `${DAILY}0`))
      .take(3 * MOST_MODELS);
    const models = arm === DAILY ? ofModels.filter(({ scope }) => scope === "ALL") : [];
    const wanted = [
      ...CUTS.map((scope) => ({ cut: scope, of: arm, scope })),
      ...models.map((row) => ({ cut: row.arm.slice(DAILY.length + 1), of: row.arm, scope: row.scope })),
    ];
    return Promise.all(
      wanted.map(async ({ cut, of, scope }) => ({ cut, totals: await totalsOf(ctx, of, scope) })),
    );
  },
});

/** The event that last took the head of people's chain in; `null` before the first. */
export const peopleHeldBy = internalQuery({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => (await newestOf(ctx, "people", 1)).at(0)?.sequence ?? null,
});

/** The same of the chain of people's signals. */
export const peopleProof = internalQuery({
  args: { after: v.number(), limit: v.number() },
  returns: v.object({ events: v.array(vPersonEvent), head: vHead }),
  handler: async (ctx, page) => ({
    events: (await eventsAfter(ctx, "people", page)).map(({ event }) => event),
    head: await headOf(ctx, "people"),
  }),
});
