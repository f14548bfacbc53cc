import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { formatDollars } from "../lib/text/numbers";
import { SECRET_MARK, type Secret } from "../messenger/tables";
import type { Paragraph } from "../messenger/format";
import { isReached, toWatch } from "./grammar";
import type { Alert, Condition, Standing } from "./tables";
import {
  buildSkippedCard,
  buildStandingEnded,
  buildStandingProposal,
  buildStandingSet,
  type StandingCard,
} from "./standingCards";
import { getEnd } from "./standingOrders";
import { HOW_TO_STAND, isStanding } from "./standingTerms";
import type { Wish } from "./standingWords";

/** Standing orders in a chat: words become a card, taps set, skip and stop. For actions. */

/** The path of an address that triggers an order. */
export const CALL_PATH = "/mcp/defi/standing/call";

/** The card of a standing order in a person's words; `null` for words that are none. @throws AppError */
export async function answerStandingWords(
  ctx: ActionCtx,
  from: { userId: string; messengerId: string },
  wish: Wish | { say: string },
): Promise<StandingCard> {
  if ("say" in wish) return { answer: [[wish.say], [HOW_TO_STAND]], buttons: [] };
  await requireAhead(ctx, wish.condition);
  const alert: Alert = await ctx.runMutation(internal.alerts.standingOrders.proposeStanding, {
    ...from,
    ...requireBounds(wish),
  });
  return buildProposal(alert);
}

function buildProposal(alert: Alert): StandingCard {
  const row = requireOrder(alert);
  return buildStandingProposal(row, Date.now(), getEnd(row, Date.now()));
}

function requireOrder(alert: Alert): Standing {
  if (!isStanding(alert)) throw new AppError("internal", "An alert has no order");
  return alert;
}

/**
 * Reads the live price of a level, which must not be reached yet.
 * @returns It in USD; `null` for another trigger.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function requireAhead(ctx: ActionCtx, condition: Condition): Promise<number | null> {
  if (condition.kind !== "price") return null;
  // Loaded on demand: it asks the chain.
  const { getLivePrice } = await import("../market/live");
  const { priceUsd } = await getLivePrice(ctx, condition.token === "BTC" ? "BTC" : "ETH");
  if (!isReached(toWatch(condition), priceUsd)) return priceUsd;
  const now = `${condition.token} is at ${formatDollars(priceUsd)}: that is true now`;
  throw new AppError(
    "invalid_request",
    `${now}, and a standing order waits for it to become true. Swap instead, or name another level`,
  );
}

const MOST_TIMES = 366;
const LONGEST_MS = 366 * 86_400_000;

/** @throws AppError `invalid_request` for a number of times, or an end, that no order has. */
export function requireBounds(wish: Wish): Wish {
  const { times, until, condition } = wish;
  const refuse = (message: string) => new AppError("invalid_request", message);
  if (times !== undefined && !(times >= 1 && times <= MOST_TIMES))
    throw refuse(`times must be 1 to ${MOST_TIMES}`);
  if (condition.kind === "price" && times !== undefined && times > 1)
    throw refuse("times must be left out for a price: such an order fills once");
  if (until !== undefined && until <= Date.now()) throw refuse("until is in the past: name a later end");
  if (until !== undefined && until > Date.now() + LONGEST_MS)
    throw refuse("until must be at most a year from now");
  return wish;
}

const TAPS = ["stand", "stop", "skip", "rotate", "again"] as const;
type Tap = (typeof TAPS)[number];
export function isStandingTap(word: string): word is Tap {
  return TAPS.some((one) => one === word);
}

/** The card that follows a tap. @param detail Of a skip: the time to pass over, in base 36. @throws AppError */
export async function answerStandingTap(
  ctx: ActionCtx,
  what: Tap,
  own: { userId: string; standingId: string; messengerId: string },
  detail: string,
): Promise<StandingCard & { secret?: Secret }> {
  const { messengerId: _, ...change } = own;
  if (what === "again")
    return buildProposal(await ctx.runMutation(internal.alerts.standingOrders.repeatStanding, own));
  if (what === "stop" || what === "skip") {
    const skips = what === "skip" ? { skips: Number.parseInt(detail, 36) } : {};
    const alert: Alert = await ctx.runMutation(internal.alerts.standingOrders.stopStanding, {
      ...change,
      isChat: true,
      ...skips,
    });
    return what === "skip" ? buildSkippedCard(requireOrder(alert)) : buildStandingEnded(requireOrder(alert));
  }
  const { alert, secret }: { alert: Alert; secret?: Secret } = await ctx.runMutation(
    what === "stand"
      ? internal.alerts.standingOrders.confirmStanding
      : internal.alerts.standingOrders.rotateAddress,
    own,
  );
  const address = secret === undefined ? [] : buildAddress();
  const card = buildStandingSet(requireOrder(alert), Date.now(), address);
  return secret === undefined ? card : { ...card, secret };
}

const buildAddress = (): Paragraph => [
  "Its address, shown this once. Whoever has it can trigger the order, and nothing else; paste it where TradingView takes a webhook URL:\n",
  { code: buildCallUrl(SECRET_MARK) },
];

/** The whole address of a token. */
export const buildCallUrl = (token: string): string => `${getSiteUrl()}${CALL_PATH}?token=${token}`;
