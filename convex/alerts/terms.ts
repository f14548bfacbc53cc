import { BPS, formatUnits } from "../lib/money/amounts";
import { AppError } from "../lib/errors";
import { formatDollars } from "../lib/text/numbers";
import { DAY } from "../lib/time";
import { formatTokenAmount } from "../wallets/model";
import { parseSize, toUnits, WALLET_TOKENS } from "../wallets/tokens";
import { formatCondition } from "./conditions";
import { countTimes } from "./schedule";
import type { Alert, Condition, StandingOrder, StandingTerms } from "./tables";

/** What a standing order says: its words, its total and its bounds. Pure. */

export type Swap = StandingTerms["swap"];
type PriceCondition = Extract<Condition, { kind: "price" }>;

/** How a standing order is said. */
export const STANDING_ORDER_EXAMPLES =
  "Say a standing order like one of these: buy 25 USDC of ETH every Monday at 09:00 Europe/Berlin · buy $100 of ETH below 3000 · sell all ETH below 2500 until 2027-01-31 · buy 25 USDC of ETH on call.";

export function isStandingOrder(row: Alert): row is StandingOrder {
  return row.order !== undefined;
}

/** The coins that a swap trades, whose prices may trigger it. */
export function listCoins({ fromToken, toToken }: Pick<Swap, "fromToken" | "toToken">): ("BTC" | "ETH")[] {
  const feeds = [WALLET_TOKENS[fromToken].feed, WALLET_TOKENS[toToken].feed];
  return (["BTC", "ETH"] as const).filter((coin) => feeds.includes(coin));
}

/** What one firing sells: `25 USDC`, `$20 of USDC`, `50% of the ETH`. */
function formatSold({ amount, size, fromToken }: Swap): string {
  if (size === undefined) return formatTokenAmount(amount, fromToken);
  const parsed = parseSize(size, fromToken);
  if (typeof parsed === "string") return `${size} of ${fromToken}`;
  if (parsed.kind === "share")
    return parsed.bps === Number(BPS) ? `all ${fromToken}` : `${size} of the ${fromToken}`;
  if (parsed.unit === fromToken) return `${parsed.amount} ${fromToken}`;
  return parsed.unit === "USD" ? `$${parsed.amount} of ${fromToken}` : `${fromToken} for ${size}`;
}

/** What so many firings sell at most: `300 USDC`, `$240`; `null` for a part of a balance, which no number is known of. */
function formatTotal({ amount, size, fromToken }: Swap, times: number): string | null {
  const parsed = size === undefined ? null : parseSize(size, fromToken);
  if (parsed === null) return formatTokenAmount((BigInt(amount) * BigInt(times)).toString(), fromToken);
  if (typeof parsed === "string" || parsed.kind === "share") return null;
  const { unit } = parsed;
  const token = unit === "USD" ? "USDC" : unit;
  const sum = formatUnits(toUnits(parsed.amount, token) * BigInt(times), WALLET_TOKENS[token].decimals);
  return unit === "USD" ? `$${sum}` : `${sum} ${unit}`;
}

/** `25 USDC → ETH, every Monday at 09:00 Europe/Berlin, 12 times: 300 USDC in all`. */
export function describeStandingOrder({
  condition,
  order,
}: Pick<StandingOrder, "condition" | "order">): string {
  const { swap, timesLeft } = order;
  const when =
    condition.kind === "price"
      ? `when ${condition.token} is at ${formatDollars(condition.levelUsd)} or ${condition.direction}`
      : formatCondition(condition);
  const total = timesLeft === undefined ? null : formatTotal(swap, timesLeft);
  const times =
    timesLeft === undefined || condition.kind === "price"
      ? ""
      : `, ${timesLeft === 1 ? "once" : `${timesLeft} times`}${total === null ? "" : `: ${total} in all`}`;
  return `${formatSold(swap)} → ${swap.toToken}, ${when}${times}`;
}

/**
 * The most that a standing order sells from now on, for its card: `up to 12 × 25 USDC = 300 USDC`.
 * @param until Epoch ms: its end.
 */
export function describeTotal(
  { condition, order }: Pick<StandingOrder, "condition" | "order">,
  now: number,
  until: number,
) {
  const { swap, timesLeft = Infinity } = order;
  const sold = formatSold(swap);
  if (condition.kind === "price") return `Once, ${sold}`;
  // Ten calls a day at most.
  const most =
    condition.kind === "clock"
      ? countTimes(condition, now, until)
      : MOST_CALLS_A_DAY * Math.ceil((until - now) / DAY);
  const times = Math.min(timesLeft, most);
  const total = formatTotal(swap, times);
  return `Up to ${times} × ${sold}${total === null ? "" : ` = ${total}`}`;
}

/** How many calls of an address fire in a day. */
export const MOST_CALLS_A_DAY = 10;

/** Why one ends whose time has come, half a sentence. */
export const OVER = "its time is over";

/** How long an order lives without an end of its own, and at most; so long, too, if its times are counted. */
const LIFETIME_MS = 90 * DAY;
const LONGEST_MS = 366 * DAY;
const MOST_TIMES = 366;

/** When a standing order that is set now ends by itself, epoch ms. */
export function getEnd({ until, order }: Pick<Alert, "until" | "order">, now: number): number {
  return until ?? now + (order?.timesLeft === undefined ? LIFETIME_MS : LONGEST_MS);
}

/** @throws AppError `invalid_request` for a number of times, or an end (epoch ms), that no order has */
export function requireBounds(
  { condition, until, order }: Pick<StandingOrder, "condition" | "until" | "order">,
  now: number,
  end: number,
): void {
  const { times = 1 } = order;
  const refuse = (message: string) => new AppError("invalid_request", message);
  if (!(times >= 1 && times <= MOST_TIMES)) throw refuse(`times must be 1 to ${MOST_TIMES}`);
  if (condition.kind === "price" && times > 1)
    throw refuse("times must be left out for a price: such an order fills once");
  if (until !== undefined && until <= now) throw refuse("until is in the past: name a later end");
  if (end > now + LONGEST_MS) throw refuse("until must be at most a year from now");
  if (condition.kind === "clock" && countTimes(condition, now, end) === 0)
    throw refuse("until is before its first time: name a later end");
}

/** Whether an order waits for a better price than the present one: then its level is its bound. A stop has none. */
export function isLimit({ token, direction }: PriceCondition, { toToken }: Swap): boolean {
  return (WALLET_TOKENS[toToken].feed === token) === (direction === "below");
}

/**
 * The least that a limit order may buy: what its level gives, less the slippage.
 * @param given Worth of the sold amount, and price of one whole bought token, live; both in micro-USD.
 */
export function computeLeast(
  { token, levelUsd }: PriceCondition,
  { amount, fromToken, toToken, slippageBps }: Swap,
  given: { value: bigint; price: bigint },
): bigint {
  const level = BigInt(Math.round(levelUsd * 1e6));
  const unit = (of: Swap["toToken"]) => 10n ** BigInt(WALLET_TOKENS[of].decimals);
  const isSold = WALLET_TOKENS[fromToken].feed === token;
  const value = isSold ? (BigInt(amount) * level) / unit(fromToken) : given.value;
  const price = WALLET_TOKENS[toToken].feed === token ? level : given.price;
  return (value * unit(toToken) * (BPS - BigInt(slippageBps))) / (price * BPS);
}
