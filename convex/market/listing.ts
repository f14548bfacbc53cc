import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData } from "../lib/errors";
import type { Caller } from "../platform/limits/callers";
import { charge, type LimitName } from "../platform/limits/charges";
import { isMajor, isSymbol } from "../lib/money/coins";
import { deadlines } from "../platform/outside/deadlines";
import { DAY, HOUR, getRoundedNow } from "../lib/time";
import { collectFacts } from "./collectors";
import { LISTS, findSymbol, type FactsAt } from "./facts";
import type { CollectionRequest } from "./tables";

/**
 * Which tokens exist: those in the market's lists, and those traded on the exchange. The exchange's answer about a
 * token is reused for an hour. For actions.
 */

/** `unsure`: the sources that could decide are unreachable. `symbol`: the symbol of a token given by name. */
type Listing = { kind: "known" | "unknown" | "unsure"; symbol: string };

/** Whether a token exists. @param caller Charged if the exchange has to be asked; absent if it was charged already. */
export async function getListing(
  ctx: ActionCtx,
  token: string,
  caller?: Caller,
  limit: LimitName = "question",
): Promise<Listing> {
  const stored = await getStoredListing(ctx, token);
  if (stored.kind === "known") return stored;
  try {
    if (caller !== undefined) await charge(ctx, limit, caller);
  } catch (error) {
    if (getErrorData(error)?.code !== "rate_limited") throw error;
    return stored;
  }
  await collectFacts(ctx, listCollections(token), { freshMs: HOUR, waitMs: deadlines.grounding });
  return getStoredListing(ctx, token);
}

/** The listing of a token by stored facts alone. */
export async function getStoredListing(ctx: ActionCtx, token: string): Promise<Listing> {
  if (isMajor(token)) return { kind: "known", symbol: token };
  const query = { requested: listCollections(token), withinMs: DAY, at: getRoundedNow() };
  const { facts, absent }: FactsAt = await ctx.runQuery(internal.market.facts.readFactsAt, query);
  const symbol = findSymbol(facts, token);
  if (symbol !== null) return { kind: "known", symbol };
  return { kind: absent.length === 0 ? "unknown" : "unsure", symbol: token };
}

/** The collections that can decide about a token. The exchange lists symbols only. */
function listCollections(token: string): CollectionRequest[] {
  return isSymbol(token) ? [...LISTS, { collector: "day", subject: token }] : [...LISTS];
}

/**
 * The focus that a token means, "" without one. While the sources are unreachable, a symbol is accepted unchecked; a
 * name of several words cannot be resolved.
 * @throws AppError `not_found` if no source knows the token; `upstream`
 */
export async function resolveFocus(
  ctx: ActionCtx,
  token: string | undefined,
  caller?: Caller,
): Promise<string> {
  if (token === undefined) return "";
  const { kind, symbol } = await getListing(ctx, token, caller);
  if (kind === "unknown") throw new AppError("not_found", explainUnknownToken(symbol));
  if (!isSymbol(symbol)) throw new AppError("upstream", explainUnsureToken(symbol));
  return symbol;
}

export const explainUnknownToken = (symbol: string): string =>
  `No source knows the token ${symbol}: name it by its symbol, such as BTC, or leave token out for the whole market`;

/** The error for a token while the sources that could decide about it are unreachable. */
export const explainUnsureToken = (symbol: string): string =>
  `The sources that know whether ${isSymbol(symbol) ? symbol : "this token"} is traded cannot be reached: try again in a minute, or name the token by its symbol`;
