import { resolveSymbol } from "../lib/money/coins";
import { MINUTE } from "../lib/time";
import { readCommand } from "../social/commands";
import { WALLET_TOKENS } from "../wallets/tokens";
import { createClauses, normalize, NUMBER, takeSchedule, toNumber, type Groups } from "./clauses";
import { getNextTime, type Refusal } from "./schedule";
import { listCoins, type Swap } from "./terms";
import type { Condition } from "./tables";

/** A parser of standing orders in people's words: what is left beside the trigger and the end is an order as in posts. Pure. */

/** A standing order that was parsed from words. @param until Epoch ms. */
export type StandingOrderRequest = { swap: Swap; condition: Condition; times?: number; until?: number };

/** What people call a standing order before they say it. */
const ORDER_NAME =
  /^(?:(?:set|place|make) )?(?:an? )?(?:limit|standing order|stop[ -]?loss|take[ -]?profit)(?: order)?(?: to)?:? /i;
/** The price level of an order: `below 3000` after it, or `when ETH drops below 3000` before it. */
const ORDER_LEVEL = new RegExp(
  String.raw`\b(?:(?:if|when|once|as soon as) (?:the )?(?:price of )?(?<coin>[a-z]{2,10})(?: price)?(?: (?:is|goes|falls|drops|dips|rises|climbs|gets|trades))? )?` +
    String.raw`(?:(?:at or )?(?<way>below|under|above|over)|at(?= ?(?:usd|\$|\d{3}|\d+k))) (?:usd ?|\$)?${NUMBER}(?<multiple>k\b)?(?: ?(?:usd|dollars|\$)(?![a-z]))?`,
  "i",
);

/** The standing order in a text; `null` if it has none; a refusal of a text that is nearly one. */
export function parseStandingOrder(text: string): StandingOrderRequest | Refusal | null {
  if (text.length > 300 || text.includes("?")) return null;
  const clauses = createClauses(
    normalize(text)
      .replace(ORDER_NAME, "")
      .replace(/^dca\b/i, "buy"),
  );
  const schedule = takeSchedule(clauses);
  const level = clauses.take(ORDER_LEVEL);
  const call = clauses.take(/\bon (?:a |each |every )?call\b/i);
  const { times } = clauses.take(/(?<times>\d{1,3}) times\b/i) ?? {};
  const { day } = clauses.take(/\buntil (?<day>\d{4}-\d\d-\d\d)\b/i) ?? {};
  if ([schedule, level, call].filter((one) => one !== null).length !== 1) return null;
  const rest = clauses.words().join(" ").replace(/,$/, "");
  const reading = rest.includes(",") ? null : readCommand(rest);
  if (reading?.kind !== "command") return null;
  const { fromToken, toToken, size } = reading.command;
  if (toToken === null) return { refusal: "A standing order swaps, and sends nothing." };
  // The same slippage as the endpoint's default.
  const swap: Swap = { kind: "swap", fromToken, toToken, amount: "0", size, slippageBps: 100 };
  const condition: Condition | Refusal =
    schedule === null
      ? level === null
        ? { kind: "call" }
        : parseOrderLevel(level, swap)
      : "refusal" in schedule
        ? schedule
        : { kind: "clock", ...schedule };
  if ("refusal" in condition) return condition;
  const timeZone = condition.kind === "clock" ? condition.timeZone : "UTC";
  const noon = day === undefined ? null : Date.parse(`${day}T12:00Z`);
  if (noon !== null && !(noon > 0)) return { refusal: `${day} is no day.` };
  return {
    swap,
    condition,
    ...(times === undefined ? {} : { times: Number(times) }),
    // To the end of that day.
    ...(noon === null ? {} : { until: getNextTime({ time: "00:00", timeZone }, noon) - MINUTE }),
  };
}

function parseOrderLevel(found: Groups, swap: Swap): Condition | Refusal {
  // At a level one buys as it falls there, and sells as it rises there.
  const isSale = WALLET_TOKENS[swap.fromToken].feed === listCoins(swap)[0];
  const { coin = "", way = isSale ? "above" : "below" } = found;
  return resolveTrigger(swap, {
    token: /^(?:it|price)$/i.test(coin) ? "" : coin,
    direction: /below|under/i.test(way) ? "below" : "above",
    levelUsd: toNumber(found),
  });
}

/**
 * The price condition that triggers an order; without a named coin, of the only coin that the order trades.
 */
export function resolveTrigger(
  swap: Swap,
  { token: named, ...level }: { token: string; direction: "above" | "below"; levelUsd: number },
): Condition | Refusal {
  const coins = listCoins(swap);
  const symbol = resolveSymbol(named).replace(/^(?:W(?=ETH$)|CB(?=BTC$))/, "");
  const [only, other] = coins;
  const token =
    coins.find((one) => one === symbol) ?? (named === "" && other === undefined ? only : undefined);
  if (token === undefined)
    return {
      refusal: `The level has to be a price of ${coins.join(" or ") || "ETH or BTC"}, which the order trades.`,
    };
  if (!(level.levelUsd > 0 && level.levelUsd <= 1e9)) return { refusal: `${level.levelUsd} is no price.` };
  return { kind: "price", token, ...level };
}
