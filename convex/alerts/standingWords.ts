import { readCommand } from "../social/commands";
import { MINUTE } from "../lib/time";
import { getNextTime, isTimeZone } from "./grammar";
import { readDays, toZone } from "./reading";
import type { Condition } from "./tables";
import { listCoins, type Swap } from "./standingTerms";

/**
 * Standing orders in people's words: an order, and beside it a time, a level or a call. Each clause is read by code and
 * taken out; what is left has to be an order in the grammar of posts, word by word.
 */

/** What a standing order is to do. @param until Epoch ms. */
export type Wish = { swap: Swap; condition: Condition; times?: number; until?: number };

const EVERY =
  /\b(?:every|each) (?<every>day|weekdays?|week|month|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*(?:(?:,| and|, and) (?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)*)(?: on (?:the |day )?(?<on>\d{1,2}(?:st|nd|rd|th|\.)?|[a-z]{3,9}))?/i;
const AT =
  /\bat (?<hour>\d{1,2})(?::(?<minute>\d\d))?(?: ?(?<half>am|pm)\b)?(?: (?<zone>[a-z]+(?:\/[a-z0-9_+-]+){1,2}|utc|gmt)\b)?/i;
const LEVEL =
  /\b(?:(?:if|when|once|as soon as) (?:the )?(?:price of )?(?<coin>[a-z]{2,10})(?: price)?(?: (?:is|goes|falls|drops|dips|rises|climbs|gets|trades))? )?(?:at or )?(?<way>below|under|above|over) (?:usd ?|\$)?(?<level>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?<thousand>k\b)?(?: ?(?:usd|dollars|\$)(?![a-z]))?/i;
const TIMES = /(?<times>\d{1,3}) times\b/i;
const UNTIL = /\buntil (?<day>\d{4}-\d\d-\d\d)\b/i;
const CALL = /\bon (?:a |each |every )?call\b/i;

/** A text whose clauses are taken out one after another. */
function createClauses(text: string) {
  let rest = text;
  return {
    take: (pattern: RegExp): Partial<Record<string, string>> | null => {
      const found = pattern.exec(rest);
      if (found === null) return null;
      rest = `${rest.slice(0, found.index)} ${rest.slice(found.index + found[0].length)}`;
      return found.groups ?? {};
    },
    // A comma between two clauses is left where they were.
    rest: () =>
      rest
        .split(/\s/)
        .filter((word) => word !== "" && word !== ",")
        .join(" ")
        .replace(/^,/, "")
        .replace(/,$/, ""),
  };
}

/** Reads a standing order from words. `null`: they are none. `say`: they are nearly one, and why not quite. */
export function readStanding(text: string): Wish | { say: string } | null {
  const content = text.normalize("NFKC").replace(/\s+/g, " ").trim().replace(/[.!]$/, "");
  if (content.length > 300 || content.includes("?")) return null;
  const clauses = createClauses(
    content
      .replace(/\bdaily\b/i, "every day")
      .replace(/\bweekly\b/i, "every week")
      .replace(/^dca\b/i, "buy"),
  );
  const every = clauses.take(EVERY);
  const at = every === null ? null : clauses.take(AT);
  const level = clauses.take(LEVEL);
  const call = clauses.take(CALL);
  const { times } = clauses.take(TIMES) ?? {};
  const { day } = clauses.take(UNTIL) ?? {};
  if ([every, level, call].filter((one) => one !== null).length !== 1) return null;
  const rest = clauses.rest();
  const reading = rest.includes(",") ? null : readCommand(rest);
  if (reading?.kind !== "command") return null;
  const { fromToken, toToken, size } = reading.command;
  if (toToken === null) return { say: "A standing order swaps, and sends nothing." };
  // The same slippage as the endpoint's default.
  const swap: Swap = { kind: "swap", fromToken, toToken, amount: "0", size, slippageBps: 100 };
  const condition =
    every !== null
      ? readTime(every, at)
      : level === null
        ? { kind: "call" as const }
        : readLevel(level, swap);
  if ("say" in condition) return condition;
  const zone = condition.kind === "clock" ? condition.timeZone : "UTC";
  const noon = day === undefined ? null : Date.parse(`${day}T12:00Z`);
  if (noon !== null && !(noon > 0)) return { say: `${day} is no day.` };
  return {
    swap,
    condition,
    ...(times === undefined ? {} : { times: Number(times) }),
    // To the end of that day.
    ...(noon === null ? {} : { until: getNextTime({ time: "00:00", timeZone: zone }, noon) - MINUTE }),
  };
}

type Groups = Partial<Record<string, string>>;

function readTime({ every = "", on }: Groups, at: Groups | null): Condition | { say: string } {
  const { hour = "", minute = "00", half, zone = "UTC" } = at ?? {};
  if (hour === "") return { say: "At what time? Write it like: every Monday at 09:00 Europe/Berlin." };
  const hours =
    half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
  if (hours > 23 || Number(minute) > 59) return { say: `${hour}:${minute} is no time of day.` };
  const timeZone = toZone(zone);
  if (!isTimeZone(timeZone))
    return { say: `I do not know the zone ${zone}: write one such as Europe/Berlin.` };
  const time = `${String(hours).padStart(2, "0")}:${minute}`;
  const days = toDays(every.toLowerCase(), on);
  return "say" in days ? days : { kind: "clock", time, timeZone, ...days };
}

/** The days of `every` and `on`, as words or a program say them. */
export function toDays(
  every: string,
  on: string | undefined,
): { days?: number[]; dayOfMonth?: number } | { say: string } {
  if (every === "month") {
    const dayOfMonth = Number.parseInt(on ?? "", 10);
    return dayOfMonth >= 1 && dayOfMonth <= 28
      ? { dayOfMonth }
      : { say: "A month needs its day, 1 to 28: every month on the 1st." };
  }
  if (every === "week" && on === undefined) return { say: "A week needs its day: every week on Monday." };
  if (every !== "week" && on !== undefined) return { say: `every ${every} takes no day.` };
  const named = (every === "week" ? (on ?? "") : every)
    .replace(/^weekdays$/, "weekday")
    .replace(/,? and /g, ", ");
  return readDays(named.replace(/,\s*/g, ", ")) ?? { say: `${named} is no day of the week.` };
}

function readLevel(
  { coin = "", way = "", level = "", thousand }: Groups,
  swap: Swap,
): Condition | { say: string } {
  const coins = listCoins(swap);
  const named = coin.replace(/^(?:it|price|weth|ether|ethereum)$/i, (word) =>
    /^(?:it|price)$/i.test(word) ? "" : "ETH",
  );
  const meant = named.replace(/^(?:cbbtc|bitcoin)$/i, "BTC").toUpperCase();
  const [only] = coins;
  const token = coins.find((one) => one === meant) ?? (meant === "" && coins.length === 1 ? only : undefined);
  if (token === undefined)
    return {
      say: `The level has to be a price of ${coins.join(" or ") || "ETH or BTC"}, which the order trades.`,
    };
  const levelUsd = Number(level.replaceAll(",", "")) * (thousand === undefined ? 1 : 1_000);
  const direction = /below|under/i.test(way) ? "below" : "above";
  return levelUsd > 0 && levelUsd <= 1e9
    ? { kind: "price", token, direction, levelUsd }
    : { say: `${level} is no price.` };
}
