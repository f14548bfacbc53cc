import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { DAY, HOUR } from "../lib/time";
import { readStoredMarket } from "../market/views";
import type { Caller } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import { holdSlot } from "../platform/limits/slots";
import { toSignalId } from "../signals/rules";
import { readSignal } from "./levels";
import { readWritings } from "../research/http";

/** Pictures for previews of links: one for a subject, drawn once for each of its states, and only where it has something to show. */

/** `state`: a picture depends on nothing else; one that goes on changing in it is drawn again after an hour. */
type Drawable = { state: string; isOpen?: boolean; draw: (site: string) => Promise<string> };
type FindDrawable = (ctx: ActionCtx, name: string) => Promise<Drawable | null>;

const loadCards = () => import("./linkCards");

/** By the form of their names, of which the first group is given. */
const SUBJECTS: readonly (readonly [RegExp, FindDrawable])[] = [
  [/^(record)$/, findRecord],
  [/^([A-Z]+-\d{4}-\d{2}-\d{2})$/, findSignal],
  [/^coin-(.+)$/, findCoin],
  [/^report-(.+)$/, findReport],
  [/^report()$/, findReport],
];

/**
 * @param name `record`, `BTC-2026-11-20`, `coin-BTC`, `report-BTC`; `report` is that on the whole market.
 * @returns The PNG in base64.
 * @throws AppError `not_found`, `rate_limited`
 */
export async function readPreview(ctx: ActionCtx, name: string, caller: Caller): Promise<string> {
  const [found = null] = await Promise.all(
    SUBJECTS.flatMap(([form, find]) => {
      const subject = form.exec(name)?.[1];
      return subject === undefined ? [] : [find(ctx, subject)];
    }),
  );
  if (found === null) throw new AppError("not_found", `There is no picture of ${name}`);
  const { state, isOpen = false, draw } = found;
  const key = `picture:${name}`;
  const stored = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key });
  const [drawnState, drawn] = stored?.body.split(" ") ?? [];
  const isYoung = stored !== null && Date.now() - stored.fetchedAt < HOUR;
  if (drawn !== undefined && drawnState === state && (!isOpen || isYoung)) return drawn;
  await charge(ctx, "question", caller);
  const png = await holdSlot(ctx, caller, async () => {
    const { renderPng } = await import("./drawings");
    return renderPng(await draw(new URL(getSiteUrl()).host));
  });
  const picture = btoa(Array.from(png, (byte) => String.fromCharCode(byte)).join(""));
  await ctx.runMutation(internal.platform.cache.storeAnswer, { key, body: `${state} ${picture}` });
  return picture;
}

async function findRecord(ctx: ActionCtx): Promise<Drawable | null> {
  const page = { token: null, limit: 1 };
  const { record } = await ctx.runQuery(internal.signals.history.listSignalPage, page);
  const draw = async (site: string) => {
    const signals = await ctx.runQuery(internal.signals.history.readAllSignals, {});
    return (await loadCards()).drawRecord(signals, site);
  };
  return record.trades > 1 ? { state: String(record.n), draw } : null;
}

async function findSignal(ctx: ActionCtx, id: string): Promise<Drawable | null> {
  const { signals } = await ctx.runQuery(internal.signals.history.getDay, { day: id.slice(-10) });
  const state = signals.find((one) => toSignalId(one) === id)?.status;
  const draw = async (site: string) => {
    const { drawSignals } = await import("./messageCards");
    return drawSignals([await readSignal(ctx, id, DAY)], site);
  };
  return state === undefined ? null : { state, isOpen: state === "PENDING", draw };
}

async function findCoin(ctx: ActionCtx, symbol: string): Promise<Drawable | null> {
  const { coins, prices } = await readStoredMarket(ctx, symbol);
  const coin = coins.get(symbol);
  if (coin === undefined) return null;
  const price = symbol === "BTC" || symbol === "ETH" ? prices[symbol] : null;
  const draw = async (site: string) => (await loadCards()).drawCoin(coin, price, site);
  return { state: "priced", isOpen: true, draw };
}

/** @param focus A symbol, or "" for the whole market. */
async function findReport(ctx: ActionCtx, focus: string): Promise<Drawable | null> {
  const [newest] = await readWritings(ctx, focus);
  if (newest === undefined) return null;
  const draw = async (site: string) => (await loadCards()).drawReport(focus, newest, site);
  return { state: newest.at, draw };
}
