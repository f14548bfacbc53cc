import * as z from "zod/mini";
import { largeUsd, lines, percent, time, usd } from "../format";
import { QUICK_MS, reads, SLOW_MS, tool, type Hints, type Tool } from "../tool";

/** With a `userId` the service sends a card to that user's messenger, at every call. */
const MAY_DELIVER: Hints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
};

const CARD = "With userId, the person's secret id, it also goes as a card to their messenger.";

const signal = z.object({
  token: z.string(),
  signal: z.string(),
  entry: z.number(),
  tp1: z.nullable(z.number()),
  tp2: z.nullable(z.number()),
  sl: z.nullable(z.number()),
  confidence: z.number(),
  chancePercent: z.nullable(z.number()),
  breakEvenPercent: z.nullable(z.number()),
  expiresAt: z.string(),
  reasoning: z.string(),
  status: z.string(),
  generatedAt: z.string(),
  pnlPercent: z.optional(z.nullable(z.number())),
  afterCostsPercent: z.optional(z.nullable(z.number())),
});

function signalLine(one: z.output<typeof signal>): string {
  const levels = [
    ["entry", one.entry],
    ["TP1", one.tp1],
    ["TP2", one.tp2],
    ["stop loss", one.sl],
  ] as const;
  const shown = levels.flatMap(([name, level]) => (level === null ? [] : [`${name} ${usd(level)}`]));
  const { pnlPercent, afterCostsPercent, chancePercent, breakEvenPercent } = one;
  const net = typeof afterCostsPercent === "number" ? `, ${percent(afterCostsPercent)} after costs` : "";
  const result = typeof pnlPercent === "number" ? ` (${percent(pnlPercent)}${net})` : "";
  const chance =
    chancePercent === null || breakEvenPercent === null
      ? ""
      : `, chance of its levels ${chancePercent.toFixed(0)}/100, earns its costs from ${breakEvenPercent.toFixed(0)}/100`;
  return `${one.token} ${one.signal}, ${shown.join(", ")}, confidence ${one.confidence}/100${chance}, ${one.status}${result}, ${time(one.generatedAt)}, valid until ${time(one.expiresAt)}`;
}

const delivery = z.optional(z.boolean());

function deliveryLine(messengerSent: z.output<typeof delivery>): string | null {
  if (messengerSent === undefined) return null;
  return messengerSent
    ? "Sent to the messenger."
    : "No card has arrived in the messenger so far; set_telegram says where a person's cards go.";
}

const getLatestSignal = tool({
  name: "get_latest_signal",
  title: "Latest trading signal",
  description: `The latest 1-hour trading signal of BTC, ETH or (without token) both: BUY, SELL or HOLD with entry (the measured price at issue), two targets and stop loss in USD, and a confidence from 0 to 100; null where there is none yet. ${CARD} Information, not financial advice.`,
  endpoint: { method: "POST", path: "/mcp/signals/latest" },
  hints: MAY_DELIVER,
  repeats: "unlessDelivered",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.object({ signals: z.record(z.string(), z.nullable(signal)), messengerSent: delivery }),
  text: ({ signals, messengerSent }) =>
    lines(
      ...Object.entries(signals).flatMap(([token, one]) =>
        one === null ? [`${token}: no signal yet.`] : [signalLine(one), one.reasoning, ""],
      ),
      // Without a signal there is no card.
      Object.values(signals).some((one) => one !== null) ? deliveryLine(messengerSent) : null,
    ),
});

const getSignalHistory = tool({
  name: "get_signal_history",
  title: "Signal history",
  description:
    "Trading signals, newest first, of BTC, ETH or (without token) both, and what the whole record shows: n, the excess over the chance of the signals' own levels in points with its interval, and PnL in percent before and after costs. limit is 1 to 100, 10 when left out; days is a window back from now, such as 14.",
  endpoint: { method: "GET", path: "/mcp/signals/history" },
  hints: reads("stored"),
  repeats: "freely",
  structured: false,
  timeoutMs: QUICK_MS,
  view: z.object({
    signals: z.array(signal),
    stats: z.object({
      wins: z.number(),
      losses: z.number(),
      expired: z.number(),
      trades: z.number(),
      beforeCosts: z.object({ totalPnlPercent: z.number() }),
      afterCosts: z.object({ totalPnlPercent: z.number() }),
      edge: z.object({
        days: z.number(),
        excessPoints: z.nullable(z.number()),
        lowPoints: z.number(),
        highPoints: z.number(),
        verdict: z.string(),
      }),
    }),
  }),
  text: ({ signals, stats }) =>
    lines(
      `Record: ${standing({
        ...stats,
        totalPnlPercent: stats.beforeCosts.totalPnlPercent,
        totalAfterCostsPercent: stats.afterCosts.totalPnlPercent,
      })}`,
      edgeLine(stats.trades, stats.edge),
      ...(signals.length === 0
        ? ["There are no signals yet."]
        : signals.map((one) => `- ${signalLine(one)}`)),
    ),
});

type Edge = {
  days: number;
  excessPoints: number | null;
  lowPoints: number;
  highPoints: number;
  verdict: string;
};

