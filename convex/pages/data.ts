import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { storedListing } from "../market/listing";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { HOUR, iso, MINUTE, wholeMinute } from "../lib/time";
import { readPrices, type PricePoint } from "../market/views";
import { readReport } from "../research/http";
import { shownSnapshot } from "../research/views";
import { TOKENS, type Token } from "../signals/rules";
import type { PublicSignal } from "../signals/shapes";
import type { Signal } from "../signals/tables";
import { equityOf, signalView } from "../signals/views";
import type { RecordData, ResearchData, SignalData, WhalesData } from "./shapes";

/**
 * The data of the pages, read as the JSON endpoints read it. No provider is asked and no work is begun: stored data are
 * shown, with their age.
 */

/** How many signals a list has. */
const LISTED = 10;

export async function readRecord(
  ctx: ActionCtx,
  { token = null, before }: { token?: Token | null | undefined; before?: string | undefined },
): Promise<RecordData> {
  // One more than are listed, to know whether there are more.
  const wanted = {
    token,
    limit: LISTED + 1,
    ...(before === undefined ? {} : { before: Date.parse(before) }),
  };
  const [page, all, { head, anchor }] = await Promise.all([
    ctx.runQuery(internal.signals.history.page, wanted),
    ctx.runQuery(internal.signals.history.all, {}),
    ctx.runQuery(internal.signals.anchors.latest, {}),
  ]);
  return {
    token,
    stats: page.record,
    ...listOf(page.signals.map(signalView)),
    before: before ?? null,
    equity: equityOf(all.filter((one) => token === null || one.token === token)),
    head,
    anchor,
  };
}

/** The first signals of a list, and where the rest begins: signals of one moment stay together. */
function listOf(signals: readonly PublicSignal[]): Pick<RecordData, "signals" | "older"> {
  const next = signals[LISTED]?.generatedAt;
  const shown = signals.slice(0, LISTED);
  if (next === undefined) return { signals: shown, older: null };
  return {
    signals: shown.filter(({ generatedAt }) => generatedAt > next),
    older: iso(Date.parse(next) + 1),
  };
}

/** How much of the path is shown before the issue of a signal and after its end. */
const BEFORE_MS = 2 * HOUR;
const AFTER_MS = 30 * MINUTE;

/** The time for which a signal's path is shown, epoch ms. */
export function windowOf({ generatedAt, expiresAt }: { generatedAt: string; expiresAt: string }) {
  return { from: Date.parse(generatedAt) - BEFORE_MS, to: Date.parse(expiresAt) + AFTER_MS };
}

/** @param id `BTC-2026-11-20`, in any case. @throws AppError `not_found` */
export async function readSignal(ctx: ActionCtx, id: string): Promise<SignalData> {
  const [, symbol, day] = /^([A-Z]+)-(\d{4}-\d{2}-\d{2})$/.exec(id.toUpperCase()) ?? [];
  const token = TOKENS.find((one) => one === symbol);
  const row =
    token === undefined || day === undefined
      ? null
      : await ctx.runQuery(internal.signals.history.ofDay, { token, day });
  if (row === null) throw new AppError("not_found", `There is no signal ${id}`);
  return withPath(ctx, row);
}

async function withPath(ctx: ActionCtx, row: Signal): Promise<SignalData> {
  const signal = signalView(row);
  const { usd: priceUsd, source, observedAt } = row.price;
  const points = await ctx.runQuery(internal.market.samples.path, {
    token: signal.token,
    ...windowOf(signal),
  });
  const path = points.map(({ at, ...point }): PricePoint => ({ at: iso(at), ...point }));
  return { signal, issued: { model: row.model, priceUsd, source, observedAt: iso(observedAt) }, path };
}

const MEASURED_HOURS = 48;

/** @param name A token's symbol or name. Left out for the whole market, whose shift reports are their users' own. */
export async function readResearch(ctx: ActionCtx, name: string | undefined): Promise<ResearchData> {
  const token = name === undefined ? "" : (await storedListing(ctx, name)).symbol;
  const symbol = TOKENS.find((one) => one === token);
  const [report, stored, measured] = await Promise.all([
    token === "" ? null : readReport(ctx, { token }),
    ctx.runQuery(internal.research.results.current, { focus: token }),
    symbol === undefined ? null : readPrices(ctx, MEASURED_HOURS),
  ]);
  return {
    token,
    report,
    snapshot: stored === null ? null : shownSnapshot(stored),
    measured: (symbol === undefined ? null : measured?.prices[symbol])?.closes ?? [],
  };
}

/** The most that are read. */
export const WHALES = 100;

export async function readWhales(ctx: ActionCtx, hours: number, limit = WHALES): Promise<WhalesData> {
  const since = wholeMinute(Date.now()) - hours * HOUR;
  const alerts = await ctx.runQuery(internal.whales.alerts.since, { since, limit });
  return { hours, count: alerts.length, alerts };
}

/** A part of the first page: what was read, or that it could not be. */
export type Read<Value> = { value: Value } | "failed";

export type HomeData = Awaited<ReturnType<typeof readHome>>;

/** From the close of a day ago on, from which the change is computed. */
const HOME_HOURS = 25;
const HOME_WHALES = 5;

/** If a part fails, only that part is missing. */
export async function readHome(ctx: ActionCtx) {
  const [prices, market, signals, whales] = await Promise.all([
    settled("prices", readPrices(ctx, HOME_HOURS)),
    // As it was last stored, no matter how old: a visit does not begin a refresh.
    settled("market", ctx.runQuery(internal.market.snapshots.current, {})),
    settled("signals", latestSignals(ctx)),
    settled("whales", readWhales(ctx, 24, HOME_WHALES)),
  ]);
  return { prices, market, signals, whales };
}

async function latestSignals(ctx: ActionCtx): Promise<SignalData[]> {
  const rows = await ctx.runQuery(internal.signals.history.latest, { tokens: [...TOKENS] });
  return Promise.all(rows.map((row) => withPath(ctx, row)));
}

async function settled<Value>(part: string, reading: Promise<Value>): Promise<Read<Value>> {
  try {
    return { value: await reading };
  } catch (error) {
    log.error("pages.part failed", { part, message: messageOf(error) });
    return "failed";
  }
}
