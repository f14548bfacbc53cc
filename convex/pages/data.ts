import type * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { drawnHistory, type DrawnHistory } from "../alerts/observations";
import type { Condition } from "../alerts/tables";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { DAY, HOUR, iso, wholeMinute } from "../lib/time";
import { storedListing } from "../market/listing";
import { PRICED_TOKENS } from "../market/tables";
import type { MarketFigures, MarketSource } from "../market/tables";
import { closesSince, readPrices, type PricePoint, type ShownPrices } from "../market/views";
import { readReport } from "../research/http";
import { shownSnapshot } from "../research/views";
import { TOKENS, type Token } from "../signals/rules";
import type { reportShape, snapshotShape } from "../research/views";
import type { anchorShape, chainHead, PublicSignal, SignalStats } from "../signals/shapes";
import type { Signal } from "../signals/tables";
import { equityOf, signalView } from "../signals/views";
import type { PublicAlert } from "../whales/shapes";
import type { Point } from "./chart";

/**
 * What pages and pictures show, read as the JSON endpoints read it. No provider is asked and no work is begun: stored
 * data are shown, with their age. For actions.
 */

/** How many signals a list has. */
const LISTED = 10;

export type RecordData = {
  /** Of which alone it is; `null`: of both. */
  token: Token | null;
  stats: SignalStats;
  /** The newest, newest first. */
  signals: PublicSignal[];
  /** In percent: the results after costs, added up; and the tokens bought at their first signal and held. */
  curves: { signals: Point[]; held: Point[] };
  /** Of the chain of events; `null` before the first. */
  head: z.output<typeof chainHead> | null;
  /** The newest transaction on Base that holds the head. */
  anchor: (z.output<typeof anchorShape> & { address: string }) | null;
};

/** @param token Of which alone it is wanted. */
export async function readRecord(ctx: ActionCtx, token: Token | null): Promise<RecordData> {
  const [page, all, { head, anchor }] = await Promise.all([
    ctx.runQuery(internal.signals.history.page, { token, limit: LISTED }),
    ctx.runQuery(internal.signals.history.all, {}),
    ctx.runQuery(internal.signals.anchors.latest, {}),
  ]);
  return {
    token,
    stats: page.record,
    signals: page.signals.map(signalView),
    curves: curvesOf(all.filter((one) => token === null || one.token === token)),
    head,
    anchor,
  };
}

function curvesOf(all: readonly Signal[]): RecordData["curves"] {
  const bought = new Map<Token, number>();
  const worth = new Map<Token, number>();
  const held = all
    .flatMap(({ token, entry, generatedAt, closedAt, exitPrice }) => [
      { token, price: entry, at: generatedAt },
      ...(closedAt === undefined || exitPrice == null ? [] : [{ token, price: exitPrice, at: closedAt }]),
    ])
    .toSorted((a, b) => a.at - b.at)
    .map(({ token, price, at }) => {
      const first = bought.get(token) ?? price;
      bought.set(token, first);
      worth.set(token, 100 * (price / first - 1));
      const changes = [...worth.values()];
      return { at, value: changes.reduce((sum, one) => sum + one, 0) / changes.length };
    });
  const signals = equityOf(all).map(({ closedAt, sumPercent }) => ({
    at: Date.parse(closedAt),
    value: sumPercent,
  }));
  return { signals, held: thinned(held) };
}

/** A line has at most this many points: a page is small. */
const DRAWN_POINTS = 400;

function thinned(points: readonly Point[]): Point[] {
  const every = Math.ceil(points.length / DRAWN_POINTS);
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

export type SignalData = {
  signal: PublicSignal;
  /** The model that proposed it, and the measured price that it was held against. */
  issued: { model: string; priceUsd: number; source: PricePoint["source"]; observedAt: string };
  /** From an hour before the signal until an hour after its expiry, oldest first. */
  path: PricePoint[];
};

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
    from: row.generatedAt - HOUR,
    to: (row.closedAt ?? row.expiresAt) + HOUR,
  });
  const path = points.map(({ at, ...point }): PricePoint => ({ at: iso(at), ...point }));
  return { signal, issued: { model: row.model, priceUsd, source, observedAt: iso(observedAt) }, path };
}

const MEASURED_HOURS = 48;

