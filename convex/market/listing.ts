import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, failureOf } from "../lib/errors";
import type { Fact } from "../lib/facts";
import type { Caller } from "../lib/limits/callers";
import { charge, type LimitName } from "../lib/limits/charges";
import { isMajor, isSymbol } from "../lib/money/coins";
import { deadlines } from "../lib/outside/deadlines";
import { DAY, HOUR, roundedNow } from "../lib/time";
import { gather } from "./collectors";
import { LISTS, symbolAmong } from "./facts";
import type { Wanted } from "./tables";

/**
 * Which tokens exist: those in the lists of the market, and those that are traded at the exchange. An exchange's answer
 * about a token is kept for an hour. For actions.
 */

/** `unsure`: the sources that would know cannot be reached. `symbol`: the symbol of a token that was given by name. */
type Listing = { kind: "known" | "unknown" | "unsure"; symbol: string };

/** @param caller The caller to count if an exchange has to be asked; without one the caller was counted already. */
export async function listingOf(
  ctx: ActionCtx,
  token: string,
  caller?: Caller,
  limit: LimitName = "question",
): Promise<Listing> {
  const stored = await storedListing(ctx, token);
  if (stored.kind === "known") return stored;
  try {
    if (caller !== undefined) await charge(ctx, limit, caller);
  } catch (error) {
    if (failureOf(error)?.code !== "rate_limited") throw error;
    return stored;
  }
  await gather(ctx, wantedOf(token), { freshMs: HOUR, waitMs: deadlines.grounding });
  return storedListing(ctx, token);
}

/** What is stored about it. */
export async function storedListing(ctx: ActionCtx, token: string): Promise<Listing> {
  if (isMajor(token)) return { kind: "known", symbol: token };
  const { facts, absent } = await known(ctx, wantedOf(token));
  const symbol = symbolAmong(facts, token);
  if (symbol !== null) return { kind: "known", symbol };
  return { kind: absent.length === 0 ? "unknown" : "unsure", symbol: token };
}

async function known(ctx: ActionCtx, wanted: Wanted[]): Promise<{ facts: Fact[]; absent: Wanted[] }> {
  const query = { wanted, withinMs: DAY, at: roundedNow() };
  return ctx.runQuery(internal.market.facts.latest, query);
}

/** The exchange only knows symbols. */
function wantedOf(token: string): Wanted[] {
  return isSymbol(token) ? [...LISTS, { collector: "day", subject: token }] : [...LISTS];
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

export const unknownToken = (symbol: string): string =>
  `No source knows the token ${symbol}: name it by its symbol, such as BTC, or leave token out for the whole market`;

/** The error for a token while the sources that would know it cannot be reached. */
export const unsureToken = (symbol: string): string =>
  `The market's sources cannot be asked whether ${symbol} is traded`;