function edgeLine(trades: number, { days, excessPoints, lowPoints, highPoints, verdict }: Edge): string {
  if (excessPoints === null) return "Excess over chance: no trade has ended yet.";
  const [mean, low, high] = [excessPoints, lowPoints, highPoints].map((value) => value.toFixed(1));
  return `Excess over the chance of their own levels: ${mean} points (${low} to ${high}) in n ${trades} trades of ${days} days: ${verdict}.`;
}

type Standing = {
  wins: number;
  losses: number;
  expired: number;
  trades: number;
  totalPnlPercent: number;
  totalAfterCostsPercent: number;
};

function standing(one: Standing): string {
  const { wins, losses, expired, trades, totalPnlPercent, totalAfterCostsPercent } = one;
  return `${wins} won, ${losses} lost, ${expired} expired, total PnL ${percent(totalPnlPercent)}, after costs ${percent(totalAfterCostsPercent)} (n ${trades})`;
}

const record = z.object({
  wins: z.number(),
  losses: z.number(),
  expired: z.number(),
  pending: z.number(),
  trades: z.number(),
  totalPnlPercent: z.number(),
  totalAfterCostsPercent: z.number(),
  excessPoints: z.number(),
});

const getDailyRecap = tool({
  name: "get_daily_recap",
  title: "Daily recap",
  description: `How today's trading signals (UTC day) stand: wins, losses, n, PnL in percent before and after costs, points over chance, by token, with a written review. ${CARD}`,
  endpoint: { method: "POST", path: "/mcp/signals/recap" },
  hints: MAY_DELIVER,
  repeats: "unlessDelivered",
  structured: false,
  timeoutMs: SLOW_MS,
  view: z.extend(record, {
    date: z.string(),
    byToken: z.object({ BTC: record, ETH: record }),
    notice: z.nullable(z.string()),
    yesterday: z.extend(record, { date: z.string() }),
    review: z.nullable(z.string()),
    messengerSent: delivery,
  }),
  text: ({ date, byToken, notice, yesterday, review, messengerSent, ...day }) =>
    lines(
      notice,
      `Signals of today, ${date}: ${standing(day)}, ${day.pending} open, ${day.excessPoints.toFixed(1)} points over chance in all`,
      `BTC: ${standing(byToken.BTC)}, ${byToken.BTC.pending} open`,
      `ETH: ${standing(byToken.ETH)}, ${byToken.ETH.pending} open`,
      `Yesterday, ${yesterday.date}: ${standing(yesterday)}`,
      review,
      deliveryLine(messengerSent),
    ),
});

/** A day has some hundreds; the important ones come first. */
const SHOWN = 30;

const whaleAlert = z.object({
  token: z.string(),
  alertType: z.string(),
  amount: z.number(),
  direction: z.string(),
  description: z.string(),
  source: z.string(),
  chain: z.optional(z.string()),
  occurredAt: z.optional(z.number()),
  detectedAt: z.number(),
  txHash: z.optional(z.string()),
  verified: z.boolean(),
});

function whaleLine(alert: z.output<typeof whaleAlert>): string {
  const { token, alertType, amount, direction, description, source, chain, txHash, verified } = alert;
  const facts = [
    source,
    ...(chain === undefined ? [] : [chain]),
    ...(source === "measured" ? [] : [verified ? "verified" : "not verified"]),
    ...(txHash === undefined ? [] : [txHash]),
  ];
  const mark = DIRECTION_MARKS[direction] ?? "-";
  return `${mark} ${token}, ${alertType.replaceAll("_", " ")}, ${largeUsd(amount)}, ${time(alert.occurredAt ?? alert.detectedAt)}: ${description} (${facts.join(", ")})`;
}

const DIRECTION_MARKS: Record<string, string> = { bullish: "🟢", bearish: "🔴", neutral: "🟡" };

const getWhaleAlerts = tool({
  name: "get_whale_alerts",
  title: "Whale alerts",
  description: `Large on-chain moves of the last hours (0.1 to 168, 6 when left out), the ${SHOWN} largest of them, largest first: exchange inflows and outflows, large transfers and smart money, each of 1,000,000 USD or more. Measured ones were read on Base; agent-reported ones are a language model's, verified if the transaction agrees. ${CARD}`,
  endpoint: { method: "POST", path: "/mcp/whale-alerts" },
  hints: MAY_DELIVER,
  repeats: "unlessDelivered",
  structured: false,
  timeoutMs: SLOW_MS,
  view: z.object({
    hours: z.number(),
    count: z.number(),
    alerts: z.array(whaleAlert),
    messengerSent: delivery,
  }),
  text: ({ hours, count, alerts, messengerSent }) =>
    lines(
      count === 0
        ? `No whale alerts in the last ${hours} h.`
        : `${count} whale ${count === 1 ? "alert" : "alerts"} in the last ${hours} h${count > SHOWN ? `, the ${SHOWN} largest` : ""}:`,
      ...alerts
        .toSorted((one, other) => other.amount - one.amount)
        .slice(0, SHOWN)
        .map(whaleLine),
      deliveryLine(messengerSent),
    ),
});

export const signalTools: Tool[] = [getLatestSignal, getSignalHistory, getDailyRecap, getWhaleAlerts];
