import { parse } from "convex-helpers/validators";
import { v } from "convex/values";
import { inflateSync } from "fflate";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { once } from "../lib/objects";
import { DAY, HOUR } from "../lib/time";
import { vCondition } from "../alerts/tables";
import { PRICED_TOKENS } from "../market/tables";
import { listClosesSince } from "../market/views";
import { toPublicSignal } from "../signals/record";
import type { Worth } from "../wallets/past/looks";
import { readSignal, type SignalData } from "./levels";
import {
  drawAlert,
  drawDeposit,
  drawSignals,
  drawWeek,
  drawWorth,
  type DrawnAlert,
  type DrawnWeek,
} from "./messageCards";

/**
 * Pictures for the messenger, drawn at the delivery of their card: the outbox calls them by their handles. Each is an action
 * of its own, so a failure or a lack of memory costs a card only its picture. The default runtime has WebAssembly, and the
 * renderer and the font are modules, so nothing here needs Node.
 */

/** @param ids `BTC-2026-11-20`, as in the addresses of pages. */
async function readSignals(ctx: ActionCtx, ids: readonly string[]): Promise<SignalData[] | null> {
  const signals = await Promise.all(ids.map((id) => readSignal(ctx, id, DAY)));
  return signals.every(({ path }) => path.length > 1) ? signals : null;
}

/** @param week Its Monday, `2026-11-16`. */
async function readWeek(ctx: ActionCtx, week: string): Promise<DrawnWeek | null> {
  const from = Date.parse(week);
  const before = Math.min(from + 7 * DAY, Math.floor(Date.now() / HOUR) * HOUR);
  const [page, closes] = await Promise.all([
    ctx.runQuery(internal.signals.history.listSignalPage, {
      token: null,
      since: from,
      before: from + 7 * DAY,
      limit: 20,
    }),
    ctx.runQuery(internal.market.samples.listCloses, { before, count: (7 * DAY) / HOUR }),
  ]);
  const signals = page.signals.map(toPublicSignal);
  const tokens = PRICED_TOKENS.map((token) => ({
    token,
    signals: signals.filter((one) => one.token === token),
    closes: listClosesSince(closes[token], from),
  })).filter((one) => one.closes.length > 1);
  return tokens.length === 0 ? null : { week, tokens };
}

/** @param written An alert's condition in JSON: alerts with the same one share a picture. */
async function readAlert(ctx: ActionCtx, written: string): Promise<DrawnAlert | null> {
  const now = Date.now();
  const condition = parse(vCondition, JSON.parse(written));
  const drawn = await ctx.runQuery(internal.alerts.observations.getDrawnHistory, { condition, now });
  return drawn === null || drawn.path.length < 2 ? null : { ...drawn, now };
}

/**
 * Defines an action that reads a subject and draws it as PNG. It returns `null` without enough data for a picture.
 * @param picture Draws the data as SVG, with the site's name.
 */
function defineDrawing<Data>(
  read: (ctx: ActionCtx, subject: string) => Promise<Data | null>,
  picture: (data: Data, site: string) => string,
) {
  return internalAction({
    args: { subject: v.string() },
    returns: v.union(v.bytes(), v.null()),
    handler: async (ctx, { subject }) => {
      const data = await read(ctx, subject);
      if (data === null) return null;
      return (await renderPng(picture(data, new URL(getSiteUrl()).host))).buffer;
    },
  });
}

/** Draws signals. The subject is their ids, separated by commas. */
export const signals = defineDrawing((ctx, ids) => readSignals(ctx, ids.split(",")), drawSignals);

/** Draws a week's signals. The subject is its Monday. */
export const week = defineDrawing(readWeek, drawWeek);

/** Draws an alert's last days. The subject is its condition in JSON. */
export const alert = defineDrawing(readAlert, drawAlert);

/** Draws a wallet's address to scan. The subject is the address. */
export const deposit = defineDrawing((_ctx, address) => Promise.resolve(address), drawDeposit);

/** Draws a wallet's worth over time. The subject is the custody's id of it. */
export const worth = defineDrawing(async (ctx, walletId) => {
  const worths: Worth[] = await ctx.runQuery(internal.wallets.past.looks.readCourse, {
    walletId,
    now: Date.now(),
  });
  return worths.length < 2 ? null : worths;
}, drawWorth);

/**
 * The renderer with its fonts, created once a module state: on a local stack once, on the platform once an action. Its 1.4 MB
 * are loaded only for a drawing, since no other request should evaluate them. A cold start takes about a second of a
 * processor, most of it for the first drawing.
 */
const renderer = once(async () => {
  const [{ initWasm, Resvg }, { RENDERER }, { REGULAR, SEMIBOLD }] = await Promise.all([
    import("@resvg/resvg-wasm"),
    import("./rendererBytes"),
    import("./fontBytes"),
  ]);
  await initWasm(inflateSync(decodeBase64(RENDERER)));
  const fontBuffers = [decodeBase64(REGULAR), decodeBase64(SEMIBOLD)];
  return (svg: string) => {
    const drawing = new Resvg(svg, { font: { fontBuffers, defaultFontFamily: "Inter" } });
    const image = drawing.render();
    try {
      return new Uint8Array(image.asPng());
    } finally {
      image.free();
      drawing.free();
    }
  };
});

/** Renders an SVG as PNG, in the SVG's own size. @throws Error for an unreadable SVG. */
export async function renderPng(svg: string): Promise<Uint8Array<ArrayBuffer>> {
  return (await renderer())(svg);
}

/** A loop, because an iterator over a million characters takes a third of a second. */
function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