export type ResearchData = {
  /** Empty for the whole market. */
  token: string;
  /** The latest shift report on the token. */
  report: z.output<typeof reportShape> | null;
  /** The last on-demand result on this focus, however old. */
  snapshot: z.output<typeof snapshotShape> | null;
  /** The hours of the last two days as measured; of BTC and ETH, else empty. */
  measured: PricePoint[];
};

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

/** Newest first. */
export function readWhales(ctx: ActionCtx, hours: number, limit = WHALES): Promise<PublicAlert[]> {
  const since = wholeMinute(Date.now()) - hours * HOUR;
  return ctx.runQuery(internal.whales.alerts.since, { since, limit });
}

/** A part of the first page: what was read, or that it could not be. */
export type Read<Value> = { value: Value } | "failed";

export type Market = { fetchedAt: number; figures: MarketFigures; sources: MarketSource[] };

export type HomeData = {
  prices: Read<ShownPrices>;
  /** `null` if none of the last hour is stored: older prices are not today's. */
  market: Read<Market> | null;
  signals: Read<SignalData[]>;
  whales: Read<PublicAlert[]>;
  /** The record in a sentence; `null` before a signal has ended. */
  record: Read<string | null>;
};

/** From the close of a day ago on, from which the change is computed. */
const HOME_HOURS = 25;
const HOME_WHALES = 5;

/** If a part fails, only that part is missing. */
export async function readHome(ctx: ActionCtx): Promise<HomeData> {
  const [prices, market, signals, whales, record] = await Promise.all([
    settled("prices", readPrices(ctx, HOME_HOURS)),
    readMarket(ctx),
    settled("signals", latestSignals(ctx)),
    settled("whales", readWhales(ctx, 24, HOME_WHALES)),
    settled("record", recordSentence(ctx)),
  ]);
  return { prices, market, signals, whales, record };
}

/** As it was last stored: a visit begins no refresh. */
async function readMarket(ctx: ActionCtx): Promise<HomeData["market"]> {
  const stored: Promise<Market | null> = ctx.runQuery(internal.market.snapshots.current, {});
  const read = await settled("market", stored);
  if (read === "failed") return read;
  return read.value === null || Date.now() - read.value.fetchedAt > HOUR ? null : { value: read.value };
}

async function latestSignals(ctx: ActionCtx): Promise<SignalData[]> {
  const rows = await ctx.runQuery(internal.signals.history.latest, { tokens: [...TOKENS] });
  return Promise.all(rows.map((row) => withPath(ctx, row)));
}

async function recordSentence(ctx: ActionCtx): Promise<string | null> {
  const { record } = await ctx.runQuery(internal.signals.history.page, { token: null, limit: 1 });
  return record.n === 0 ? null : record.summary;
}

async function settled<Value>(part: string, reading: Promise<Value>): Promise<Read<Value>> {
  try {
    return { value: await reading };
  } catch (error) {
    log.error("pages.part failed", { part, message: messageOf(error) });
    return "failed";
  }
}

/** A signal with the closes of the day before its path. */
export type DrawnSignal = SignalData & { before: readonly PricePoint[] };

/** Of a picture. `null` means that too little is known for one. @param ids As in the addresses of their pages. */
export async function readSignals(ctx: ActionCtx, ids: readonly string[]): Promise<DrawnSignal[] | null> {
  const data = await Promise.all(ids.map((id) => readSignal(ctx, id)));
  const since = Math.min(...data.map(({ signal }) => Date.parse(signal.generatedAt))) - DAY;
  const { prices } = await readPrices(ctx, Math.ceil((Date.now() - since) / HOUR));
  const signals = data.map((one) => ({ ...one, before: prices[one.signal.token]?.closes ?? [] }));
  return signals.every(({ path, before }) => path.length + before.length > 1) ? signals : null;
}

export type DrawnWeek = {
  /** Its Monday, `2026-11-16`. */
  week: string;
  tokens: readonly {
    token: string;
    signals: readonly PublicSignal[];
    closes: readonly PricePoint[];
  }[];
};

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

/** A week of the value that an alert watches, its level, and when it would have fired. */
export type DrawnAlert = DrawnHistory & { condition: Condition; now: number };

/** @param alertId The id of a proposed or an active alert. */
export async function readAlert(ctx: ActionCtx, alertId: string): Promise<DrawnAlert | null> {
  const condition = await ctx.runQuery(internal.alerts.model.condition, { alertId });
  const history = condition === null ? null : await drawnHistory(ctx, condition);
  if (condition === null || history === null || history.path.length < 2) return null;
  return { ...history, condition, now: Date.now() };
}
