import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { claimRefresh, findRefresh, finishRefresh } from "../lib/cache";
import { change } from "../lib/changes";
import { KINDS, vFact, type Fact, type Kind } from "../lib/facts";
import { mentionsIn, type Names, isMajor, symbolIn } from "../lib/money/coins";
import { namesIn } from "../lib/records";
import { plain } from "../lib/text/sentences";
import { MINUTE } from "../lib/time";
import { vWanted, type Collector, type Wanted } from "./tables";

/** Facts as they are collected and stored, and what they say of coins. */

const SLOT_MS = 30 * MINUTE;

/** The start of a moment's half hour; epoch ms. */
export const slotOf = (at: number): number => Math.floor(at / SLOT_MS) * SLOT_MS;

export const keyOf = ({ collector, subject }: Wanted): string => `${collector}:${subject}`;

/** How long a source's facts cannot change, so that it is not asked again earlier; the others every minute. */
const GOOD_FOR_MS: Partial<Record<Collector, number>> = { trending: 5 * MINUTE, news: 15 * MINUTE };
const goodForMs = (collector: Collector): number => GOOD_FOR_MS[collector] ?? MINUTE;

/** Live prices of the majors, by every source of them. */
export const QUOTES: Wanted = { collector: "quotes", subject: "" };

/** What is collected for everybody, whatever the focus. */
export const LISTS = [
  { collector: "markets", subject: "" },
  { collector: "trending", subject: "" },
] as const satisfies readonly Wanted[];

/** Figures of one source about one subject at one time. */
type Saying = Omit<Fact, "kind" | "value"> & { values: Partial<Record<Kind, Fact["value"]>> };

/** Facts in their stored form: those of one source about one subject together. */
export function storedForm(facts: readonly Fact[]): string {
  const sayings: Saying[] = [];
  for (const { kind, value, ...by } of facts) {
    const last = sayings.at(-1);
    const isSame = (["subject", "observedAt", "source", "url", "id"] as const).every(
      (field) => last?.[field] === by[field],
    );
    if (last !== undefined && isSame && last.values[kind] === undefined) last.values[kind] = value;
    else sayings.push({ ...by, values: { [kind]: value } });
  }
  return JSON.stringify(sayings);
}

/** The facts of a row. */
export function factsIn({ facts }: Pick<Doc<"facts">, "facts">): Fact[] {
  // Written by `storedForm` alone.
  const sayings: unknown = JSON.parse(facts);
  if (!areSayings(sayings)) throw new Error("A row of facts holds a list");
  return sayings.flatMap(({ values, ...by }) =>
    namesIn(KINDS).flatMap((kind): Fact[] => {
      const value = values[kind];
      return value === undefined ? [] : [{ ...by, kind, value }];
    }),
  );
}

function areSayings(stored: unknown): stored is Saying[] {
  return Array.isArray(stored);
}

/** The latest facts of a collection, of the half hours up to the one `at` is in. */
async function latestOf(ctx: QueryCtx, wanted: Wanted, at = Date.now()): Promise<Doc<"facts"> | null> {
  return ctx.db
    .query("facts")
    .withIndex("by_key", (q) => q.eq("key", keyOf(wanted)).lte("slot", slotOf(at)))
    .order("desc")
    .first();
}

export const vStanding = v.object({ facts: v.array(vFact), absent: v.array(vWanted) });

/** The facts of these collections as of `at` (epoch ms), and the collections without facts in the `withinMs` before. */
export async function standing(
  ctx: QueryCtx,
  { wanted, withinMs, at }: { wanted: readonly Wanted[]; withinMs: number; at: number },
): Promise<Infer<typeof vStanding>> {
  const rows = await Promise.all(
    wanted.map(async (one) => {
      const row = await latestOf(ctx, one, at);
      return { one, facts: row === null || at - row.collectedAt > withinMs ? null : factsIn(row) };
    }),
  );
  return {
    facts: ofOneCoin(rows.flatMap(({ facts }) => facts ?? [])),
    absent: rows.flatMap(({ one, facts }) => (facts === null ? [one] : [])),
  };
}

