import { internal } from "../../_generated/api";
import { type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dollars } from "../../lib/text/strings";
import { DAY, HOUR } from "../../lib/time";
import type { Paragraph } from "../../messenger/format";
import { PRICED_TOKENS } from "../../prices/tables";
import { latestSignals } from "../../signals/record/model";
import { TOKENS } from "../../signals/trade/rules";
import { latestAlerts } from "../../whales/model";
import { COINS, isCoin } from "../../whales/coins";
import { fire } from "../firings";
import { CLOCK } from "./subjects";
import { lastObservation } from "./observations";
import { nextTime } from "../language/times";
import { percent } from "../words";

/** Digests at a time of the day: what is stored, in a few lines. */

const BATCH = 25;
/** One that is later than this is left out: the next one is near. */
const LATEST_MS = HOUR;
const WHALES = 3;
/** Looked at for the largest. */
const LOOK_AT = 200;

/** Sends the digests whose time has come, each once, and says when the next one is due. */
export const sendDue = change({}, async (ctx) => {
  const now = Date.now();
  const due = await ctx.db
    .query("alerts")
    .withIndex("by_readyAt", (q) =>
      q.eq("watched", true).eq("subject", CLOCK).eq("phase", "waiting").lte("readyAt", now),
    )
    .take(BATCH);
  if (due.length === 0) return;
  const lines = await digest(ctx, now);
  for (const alert of due) {
    const { condition, readyAt } = alert;
    if (condition.kind !== "digest") continue;
    const next = nextTime(condition.time, condition.timeZone, now);
    await ctx.db.patch("alerts", alert._id, { readyAt: next });
    if (now - readyAt > LATEST_MS) continue;
    const one = { at: readyAt, observedAt: readyAt, value: 0, source: "clock" };
    const card: Paragraph[] = [[{ bold: `🗞 Digest, ${condition.time} ${condition.timeZone}` }], ...lines];
    await fire(ctx, alert, one, card);
  }
  if (due.length === BATCH) await ctx.scheduler.runAfter(0, internal.alerts.history.digests.sendDue, {});
});

async function digest(ctx: QueryCtx, now: number): Promise<Paragraph[]> {
  const prices = await Promise.all(PRICED_TOKENS.map((token) => priceLine(ctx, token, now)));
  const signals = (await latestSignals(ctx, TOKENS)).filter(({ generatedAt }) => now - generatedAt < DAY);
  const whales = (await latestAlerts(ctx, now - DAY, LOOK_AT))
    .filter(({ movement }) => movement !== undefined)
    .toSorted((a, b) => b.amount - a.amount)
    .slice(0, WHALES);
  return [
    [{ bold: "Prices" }, ...prices],
    [
      { bold: "Signals" },
      ...(signals.length === 0
        ? ["\nnone of the last 24 hours"]
        : signals.map(
            ({ token, signal, entry, status }) => `\n${token} ${signal} at ${dollars(entry)}, ${status}`,
          )),
    ],
    [
      { bold: "Largest movements of 24 hours on Base" },
      ...(whales.length === 0
        ? ["\nnone measured"]
        : whales.map(
            ({ token, amount, alertType }) =>
              `\n${dollars(amount)} of ${isCoin(token) ? COINS[token].name : token}, ${WAYS[alertType]}`,
          )),
    ],
  ];
}

const WAYS = {
  cex_inflow: "into an exchange",
  cex_outflow: "out of an exchange",
  large_transfer: "moved",
  smart_money: "moved",
} as const;

async function priceLine(ctx: QueryCtx, token: "BTC" | "ETH", now: number): Promise<string> {
  const price = await lastObservation(ctx, `price:${token}`, now);
  if (price === null) return `\n${token}: not known`;
  const change = await lastObservation(ctx, `change:${token}:24`, now);
  const moved =
    change === null
      ? ""
      : ` (${change.value < 0 ? "" : "+"}${percent(Number(change.value.toFixed(2)))} in 24 hours)`;
  return `\n${token} ${dollars(price.value)}${moved}`;
}

/** When a digest would have come between two moments, epoch ms. */
export function digestTimes(time: string, timeZone: string, since: number, until: number): number[] {
  const times: number[] = [];
  for (let at = nextTime(time, timeZone, since); at <= until; at = nextTime(time, timeZone, at))
    times.push(at);
  return times;
}
