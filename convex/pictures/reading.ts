import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { DAY, HOUR, iso } from "../lib/time";
import { readSignal } from "../pages/reading";
import { closesSince, readPrices, type PricePoint } from "../prices/shown";
import { PRICED_TOKENS } from "../prices/tables";
import { signalView } from "../signals/views";
import type { DrawnReport } from "./report";
import { BEFORE_MS, type DrawnSignal } from "./signals";
import type { DrawnWeek } from "./week";

/** What pictures show, read as the pages and the JSON endpoints read it. `null`: too little is known to be drawn. */

/** @param ids As of their pages: `BTC-2026-11-20`. */
export async function readSignals(ctx: ActionCtx, ids: readonly string[]): Promise<DrawnSignal[] | null> {
  const data = await Promise.all(ids.map((id) => readSignal(ctx, id)));
  const since = Math.min(...data.map(({ signal }) => Date.parse(signal.generatedAt))) - BEFORE_MS;
  const { prices } = await readPrices(ctx, Math.ceil((Date.now() - since) / HOUR));
  const drawn = data.map((one) => ({ ...one, before: prices[one.signal.token]?.closes ?? [] }));
  return drawn.every(({ path, before }) => path.length + before.length > 1) ? drawn : null;
}

/** @param week Its Monday, `2026-11-16`. */
export async function readWeek(ctx: ActionCtx, week: string): Promise<DrawnWeek | null> {
  const from = Date.parse(week);
  const before = Math.min(from + 7 * DAY, Math.floor(Date.now() / HOUR) * HOUR);
  const [rows, closes] = await Promise.all([
    ctx.runQuery(internal.signals.history.since, {
      token: null,
      since: from,
      limit: 7 * PRICED_TOKENS.length,
    }),
    ctx.runQuery(internal.prices.history.closes, { before, count: (7 * DAY) / HOUR }),
  ]);
  const signals = rows.map(signalView).filter(({ generatedAt }) => Date.parse(generatedAt) < from + 7 * DAY);
  const tokens = PRICED_TOKENS.map((token) => ({
    token,
    signals: signals.filter((one) => one.token === token),
    closes: closesSince(closes[token], from),
  })).filter((one) => one.closes.length > 1);
  return tokens.length === 0 ? null : { week, tokens };
}

/** @param jobId Of a shift that has a report. */
export async function readReportPaths(ctx: ActionCtx, jobId: string): Promise<DrawnReport | null> {
  const report = await ctx.runQuery(internal.research.publishing.latest, { jobId });
  if (report === null) return null;
  const { jobToken: token, jobStartedAt: startedAt, generatedAt } = report;
  const first = PRICED_TOKENS.find((one) => one === token);
  // Of other tokens no path is kept; the whole market is told by both.
  if (first === undefined && token !== "") return null;
  const names =
    first === undefined ? PRICED_TOKENS : [first, ...PRICED_TOKENS.filter((one) => one !== first)];
  const window = { from: startedAt, to: generatedAt };
  const tokens = await Promise.all(
    names.map(async (name) => {
      const points = await ctx.runQuery(internal.prices.history.path, { token: name, ...window });
      return { name, path: points.map(({ at, ...point }): PricePoint => ({ at: iso(at), ...point })) };
    }),
  );
  if (tokens.some(({ path }) => path.length < 2)) return null;
  return { subject: first ?? "The market", generatedAt: iso(generatedAt), tokens };
}
