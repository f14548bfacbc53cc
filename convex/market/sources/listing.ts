import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import { AppError, failureOf } from "../../lib/errors";
import { charge } from "../../lib/limits/charges";
import type { Caller } from "../../lib/limits/callers";
import { counted } from "../../lib/outside/providerCalls";
import { DAY, HOUR, roundedNow } from "../../lib/time";
import { gather } from "../../evidence/desk";
import { isMajor, isSymbol, symbolIn } from "../../lib/money/tokens";
import { symbolAmong } from "./lists";
import { LISTS } from "../../evidence/model";
import { mentionsIn, namesOf } from "../../lib/money/names";
import type { Wanted } from "../../evidence/tables";

/**
 * Which tokens exist: those in the lists of the market, and those with a market at one of the exchanges. An exchange's
 * answer about a token is kept for an hour. For actions.
 */

/** `unsure`: the sources that would know cannot be reached. `symbol`: the symbol of a token that was given by name. */
type Listing = { kind: "known" | "unknown" | "unsure"; symbol: string };

/** @param caller The caller to count if an exchange has to be asked; without one the caller was counted already. */
export const listingOf = counted(async (ctx, token: string, caller?: Caller): Promise<Listing> => {
  const stored = await storedListing(ctx, token);
  if (stored.kind === "known") return stored;
  try {
    if (caller !== undefined) await charge(ctx, "refresh", caller);
  } catch (error) {
    if (failureOf(error)?.code !== "rate_limited") throw error;
    return stored;
  }
  await gather(ctx, wantedOf(token), { freshMs: HOUR, waitMs: deadlines.grounding });
  return storedListing(ctx, token);
});

/** What is stored about it. */
export async function storedListing(ctx: ActionCtx, token: string): Promise<Listing> {
  if (isMajor(token)) return { kind: "known", symbol: token };
  const wanted = wantedOf(token);
  const { facts, absent } = await ctx.runQuery(internal.evidence.collections.latest, {
    wanted,
    withinMs: DAY,
    at: roundedNow(),
  });
  const symbol = symbolAmong(facts, token);
  if (symbol !== null) return { kind: "known", symbol };
  return { kind: absent.length === 0 ? "unknown" : "unsure", symbol: token };
}

/** The exchanges only know symbols. */
function wantedOf(token: string): Wanted[] {
  return isSymbol(token) ? [...LISTS, { collector: "listing", subject: token }] : [...LISTS];
}

/**
 * The focus that a token stands for, "" without one. If the sources cannot be reached, a symbol is accepted as it is; a
 * name of several words cannot be resolved then.
 * @throws AppError `not_found` if no source knows the token; `upstream`
 */
export async function focusOf(ctx: ActionCtx, token: string | undefined, caller?: Caller): Promise<string> {
  if (token === undefined) return "";
  const { kind, symbol } = await listingOf(ctx, token, caller);
  if (kind === "unknown") throw new AppError("not_found", unknownToken(symbol));
  if (!isSymbol(symbol)) throw new AppError("upstream", unsureToken(symbol));
  return symbol;
}

/** The first token that a text names, if a source confirms that it exists; "" if it names none. */
export async function focusNamedIn(ctx: ActionCtx, words: string, caller: Caller): Promise<string> {
  const whole = symbolIn(words);
  const named = isSymbol(whole) ? whole : await firstNamedIn(ctx, words);
  if (named === undefined) return "";
  const { kind, symbol } = await listingOf(ctx, named, caller);
  return kind === "known" ? symbol : "";
}

async function firstNamedIn(ctx: ActionCtx, words: string): Promise<string | undefined> {
  const wanted = { wanted: [...LISTS], withinMs: DAY, at: roundedNow() };
  const { facts } = await ctx.runQuery(internal.evidence.collections.latest, wanted);
  const [named] = mentionsIn(words, namesOf(facts)).filter(({ subject }) => subject !== "Base");
  if (named !== undefined) return symbolIn(named.subject);
  // Everybody knows only these symbols in lower case.
  const symbols = words.split(/[^\p{L}\p{N}]+/u).map(symbolIn);
  return symbols.find(isMajor);
}

export const unknownToken = (symbol: string): string =>
  `No source knows the token ${symbol}: name it by its symbol, such as BTC`;

/** The error for a token while the sources that would know it cannot be reached. */
export const unsureToken = (symbol: string): string =>
  `The market's sources cannot be asked whether ${symbol} is traded`;
