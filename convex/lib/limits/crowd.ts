import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery, type ActionCtx, type MutationCtx } from "../../_generated/server";
import { change } from "../changes";
import { AppError } from "../errors";
import { countedBy } from "../outside/providerCalls";
import { keepNoted, vNoted } from "../outside/tallies";
import type { Caller } from "./callers";
import { rowsBy } from "../records/rows";
import { holdersOf, mayTake } from "./shares";
import { SECOND } from "../time";

/**
 * How many strangers may wait for an answer at the same time. The small platform class runs 64 actions at once, HTTP
 * requests among them: if all of them were strangers waiting for a model, nothing else would run. Callers who send or
 * swap wait apart from those who ask: questions cost nothing and must keep nobody from their money. Nobody holds more
 * than a tenth of the places that are left (`lib/limits/shares`).
 */
const vCrowd = v.union(v.literal("asking"), v.literal("moving"));
type Crowd = Infer<typeof vCrowd>;

/**
 * The places of each kind, one row per place. While more than half are free, a holder may have `sure` places, whatever
 * a tenth is: two orders of one household can wait side by side, and the other half is for newcomers.
 */
const CROWDS: Record<Crowd, { first: number; most: number; sure: number }> = {
  asking: { first: 0, most: 26, sure: 1 },
  moving: { first: 26, most: 24, sure: 2 },
};
const ALL_PLACES = 50;
/**
 * A client that hangs up ends its handler where it stands, and nothing gives its place back: so it is held no longer than
 * this, and whoever looks at rows meanwhile renews it as they look.
 */
const HELD_MS = 5 * SECOND;
/** When to try again if there is no place. */
const NO_PLACE_MS = 5 * SECOND;

/** Why a caller gets no place: they hold their share, or none is left. */
const vNoPlace = v.union(v.literal("own"), v.literal("full"));
type NoPlace = Infer<typeof vNoPlace>;

/** Renews the place of whoever waits, where it is time to. */
export type Stay = () => Promise<unknown>;

/**
 * Does work while its caller waits; a stranger takes one of the strangers' places.
 * @param without What to do instead if there is no place.
 * @param options.heldMs How long the work takes at most, where it waits for others than rows and cannot renew its place.
 */
export async function waitingAs<Value>(
  ctx: ActionCtx,
  caller: Caller,
  work: (stay: Stay) => Promise<Value>,
  without: (why: NoPlace) => Promise<Value>,
  { crowd = "asking", heldMs = HELD_MS }: { crowd?: Crowd; heldMs?: number } = {},
): Promise<Value> {
  if (caller.signedIn === true) return work(() => Promise.resolve());
  const [holder, around] = holdersOf(caller);
  const place = await ctx.runMutation(internal.lib.limits.crowd.enter, {
    ...{ crowd, heldMs },
    ...(holder === undefined ? {} : { holder }),
    ...(around === undefined ? {} : { around }),
  });
  if (place === "own") return without("own");
  if (place === "full") return without("full");
  let until = Date.now() + heldMs;
  const stay = async () => {
    if (until - Date.now() > heldMs / 2) return;
    until = Date.now() + heldMs;
    await ctx.runMutation(internal.lib.limits.crowd.renew, { place, heldMs });
  };
  return countedBy(
    ctx,
    () => work(stay),
    (noted) => ctx.runMutation(internal.lib.limits.crowd.leave, { place, noted }),
  );
}

/** For requests that cannot be answered without waiting. @throws AppError `rate_limited` */
export function refuseCrowd(why: NoPlace): Promise<never> {
  return Promise.reject(new AppError("rate_limited", REFUSALS[why], { retryAfterMs: NO_PLACE_MS }));
}

const REFUSALS: Record<NoPlace, string> = {
  own: "Too many requests from your network address are waiting for an answer: try again when one of them is answered",
  full: "Too many callers are waiting for an answer at the moment: try again shortly",
};

