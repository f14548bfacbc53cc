import * as z from "zod";
import { line, looseNumber, usd, word } from "../lib/shapes";
import { iso } from "../lib/time";
import type { Message } from "../providers/llm";
import { standingOf } from "./standing";
import type { Token } from "./rules";
import type { Proposal, Signal, Week } from "./tables";

/** What the signal desk asks the model, and the shapes of what comes back. */

export const SIGNAL_SCHEMA_NAME = "trading_signal";

const level = usd.nullable().describe("USD; null for HOLD");

const direction = word(["buy", "sell", "hold"]);
const holding = z.looseObject({ signal: direction.pipe(z.literal("hold")) });

/**
 * What the model must send. Whether it may be issued, `signals/rules` says. Levels on a HOLD mean nothing, so whatever
 * stands for them, or does not, is null.
 */
export const proposalShape = z.preprocess(
  (value) => {
    const { success, data } = holding.safeParse(value);
    return success ? { ...data, tp1: null, tp2: null, sl: null } : value;
  },
  z.object({
    signal: direction.describe("buy, sell or hold"),
    entry: usd.describe("USD, near the live price"),
    tp1: level,
    tp2: level,
    sl: level,
    confidence: looseNumber.describe("Whole percent, 0 to 100"),
    reasoning: line(800).describe("Two to four sentences"),
  }),
);

const DIRECTIONS = { buy: "BUY", sell: "SELL", hold: "HOLD" } as const;

/** The model's answer as a proposal. */
export function proposalOf({ signal, ...rest }: z.output<typeof proposalShape>): Proposal {
  return { ...rest, signal: DIRECTIONS[signal] };
}

export type SignalContext = {
  token: Token;
  nowMs: number;
  price: { priceUsd: number; source: string; observedAt: number };
  /** The service's own hourly record, in any order. */
  closes: readonly { hourEndsAt: number; priceUsd: number; source: string }[];
  /** The signals of the day before, of every token. */
  yesterday: readonly Signal[];
};

export function signalMessages({ token, nowMs, price, closes, yesterday }: SignalContext): Message[] {
  const hours = closes
    .toSorted((a, b) => a.hourEndsAt - b.hourEndsAt)
    .map(({ hourEndsAt, priceUsd, source }) => `${iso(hourEndsAt)} $${priceUsd} (${source})`);
  return [
    {
      role: "system",
      content:
        "You are the signal analyst of a crypto trading desk. You give one trading signal on the 1-hour timeframe, " +
        'which is open for 6 hours at most. You answer with one JSON object and nothing else: "signal" ("BUY", ' +
        '"SELL" or "HOLD"), "entry" (USD, within 3 % of the live price), "tp1", "tp2" and "sl" (USD; null for HOLD), ' +
        '"confidence" (whole percent, 0 to 100: the probability that tp1 is reached before sl) and "reasoning" (two ' +
        "to four sentences). A BUY satisfies sl < entry < tp1 <= tp2, a SELL sl > entry > tp1 >= tp2, and the live " +
        "price lies between sl and tp1. Say HOLD when there is no edge. Use the figures given and invent none.",
    },
    {
      role: "user",
      content: [
        `Token: ${token}`,
        `Now: ${iso(nowMs)}`,
        `Live price: $${price.priceUsd} (${price.source}, ${iso(price.observedAt)})`,
        hours.length === 0
          ? "Hourly closes: none have been recorded yet."
          : `Hourly closes:\n${hours.join("\n")}`,
        yesterday.length === 0
          ? "Yesterday's signals: none."
          : `Yesterday's signals:\n${yesterday.map(describeSignal).join("\n")}`,
      ].join("\n\n"),
    },
  ];
}

export const REVIEW_SCHEMA_NAME = "signal_review";

export const reviewShape = z.object({ review: line(1_200).describe("Two to five sentences") });

const REVIEWER =
  "You review the trading signals of a crypto desk for its readers: what worked, what did not, and what it says about " +
  "the method. You use the figures given, invent none, and promise nothing. You answer with one JSON object: " +
  '"review" (two to five sentences).';

export function dayReviewMessages(day: string, signals: readonly Signal[]): Message[] {
  return [
    { role: "system", content: REVIEWER },
    {
      role: "user",
      content: `Review of the day ${day} (UTC).\n${describeStanding(standingOf(signals))}\n\n${signals
        .map(describeSignal)
        .join("\n")}`,
    },
  ];
}

export function weekReviewMessages(week: string, recap: Week): Message[] {
  const lines = Object.keys(recap.days)
    .toSorted()
    .flatMap((day) =>
      (["BTC", "ETH"] as const).map((token) => {
        const one = recap.days[day]?.[token] ?? null;
        if (one === null) return `${day} ${token}: no signal`;
        return `${day} ${token}: ${one.signal} at $${one.entry}, confidence ${one.confidence}, ${one.status}${result(one.pnlPercent)}`;
      }),
    );
  return [
    { role: "system", content: REVIEWER },
    {
      role: "user",
      content: `Review of the week from Monday ${week} (UTC).\n${describeStanding(recap)}\n\n${lines.join("\n")}`,
    },
  ];
}

function describeStanding(standing: ReturnType<typeof standingOf>): string {
  const { wins, losses, expired, pending, totalPnlPercent } = standing;
  return `Wins ${wins}, losses ${losses}, expired ${expired}, pending ${pending}, total PnL ${totalPnlPercent} %.`;
}

function describeSignal(one: Signal): string {
  const levels = one.signal === "HOLD" ? "" : `, tp1 $${one.tp1}, tp2 $${one.tp2}, sl $${one.sl}`;
  const standing = `${one.status}${result(one.pnlPercent)}`;
  return `${one.token} ${one.day}: ${one.signal} at $${one.entry}${levels}, confidence ${one.confidence}, ${standing}`;
}

function result(pnlPercent: number | null | undefined): string {
  return typeof pnlPercent === "number" ? ` (${pnlPercent > 0 ? "+" : ""}${pnlPercent} %)` : "";
}
