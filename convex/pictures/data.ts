import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { DAY, HOUR, iso } from "../lib/time";
import { readSignal } from "../pages/data";
import { closesSince, readPrices } from "../market/views";
import { PRICED_TOKENS } from "../market/tables";
import { signalView } from "../signals/views";
import { drawnHistory } from "../alerts/observations";
import type { DrawnAlert } from "./alert";
import type { DrawnReport } from "./report";
import { BEFORE_MS, type DrawnSignal } from "./signals";
import type { DrawnWeek } from "./week";

/** Reads what pictures show, as the pages and the JSON endpoints do. `null` means that too little is known for a picture. */

/** @param ids As in the addresses of their pages: `BTC-2026-11-20`. */
export async function readSignals(ctx: ActionCtx, ids: readonly string[]): Promise<DrawnSignal[] | null> {
  const data = await Promise.all(ids.map((id) => readSignal(ctx, id)));
  const since = Math.min(...data.map(({ signal }) => Date.parse(signal.generatedAt))) - BEFORE_MS;
  const { prices } = await readPrices(ctx, Math.ceil((Date.now() - since) / HOUR));
  const signals = data.map((one) => ({ ...one, before: prices[one.signal.token]?.closes ?? [] }));
  return signals.every(({ path, before }) => path.length + before.length > 1) ? signals : null;
}

/** @param week Its Monday, `2026-11-16`. */
export async function readWeek(ctx: ActionCtx, week: string): Promise<DrawnWeek | null> {
  const from = Date.parse(week);
  const before = Math.min(from + 7 * DAY, Math.floor(Date.now() / HOUR) * HOUR);
  const [page, closes] = await Promise.all([
    ctx.runQuery(internal.signals.history.page, {
      token: null,
      since: from,
      limit: 7 * PRICED_TOKENS.length,
    }),
    ctx.runQuery(internal.market.samples.closes, { before, count: (7 * DAY) / HOUR }),
  ]);
  const signals = page.signals
    .map(signalView)
    .filter(({ generatedAt }) => Date.parse(generatedAt) < from + 7 * DAY);
  const tokens = PRICED_TOKENS.map((token) => ({
    token,
    signals: signals.filter((one) => one.token === token),
    closes: closesSince(closes[token], from),
  })).filter((one) => one.closes.length > 1);
  return tokens.length === 0 ? null : { week, tokens };
}

/** @param alertId The id of a proposed or an active alert. */
export async function readAlert(ctx: ActionCtx, alertId: string): Promise<DrawnAlert | null> {
  const condition = await ctx.runQuery(internal.alerts.model.condition, { alertId });
  const history = condition === null ? null : await drawnHistory(ctx, condition);
  if (condition === null || history === null || history.path.length < FEWEST_POINTS) return null;
  return { ...history, condition, now: Date.now() };
}

/** With fewer points there is no path to see. */
const FEWEST_POINTS = 3;

/** @param jobId The id of a shift that has a report. */
export async function readReportPaths(ctx: ActionCtx, jobId: string): Promise<DrawnReport | null> {
  const report = await ctx.runQuery(internal.research.reports.latest, { jobId });
  if (report === null || report.paths.length === 0) return null;
  const tokens = report.paths.map(({ token: name, source, points }) => {
    return { name, path: points.map(({ at, usd: priceUsd }) => ({ at: iso(at), priceUsd, source })) };
  });
  const { jobToken, generatedAt } = report;
  return { subject: jobToken === "" ? "The market" : jobToken, generatedAt: iso(generatedAt), tokens };
}
