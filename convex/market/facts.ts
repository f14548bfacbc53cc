import { v, type Infer } from "convex/values";
import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { claimRefresh, findRefresh, finishRefresh } from "../platform/answers";
import { defineMutation } from "../platform/changes";
import { vFact, type Fact } from "../figures/facts";
import { MINUTE } from "../lib/time";
import { vCollectionRequest, type Collector, type CollectionRequest } from "./tables";

/** Facts: their storage, their reads, and the search for a coin among them. */
const HALF_HOUR_MS = 30 * MINUTE;

/** The start of a moment's half hour; epoch ms. */
export const toHalfHour = (at: number): number => Math.floor(at / HALF_HOUR_MS) * HALF_HOUR_MS;

export const toCollectionKey = ({ collector, subject }: CollectionRequest): string =>
  `${collector}:${subject}`;

/** How long a source's facts stay current; facts of the other sources one minute. */
const GOOD_FOR_MS: Partial<Record<Collector, number>> = { trending: 5 * MINUTE, news: 15 * MINUTE };
const getGoodForMs = (collector: Collector): number => GOOD_FOR_MS[collector] ?? MINUTE;

/** Live prices of the majors, from each of their sources. */
export const QUOTES: CollectionRequest = { collector: "quotes", subject: "" };

/** Collections that every focus needs. */
export const LISTS = [
  { collector: "markets", subject: "" },
  { collector: "trending", subject: "" },
] as const satisfies readonly CollectionRequest[];

/** Facts in their stored form: reports and lists read many rows, and fields repeat themselves. */
export function encodeFacts(facts: readonly Fact[]): ArrayBuffer {
  return deflateSync(strToU8(JSON.stringify(facts))).slice().buffer;
}

/** The facts of a row. */
export function decodeFacts({ facts: stored }: Pick<Doc<"facts">, "facts">): Fact[] {
  const facts: unknown = JSON.parse(strFromU8(inflateSync(new Uint8Array(stored))));
  // Written only by `encodeFacts`.
  if (!isListOfFacts(facts)) throw new Error("A row of facts holds a list");
  return facts;
}

function isListOfFacts(stored: unknown): stored is Fact[] {
  return Array.isArray(stored);
}

/** The latest facts of a collection, up to the half hour of `at`. */
async function findLatest(
  ctx: QueryCtx,
  requested: CollectionRequest,
  at = Date.now(),
): Promise<Doc<"facts"> | null> {
  return ctx.db
    .query("facts")
    .withIndex("by_key", (q) => q.eq("key", toCollectionKey(requested)).lte("slot", toHalfHour(at)))
    .order("desc")
    .first();
}

export const vFactsAt = v.object({ facts: v.array(vFact), absent: v.array(vCollectionRequest) });
export type FactsAt = Infer<typeof vFactsAt>;

/** The facts of these collections at `at` (epoch ms), and the collections without facts in the `withinMs` before. */
export async function getFactsAt(
  ctx: QueryCtx,
  { requested, withinMs, at }: { requested: readonly CollectionRequest[]; withinMs: number; at: number },
): Promise<FactsAt> {
  const rows = await Promise.all(
    requested.map(async (one) => {
      const row = await findLatest(ctx, one, at);
      return { one, facts: row === null || at - row.collectedAt > withinMs ? null : decodeFacts(row) };
    }),
  );
  return {
    facts: dropNamesakes(rows.flatMap(({ facts }) => facts ?? [])),
    absent: rows.flatMap(({ one, facts }) => (facts === null ? [one] : [])),
  };
}

/** Drops the facts of coins that share a ticker with an earlier coin of the list, which is the larger one. */
function dropNamesakes(facts: readonly Fact[]): Fact[] {
  const ids = new Map<string, string>();
  for (const { subject, id } of facts) if (id !== undefined && !ids.has(subject)) ids.set(subject, id);
  return facts.filter(({ subject, id }) => id === undefined || ids.get(subject) === id);
}

/** Facts without a most searched coin's change where its entry among the largest has the same. */
export function withoutRepeats(facts: readonly Fact[]): Fact[] {
  const listed = new Set(facts.flatMap(({ kind, subject }) => (kind === "change24h" ? [subject] : [])));
  return facts.filter(({ kind, subject }) => kind !== "trendingChange" || !listed.has(subject));
}

/** The symbol of a token among facts, by symbol or name. Words such as "Coin" may be missing or added: `Pepe Coin` is Pepe. */
export function findSymbol(facts: readonly Fact[], name: string): string | null {
  return findSymbolByName(facts, name) ?? findSymbolByName(facts, name.replace(/ (?:COIN|TOKEN)$/, ""));
}

