import type { ListedCoin as ListedWithPage } from "../providers/coingecko";
import type { Fact, Kind } from "./tables";

/** Facts of many coins, as lists of coins. Pure. */

export type ListedCoin = Omit<ListedWithPage, "url">;

/** The coins of which a list tells all that matters, largest first. */
export function listedCoins(facts: readonly Fact[]): ListedCoin[] {
  const listed = facts.filter(({ kind }) => kind === "rank");
  return listed
    .flatMap(({ subject: symbol, observedAt }): ListedCoin[] => {
      const own = facts.filter(({ subject }) => subject === symbol);
      const number = (kind: Kind) => numberOf(own, kind);
      const [rank, price, marketCap, volume24h] = [
        number("rank"),
        number("price"),
        number("marketCap"),
        number("volume24h"),
      ];
      if (rank === null || price === null || marketCap === null || volume24h === null) return [];
      const name = nameOf(own) ?? symbol;
      return [
        { symbol, name, rank, price, change24h: number("change24h"), marketCap, volume24h, observedAt },
      ];
    })
    .sort((a, b) => a.rank - b.rank);
}

/** The listed coins that a question names, by symbol or by name. */
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
      if (typeof place !== "number") return [];
      const own = facts.filter(({ subject }) => subject === symbol);
      const name = nameOf(own) ?? symbol;
      return [{ symbol, name, place, change24h: numberOf(own, "trendingChange") }];
    })
    .sort((a, b) => a.place - b.place);
}

function numberOf(facts: readonly Fact[], wanted: Kind): number | null {
  const value = facts.find(({ kind }) => kind === wanted)?.value;
  return typeof value === "number" ? value : null;
}

function nameOf(facts: readonly Fact[]): string | null {
  const value = facts.find(({ kind }) => kind === "name")?.value;
  return typeof value === "string" ? value : null;
}

/**
 * The symbol that facts know a token by: its own, or that of the coin with this name, of which people leave out or add what
 * coins are: `Pepe Coin` is Pepe.
 */
export function symbolAmong(facts: readonly Fact[], asked: string): string | null {
  return symbolNamed(facts, asked) ?? symbolNamed(facts, asked.replace(/ (?:COIN|TOKEN)$/, ""));
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
