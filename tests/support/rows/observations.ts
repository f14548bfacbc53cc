import type { App } from "../app";

/** All observations, with their sources' answers. */
export async function observationsOf(app: App) {
  return app.t.run(async ({ db }) => {
    const answers = await db.query("sourceReadings").take(1_000);
    const rows = await db.query("observations").take(1_000);
    return rows.map(({ sources: { market, sentiment, onchain, facts }, ...row }) => {
      const said = (kept: typeof market | typeof sentiment) =>
        answers.find(({ _id }) => kept.state === "ok" && _id === kept.readingId);
      return {
        ...row,
        sources: {
          market: { ...market, output: said(market)?.market },
          sentiment: { ...sentiment, output: said(sentiment)?.sentiment },
          onchain: { ...onchain, output: said(onchain)?.onchain },
          facts,
        },
      };
    });
  });
}
