import { internal } from "../../_generated/api";
import { type QueryCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dollars } from "../../lib/text/strings";
import { HOUR } from "../../lib/time";
import type { Paragraph } from "../../messenger/format";
import { PRICED_TOKENS } from "../../prices/tables";
import { signalsDigest } from "../../signals/cards";
import { whalesDigest } from "../../whales/digest";
import { fire } from "../firings";
import { CLOCK } from "./subjects";
import { lastObservation } from "./observations";
import { nextTime } from "../language/times";
import { signed } from "../../lib/text/numbers";

/** Digests at a time of the day: a few lines about what is stored. */

const BATCH = 25;
/** A digest that would be later than this is left out, because the next one is near. */
const LATEST_MS = HOUR;

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

/** Its parts, each from the room that knows it. */
const PARTS: readonly ((ctx: QueryCtx, now: number) => Promise<Paragraph>)[] = [
  pricesDigest,
  signalsDigest,
  whalesDigest,
];

function digest(ctx: QueryCtx, now: number): Promise<Paragraph[]> {
  return Promise.all(PARTS.map((part) => part(ctx, now)));
}

async function pricesDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  return [
    { bold: "Prices" },
    ...(await Promise.all(PRICED_TOKENS.map((token) => priceLine(ctx, token, now)))),
  ];
}

async function priceLine(ctx: QueryCtx, token: "BTC" | "ETH", now: number): Promise<string> {
  const price = await lastObservation(ctx, `price:${token}`, now);
  if (price === null) return `\n${token}: not known`;
  const change = await lastObservation(ctx, `change:${token}:24`, now);
  const moved = change === null ? "" : ` (${signed(change.value)} in 24 hours)`;
  return `\n${token} ${dollars(price.value)}${moved}`;
}

/** When a digest would have come between two moments, epoch ms. */
export function digestTimes(time: string, timeZone: string, since: number, until: number): number[] {
  const times: number[] = [];
  for (let at = nextTime(time, timeZone, since); at <= until; at = nextTime(time, timeZone, at))
    times.push(at);
  return times;
}
