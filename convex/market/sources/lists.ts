import type { QueryCtx } from "../../_generated/server";
import { latestOf, LISTS } from "../../evidence/model";
import { factsIn } from "../../evidence/sayings";
import type { ListedCoin as ListedWithPage } from "../../providers/data/coingecko";
import type { Fact, Kind } from "../../evidence/tables";

export type ListedCoin = Omit<ListedWithPage, "url">;

/** The coins with all figures in a list, largest first. */
export function listedCoins(facts: readonly Fact[]): ListedCoin[] {
  const listed = facts.filter(({ kind }) => kind === "rank");
  return listed
    .flatMap(({ subject: symbol, observedAt }): ListedCoin[] => {
      const { name, number } = ofCoin(symbol, facts);
      const [rank, price] = [number("rank"), number("price")];
      const [marketCap, volume24h] = [number("marketCap"), number("volume24h")];
      if (rank === null || price === null || marketCap === null || volume24h === null) return [];
      return [
        { symbol, name, rank, price, change24h: number("change24h"), marketCap, volume24h, observedAt },
      ];
    })
    .sort((a, b) => a.rank - b.rank);
}

export function coinsNamed(question: string, facts: readonly Fact[]): ListedCoin[] {
  const words = new Set(question.split(/[^\p{L}\p{N}.$-]+/u).map((word) => word.replace(/^\$/, "")));
  const lower = question.toLowerCase();
  return listedCoins(facts).filter(
    ({ symbol, name }) => words.has(symbol) || (name.length > 3 && lower.includes(name.toLowerCase())),
  );
}

export type SearchedCoin = { symbol: string; name: string; place: number; change24h: number | null };

/** The most searched coins, most searched first. */
export function searchedCoins(facts: readonly Fact[]): SearchedCoin[] {
  return facts
    .filter(({ kind }) => kind === "trendingPlace")
    .flatMap(({ subject: symbol, value: place }): SearchedCoin[] => {
      const { name, number } = ofCoin(symbol, facts);
      return typeof place === "number" ? [{ symbol, name, place, change24h: number("trendingChange") }] : [];
    })
    .sort((a, b) => a.place - b.place);
}

/** A coin's name, and its figures by kind. */
function ofCoin(symbol: string, facts: readonly Fact[]) {
  const own = facts.filter(({ subject }) => subject === symbol);
  const valueOf = (wanted: Kind) => own.find(({ kind }) => kind === wanted)?.value;
  const number = (kind: Kind) => {
    const value = valueOf(kind);
    return typeof value === "number" ? value : null;
  };
  return { name: String(valueOf("name") ?? symbol), number };
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
  const name = bare(words);
  const named = facts.find(
    ({ kind, value }) => kind === "name" && typeof value === "string" && name !== "" && bare(value) === name,
  );
  return named?.subject ?? null;
}

const bare = (name: string): string => name.toUpperCase().replace(/[^\p{L}\p{N}]+/gu, "");

/** The symbol of a listed token that was given by symbol or name; `null` if no list knows it. */
export async function listedSymbol(ctx: QueryCtx, name: string, now = Date.now()): Promise<string | null> {
  const rows = await Promise.all(LISTS.map((list) => latestOf(ctx, list, now)));
  return symbolAmong(
    rows.flatMap((row) => (row === null ? [] : factsIn(row))),
    name,
  );
}