/** Takes a place. The held ones are read from a snapshot that may be a moment old: a current read would make all callers conflict. */
export const enter = internalMutation({
  args: {
    crowd: vCrowd,
    heldMs: v.number(),
    holder: v.optional(v.string()),
    around: v.optional(v.string()),
  },
  returns: v.union(v.id("crowdPlaces"), vNoPlace),
  handler: async (ctx, { crowd, heldMs, ...who }) => {
    const now = Date.now();
    const free = await freePlaces(ctx, crowd, now);
    if (!(await mayEnter(ctx, crowd, who, free.length, now))) return free.length === 0 ? "full" : "own";
    for (const shard of free) {
      const held = await rowsBy(ctx.db.query("crowdPlaces"), "shard", shard).first();
      if (held !== null && held.until > now) continue;
      if (held !== null) await ctx.db.delete("crowdPlaces", held._id);
      return ctx.db.insert("crowdPlaces", { shard, ...who, until: now + heldMs });
    }
    return "full";
  },
});

/** The places that were free a moment ago, starting at a random one. */
async function freePlaces(ctx: MutationCtx, crowd: Crowd, now: number): Promise<number[]> {
  const wanted = { crowd, now };
  const held: number[] = await ctx.runQuery(internal.lib.limits.crowd.held, wanted, {
    useStaleSnapshot: true,
  });
  const { first, most } = CROWDS[crowd];
  const free = Array.from({ length: most }, (_, i) => first + i).filter((place) => !held.includes(place));
  const turn = Math.floor(Math.random() * free.length);
  return [...free.slice(turn), ...free.slice(0, turn)];
}

/** Which places are held. */
export const held = internalQuery({
  args: { crowd: vCrowd, now: v.number() },
  returns: v.array(v.number()),
  handler: async (ctx, { crowd, now }) => {
    const { first, most } = CROWDS[crowd];
    const rows = await ctx.db
      .query("crowdPlaces")
      .withIndex("by_shard", (q) => q.gte("shard", first).lt("shard", first + most))
      .take(ALL_PLACES);
    return rows.filter(({ until }) => until > now).map(({ shard }) => shard);
  },
});

/** Whether a caller, and the network around them, may have one more of the places that are left. */
async function mayEnter(
  ctx: MutationCtx,
  crowd: Crowd,
  { holder, around }: { holder?: string; around?: string },
  left: number,
  now: number,
): Promise<boolean> {
  const { first, most, sure } = CROWDS[crowd];
  const rows = () => ctx.db.query("crowdPlaces");
  const holds = [
    ...(holder === undefined
      ? []
      : [rows().withIndex("by_holder", (q) => q.eq("holder", holder).gt("until", now))]),
    ...(around === undefined
      ? []
      : [rows().withIndex("by_around", (q) => q.eq("around", around).gt("until", now))]),
  ];
  for (const held of holds) {
    const places = await held.take(ALL_PLACES);
    const own = places.filter(({ shard }) => shard >= first && shard < first + most).length;
    const isSure = own < sure && left > most / 2;
    if (!isSure && !mayTake({ own, left, amount: 1 })) return false;
  }
  return true;
}

/** Holds a place longer, unless somebody has taken it over. */
export const renew = change(
  { place: v.id("crowdPlaces"), heldMs: v.number() },
  async (ctx, { place, heldMs }) => {
    if ((await ctx.db.get("crowdPlaces", place)) === null) return;
    await ctx.db.patch("crowdPlaces", place, { until: Date.now() + heldMs });
  },
);

/** Gives a place back, and counts what its holder has asked of outside services. */
export const leave = change({ place: v.id("crowdPlaces"), noted: vNoted }, async (ctx, { place, noted }) => {
  if ((await ctx.db.get("crowdPlaces", place)) !== null) await ctx.db.delete("crowdPlaces", place);
  await keepNoted(ctx, noted);
});
