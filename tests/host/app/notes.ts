import {
  internalActionGeneric,
  internalMutationGeneric,
  makeFunctionReference,
  mutationGeneric,
  queryGeneric,
} from "convex/server";
import { ConvexError, v } from "convex/values";

const writeLater = makeFunctionReference<"mutation">("notes:write");

export const list = queryGeneric({
  args: {},
  handler: async (ctx) =>
    (await ctx.db.query("notes").collect()).map(({ text, by, size }) => ({ text, by, size })),
});

/** How many there are, and when that was. */
export const count = queryGeneric({
  args: {},
  handler: async (ctx) => ({ count: (await ctx.db.query("notes").take(100)).length, at: Date.now() }),
});

export const add = mutationGeneric({
  args: { text: v.string(), size: v.optional(v.int64()) },
  handler: async (ctx, args) => {
    const by = (await ctx.auth.getUserIdentity())?.tokenIdentifier ?? "nobody";
    return ctx.db.insert("notes", { ...args, by });
  },
});

export const refuse = mutationGeneric({
  args: {},
  handler: () => {
    throw new ConvexError({ code: "refused" });
  },
});

export const many = mutationGeneric({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    for (let i = 0; i < count; i++) await ctx.db.insert("notes", { text: `${i}`, by: "many" });
  },
});

export const addLater = mutationGeneric({
  args: { text: v.string(), ms: v.number() },
  handler: async (ctx, { text, ms }) => ctx.scheduler.runAfter(ms, writeLater, { text }),
});

/** Schedules a function that there is not. */
export const addNowhere = mutationGeneric({
  args: {},
  handler: async (ctx) => {
    await ctx.db.insert("notes", { text: "nowhere", by: "nobody" });
    return ctx.scheduler.runAfter(0, makeFunctionReference<"mutation">("nowhere:write"), {});
  },
});

/** Schedules so many calls, each with a million characters. */
export const addLong = mutationGeneric({
  args: { count: v.number() },
  handler: async (ctx, { count }) => {
    for (let i = 0; i < count; i++)
      await ctx.scheduler.runAfter(3_600_000, writeLater, { text: "x".repeat(1_000_000) });
  },
});

export const startSlow = mutationGeneric({
  args: {},
  handler: async (ctx) => ctx.scheduler.runAfter(0, makeFunctionReference<"action">("notes:slow"), {}),
});

/** Writes, and then goes on for as long as its process lives. */
export const slow = internalActionGeneric({
  args: {},
  handler: async (ctx) => {
    await ctx.runMutation(writeLater, { text: "slow started" });
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  },
});

export const startTelling = mutationGeneric({
  args: {},
  handler: async (ctx) => ctx.scheduler.runAfter(0, makeFunctionReference<"action">("notes:telling"), {}),
});

/** Asks until it cannot, and says so. */
export const telling = internalActionGeneric({
  args: {},
  handler: async (ctx) => {
    await ctx.runMutation(writeLater, { text: "telling" });
    try {
      for (;;) {
        await ctx.runQuery(makeFunctionReference<"query">("notes:list"), {});
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      console.error("could not ask", error);
      throw error;
    }
  },
});

export const jobs = queryGeneric({
  args: {},
  handler: async (ctx) =>
    (await ctx.db.system.query("_scheduled_functions").collect()).map(({ name, state }) => ({ name, state })),
});

export const write = internalMutationGeneric({
  args: { text: v.string() },
  handler: async (ctx, { text }) => {
    await ctx.db.insert("notes", { text, by: "scheduler" });
  },
});