/** Facts without those of another coin of the same ticker: the coin that is first, as in the list of the largest, keeps it. */
function ofOneCoin(facts: readonly Fact[]): Fact[] {
  const ids = new Map<string, string>();
  for (const { subject, id } of facts) if (id !== undefined && !ids.has(subject)) ids.set(subject, id);
  return facts.filter(({ subject, id }) => id === undefined || ids.get(subject) === id);
}

/** The symbols of the known subjects that a text names, in its order; the majors' are known in lower case too. */
export function coinsNamed(words: string, names: Names): string[] {
  const text = plain(words).replace(/[\p{L}\p{N}]+/gu, (word) => {
    const [upper, symbol] = [word.toUpperCase(), symbolIn(word)];
    return isMajor(symbol) && (upper === symbol || upper === word) ? symbol : word;
  });
  const named = mentionsIn(text, names).map(symbolIn);
  return [...new Set(named)].filter((subject) => subject !== "BASE");
}

/**
 * The symbol of a token among facts: its own, or that of the coin with this name; words such as "Coin" may be left out
 * or added: `Pepe Coin` is Pepe.
 */
export function symbolAmong(facts: readonly Fact[], name: string): string | null {
  return symbolNamed(facts, name) ?? symbolNamed(facts, name.replace(/ (?:COIN|TOKEN)$/, ""));
}

function symbolNamed(facts: readonly Fact[], words: string): string | null {
  if (facts.some(({ subject }) => subject === words)) return words;
  const name = bareName(words);
  const named = facts.find(
    ({ kind, value }) =>
      kind === "name" && typeof value === "string" && name !== "" && bareName(value) === name,
  );
  return named?.subject ?? null;
}

export const bareName = (name: string): string => name.toUpperCase().replace(/[^\p{L}\p{N}]+/gu, "");

/** The symbol of a listed token that was given by symbol or name; `null` if no list knows it. */
export async function listedSymbol(ctx: QueryCtx, name: string, now = Date.now()): Promise<string | null> {
  return symbolAmong((await standing(ctx, { wanted: LISTS, withinMs: Infinity, at: now })).facts, name);
}

/** Longer than the longest wait for a collector. */
const LEASE_MS = MINUTE;
/** How long a source is left alone after a failure. */
const REST_MS = MINUTE;

/** The key of a collection in `lib/cache`. */
const refreshKey = (wanted: Wanted): string => `facts:${keyOf(wanted)}`;

/** What has to be waited for: collections that are now the caller's, and those of others. */
export const claim = internalMutation({
  args: { wanted: v.array(vWanted), freshMs: v.number() },
  returns: v.object({ mine: v.array(vWanted), others: v.array(vWanted.extend({ key: v.string() })) }),
  handler: async (ctx, { wanted, freshMs }) => {
    const now = Date.now();
    const mine: Wanted[] = [];
    const others: (Wanted & { key: string })[] = [];
    for (const one of wanted) {
      // The facts themselves are long: they are not read if their refresh shows when they were collected.
      const key = refreshKey(one);
      const found = await findRefresh(ctx, key);
      const at = found?.doneAt ?? (await latestOf(ctx, one))?.collectedAt ?? 0;
      if (now - at <= Math.max(freshMs, goodForMs(one.collector))) continue;
      if (await claimRefresh(ctx, key, LEASE_MS)) mine.push(one);
      else others.push({ ...one, key });
    }
    return { mine, others };
  },
});

/** Ends the claims of collections that were finished together: with facts, or with why there are none. */
export const store = change(
  { outcomes: v.array(v.object({ claim: vWanted, result: v.union(v.array(vFact), v.string()) })) },
  async (ctx, { outcomes }) => {
    for (const { claim: one, result } of outcomes) {
      const failure = typeof result === "string" ? { error: result, restMs: REST_MS } : null;
      await finishRefresh(ctx, refreshKey(one), failure);
      if (typeof result === "string") continue;
      const now = Date.now();
      const row = { key: keyOf(one), slot: slotOf(now), collectedAt: now, facts: storedForm(result) };
      const stored = await latestOf(ctx, one);
      if (stored === null || stored.slot !== row.slot) await ctx.db.insert("facts", row);
      else await ctx.db.replace("facts", stored._id, row);
    }
  },
);

/** `standing` for actions. */
export const latest = internalQuery({
  args: { wanted: v.array(vWanted), withinMs: v.number(), at: v.number() },
  returns: vStanding,
  handler: standing,
});