function findSymbolByName(facts: readonly Fact[], words: string): string | null {
  if (facts.some(({ subject }) => subject === words)) return words;
  const name = normalizeName(words);
  const found = facts.find(
    ({ kind, value }) =>
      kind === "name" && typeof value === "string" && name !== "" && normalizeName(value) === name,
  );
  return found?.subject ?? null;
}

export const normalizeName = (name: string): string => name.toUpperCase().replace(/[^\p{L}\p{N}]+/gu, "");

/** The symbol of a listed token, by symbol or name; `null` if no list has it. */
export async function findListedSymbol(
  ctx: QueryCtx,
  name: string,
  now = Date.now(),
): Promise<string | null> {
  return findSymbol((await getFactsAt(ctx, { requested: LISTS, withinMs: Infinity, at: now })).facts, name);
}

/** Longer than the longest wait for a collector. */
const LEASE_MS = MINUTE;

/** The cooldown of a source after a failure. */
const COOLDOWN_MS = MINUTE;

/** The key of a collection in `platform/cache`. */
export const toRefreshKey = (requested: CollectionRequest): string => `facts:${toCollectionKey(requested)}`;

/** Claims stale collections for the caller. Returns them, and the collections that another caller is collecting. */
export const claimCollections = internalMutation({
  args: { requested: v.array(vCollectionRequest.extend({ freshMs: v.number() })) },
  returns: v.object({
    mine: v.array(vCollectionRequest),
    others: v.array(vCollectionRequest.extend({ key: v.string() })),
  }),
  handler: async (ctx, { requested }) => {
    const now = Date.now();
    const mine: CollectionRequest[] = [];
    const others: (CollectionRequest & { key: string })[] = [];
    for (const { freshMs, ...one } of requested) {
      // The facts themselves are large: they are not read if the refresh shows when they were collected.
      const key = toRefreshKey(one);
      const found = await findRefresh(ctx, key);
      const at = found?.doneAt ?? (await findLatest(ctx, one))?.collectedAt ?? 0;
      if (now - at <= Math.max(freshMs, getGoodForMs(one.collector))) continue;
      if (await claimRefresh(ctx, key, LEASE_MS)) mine.push(one);
      else others.push({ ...one, key });
    }
    return { mine, others };
  },
});

/** The outcome of a claim: its facts in their stored form, or the reason for their absence. */
export const vOutcome = v.object({
  claim: vCollectionRequest,
  result: v.union(v.bytes(), v.string()),
});

/** Releases the claims of a batch of collections, each with its facts or the reason for their absence. */
export const storeFacts = defineMutation({ outcomes: v.array(vOutcome) }, (ctx, { outcomes }) =>
  storeOutcomes(ctx, outcomes),
);

export async function storeOutcomes(ctx: MutationCtx, outcomes: readonly Infer<typeof vOutcome>[]) {
  for (const { claim: one, result } of outcomes) {
    const failure = typeof result === "string" ? { error: result, restMs: COOLDOWN_MS } : null;
    await finishRefresh(ctx, toRefreshKey(one), failure);
    if (typeof result === "string") continue;
    const now = Date.now();
    const row = {
      key: toCollectionKey(one),
      slot: toHalfHour(now),
      collectedAt: now,
      facts: result,
    };
    const stored = await findLatest(ctx, one);
    if (stored === null || stored.slot !== row.slot) await ctx.db.insert("facts", row);
    else await ctx.db.replace("facts", stored._id, row);
  }
}

/** The tick after this age is the last within half an hour. */
const LISTS_GOOD_MS = 25 * MINUTE;

/**
 * Claims the lists of coins that would be older than half an hour at the next tick, so that pages have a market without
 * any request. None while the source's rate limit is used up; a claim includes its turn at the source.
 */
export async function claimOldLists(ctx: MutationCtx): Promise<CollectionRequest[]> {
  const claimed: CollectionRequest[] = [];
  for (const one of LISTS) {
    const key = toRefreshKey(one);
    if (Date.now() - ((await findRefresh(ctx, key))?.doneAt ?? 0) < LISTS_GOOD_MS) continue;
    const sources = ["coingecko" as const];
    const [waitMs] = await ctx.runMutation(internal.platform.limits.charges.takeTurns, { sources });
    if (waitMs === 0 && (await claimRefresh(ctx, key, LEASE_MS))) claimed.push(one);
  }
  return claimed;
}

/** `getFactsAt` for actions. */
export const readFactsAt = internalQuery({
  args: { requested: v.array(vCollectionRequest), withinMs: v.number(), at: v.number() },
  returns: vFactsAt,
  handler: getFactsAt,
});
