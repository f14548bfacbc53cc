import { v } from "convex/values";
import { internalAction, type ActionCtx } from "../_generated/server";
import { siteUrl } from "../lib/env";
import { parseJson } from "../lib/text/json";
import { pngOf } from "./png";
import { alertPicture } from "./alert";
import { portfolioPicture, portfolioShape } from "./portfolio";
import { readAlert, readReportPaths, readSignals, readWeek } from "./data";
import { reportPicture } from "./report";
import { signalsPicture } from "./signals";
import { weekPicture } from "./week";

/**
 * Pictures for the messenger, drawn when their card is delivered. The outbox calls them by their handles. Each is an
 * action of its own: if one fails or runs out of memory, its card lacks only the picture. The default runtime knows
 * WebAssembly, and the renderer and the font are modules, so nothing here needs Node.
 */

/**
 * An action that reads a subject and draws it as PNG. It returns `null` when too little is known for a picture.
 * @param picture Draws it as SVG, which names the site.
 */
function drawing<Data>(
  read: (ctx: ActionCtx, subject: string) => Promise<Data | null>,
  picture: (data: Data, site: string) => string,
) {
  return internalAction({
    args: { subject: v.string() },
    returns: v.union(v.bytes(), v.null()),
    handler: async (ctx, { subject }) => {
      const data = await read(ctx, subject);
      if (data === null) return null;
      return (await pngOf(picture(data, new URL(siteUrl()).host))).buffer;
    },
  });
}

/** Draws signals. The subject is their ids, separated by commas. */
export const signals = drawing((ctx, ids) => readSignals(ctx, ids.split(",")), signalsPicture);

/** Draws a week's signals. The subject is its Monday. */
export const week = drawing(readWeek, weekPicture);

/** Draws the prices during a shift. The subject is its id. */
export const report = drawing(readReportPaths, reportPicture);

/** Draws an alert's last days. The subject is its id. */
export const alert = drawing(readAlert, alertPicture);

/** Draws a portfolio. The subject is the card's figures as JSON, so the picture shows what the words say. */
export const portfolio = drawing(
  (_ctx, figures) => Promise.resolve(portfolioShape.parse(parseJson(figures))),
  portfolioPicture,
);
