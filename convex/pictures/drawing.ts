import { v } from "convex/values";
import { internalAction } from "../_generated/server";
import { siteUrl } from "../lib/env";
import { parseJson } from "../lib/json";
import { pngOf } from "./png";
import { portfolioPicture, portfolioShape } from "./portfolio";
import { readReportPaths, readSignals, readWeek } from "./reading";
import { reportPicture } from "./report";
import { signalsPicture } from "./signals";
import { weekPicture } from "./week";

/**
 * Pictures for the messenger, drawn when their card is delivered. The outbox calls them by their handles: each is an
 * action of its own, so that one which fails, or ends for want of memory, costs its card nothing but the picture. The
 * default runtime knows WebAssembly, and carries the renderer and the font in modules: nothing here needs Node.
 */

/** A PNG; `null` where too little is known to be drawn. */
const vPicture = v.union(v.bytes(), v.null());
const args = { subject: v.string() };

/** @param subject The signals' ids, with commas. */
export const signals = internalAction({
  args,
  returns: vPicture,
  handler: async (ctx, { subject }) => {
    const drawn = await readSignals(ctx, subject.split(","));
    return drawn === null ? null : png(signalsPicture(drawn, site()));
  },
});

/** @param subject The week's Monday. */
export const week = internalAction({
  args,
  returns: vPicture,
  handler: async (ctx, { subject }) => {
    const drawn = await readWeek(ctx, subject);
    return drawn === null ? null : png(weekPicture(drawn, site()));
  },
});

/** @param subject The shift's id. */
export const report = internalAction({
  args,
  returns: vPicture,
  handler: async (ctx, { subject }) => {
    const drawn = await readReportPaths(ctx, subject);
    return drawn === null ? null : png(reportPicture(drawn, site()));
  },
});

/** @param subject What the card says, as JSON: the picture shows what the words do. */
export const portfolio = internalAction({
  args,
  returns: vPicture,
  handler: async (_ctx, { subject }) =>
    png(portfolioPicture(portfolioShape.parse(parseJson(subject)), site())),
});

async function png(svg: string): Promise<ArrayBuffer> {
  return (await pngOf(svg)).buffer;
}

function site(): string {
  return new URL(siteUrl()).host;
}
