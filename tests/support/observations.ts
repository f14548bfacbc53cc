import { wholeOf } from "../../convex/research/sayings";
import type { App } from "./app";

/** All observations, with their sources' answers. */
export async function observationsOf(app: App) {
  return app.t.run(async (ctx) => {
    const rows = await ctx.db.query("observations").take(1_000);
    return Promise.all(rows.map(async (row) => ({ ...row, sources: await wholeOf(ctx, row.sources) })));
  });
}
