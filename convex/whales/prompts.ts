import { parse } from "convex-helpers/validators";
import * as z from "zod";
import { hasFigures } from "../figures/writtenNumbers";
import { extractJson } from "../lib/text/json";
import { removeForeignLinksDeep } from "../lib/text/markup";
import { shortLine, readValue, symbol, positiveUsd } from "../figures/answers";
import { ALERT_TYPES, DIRECTIONS, FLOOR_USD } from "./coins";
import { vReported, type Reported } from "./tables";

/** The agent's hourly question, and how its answer is read. */

/** The window of the prompt in hours; one more than the interval, so that a late prompt misses nothing. */
export const WINDOW_HOURS = 2;
/** Of a longer list the largest are kept. */
export const MAX_ALERTS = 30;
/** No transfer is worth more; a larger number is a mistake in the unit. */
const MAX_USD = 1e12;

/** The same every hour: a prompt for an agent that can act contains no third party's text. */
export const PROMPT = [
  `Find the notable whale movements in crypto of the last ${WINDOW_HOURS} hours: large transfers into and out of exchanges, large on-chain transfers, and moves of wallets known as smart money, each worth at least ${FLOOR_USD.toLocaleString("en-US")} USD. Only read; do not trade, transfer or sign anything.`,
  `Answer with a JSON array and nothing else, at most ${MAX_ALERTS} items, largest first, [] when there are none. Each item:`,
  `{"token": "symbol such as ETH", "alertType": ${quoteAll(ALERT_TYPES)}, "amount": value in USD as a plain number, "direction": ${quoteAll(DIRECTIONS)}, "description": "one sentence", "chain": "such as base or ethereum", "occurredAt": "when it moved, ISO 8601 in UTC", "txHash": "only when you know the transaction"}`,
  "Report only movements you have found. Never invent one, and never invent a time or a transaction hash: leave out what you do not know.",
].join("\n");

function quoteAll(words: readonly string[]): string {
  return words.map((one) => `"${one}"`).join(" | ");
}

const alertShape = z.object({
  token: symbol.regex(/^[A-Z0-9][A-Z0-9.$-]{0,19}$/),
  alertType: z.enum(ALERT_TYPES),
  amount: positiveUsd.min(FLOOR_USD).max(MAX_USD),
  direction: z.enum(DIRECTIONS),
  description: shortLine(500),
});

/** EVM chains' with `0x`, Bitcoin's and others' without; Solana's are 64 bytes in base58, where case counts. */
const HASH = /^(?:(?:0x)?[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{80,88})$/i;

const knownKinds = z.string().trim();
/** Optional fields: an alert is not dropped because one of them is malformed. */
const extras = z.object({
  chain: knownKinds
    .toLowerCase()
    .regex(/^[a-z0-9][a-z0-9 .-]{0,29}$/)
    .optional()
    .catch(undefined),
  occurredAt: knownKinds
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/)
    .transform((at) => Date.parse(at))
    .pipe(z.number())
    .optional()
    .catch(undefined),
  txHash: knownKinds
    .regex(HASH)
    .transform((one) => (one.length > 66 ? one : one.toLowerCase()))
    .optional()
    .catch(undefined),
});

const answerShape = z.union([
  z.array(z.unknown()),
  z.object({ alerts: z.array(z.unknown()) }).transform(({ alerts }) => alerts),
]);

/**
 * Reads the agent's answer: a list of alerts, with any prose and fence around it; each alert is accepted or dropped.
 * @returns The largest first; why there is no list, `null` if there is one.
 */
export function parseWhaleAnswer(response: string): { alerts: Reported[]; note: string | null } {
  const lists = extractJson(response).map((json) => answerShape.safeParse(json));
  // A writer corrects itself: the last list counts. A citation such as "[1]" is none.
  const list =
    lists.findLast(({ data }) => data?.some((item) => typeof item === "object")) ??
    lists.findLast(({ data }) => data?.length === 0);
  if (list?.success !== true) return { alerts: [], note: "The agent's answer contained no list of alerts" };
  const usable = list.data
    .flatMap((item) => {
      // The hash is looked up on the chain; other addresses and links are removed.
      const { data } = z.looseObject({ txHash: z.string() }).safeParse(item);
      const ownAlert = removeForeignLinksDeep(item, data?.txHash ?? "");
      const read = readValue(alertShape, ownAlert);
      if (!("value" in read)) return [];
      const { description } = read.value;
      return [{ ...read.value, description: attributeDescription(description), ...extras.parse(ownAlert) }];
    })
    .toSorted((a, b) => b.amount - a.amount)
    .slice(0, MAX_ALERTS);
  const alerts = usable.map((one) => parse(vReported, one));
  return { alerts, note: null };
}

/** The agent's words, attributed to it. */
function attributeDescription(description: string): string {
  if (!hasFigures(description)) return description;
  const end = /[.!]$/.test(description) ? description.slice(-1) : "";
  return `${description.slice(0, description.length - end.length)} (a model's figures)${end}`;
}
