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
 * Pictures for the messenger, drawn when their card is delivered. The outbox calls them by their handles: each is an
 * action of its own, so that one which fails, or ends for want of memory, costs its card nothing but the picture. The
 * default runtime knows WebAssembly, and carries the renderer and the font in modules: nothing here needs Node.
 */

/**
 * What draws a subject, once it has been read: a PNG; `null` where too little is known to be drawn.
 * @param picture As SVG. It names the site.
 */
function drawing<Drawn>(
  read: (ctx: ActionCtx, subject: string) => Promise<Drawn | null>,
  picture: (drawn: Drawn, site: string) => string,
) {
  return internalAction({
    args: { subject: v.string() },
    returns: v.union(v.bytes(), v.null()),
    handler: async (ctx, { subject }) => {
      const drawn = await read(ctx, subject);
      if (drawn === null) return null;
      return (await pngOf(picture(drawn, new URL(siteUrl()).host))).buffer;
    },
  });
}

/** Of the signals of these ids, with commas. */
export const signals = drawing((ctx, ids) => readSignals(ctx, ids.split(",")), signalsPicture);

/** Of the week of this Monday. */
export const week = drawing(readWeek, weekPicture);

/** Of the shift with this id. */
export const report = drawing(readReportPaths, reportPicture);

/** Of the alert with this id. */
export const alert = drawing(readAlert, alertPicture);

/** Of what the card says, as JSON: the picture shows what the words do. */
export const portfolio = drawing(
  (_ctx, said) => Promise.resolve(portfolioShape.parse(parseJson(said))),
  portfolioPicture,
);
