import * as z from "zod";
import { EXAMPLE_TIME } from "../lib/http/examples";
import { TROUBLES } from "../ops/troubles";
import { pricePoint, type PricePoint } from "../market/views";
import { reportExample, reportShape, snapshotShape } from "../research/views";
import { signalExample, statsExample } from "../signals/http";
import { TOKENS } from "../signals/rules";
import { anchorShape, chainHead, equityPoint, publicSignal, signalStats } from "../signals/shapes";
import { measuredExample, publicAlertShape } from "../whales/shapes";

/** What each page shows, as data. */

const pointExample: PricePoint = { at: EXAMPLE_TIME, priceUsd: 97_262.4, source: "chainlink" };

export const record = z.object({
  token: z.enum(TOKENS).nullable().describe("Of which alone it is; null: of both"),
  stats: signalStats,
  signals: z.array(publicSignal).describe("The newest 10, or those before `before`, newest first"),
  before: z.iso.datetime().nullable().describe("Of which time they are; null: the newest"),
  older: z.iso.datetime().nullable().describe("The `before` of those behind them; null: there are none"),
  equity: z.array(equityPoint).describe("All trades in closing order, added up"),
  head: chainHead.nullable().describe("Of the chain of events, see /signals/proof; null before the first"),
  anchor: anchorShape
    .extend({ address: z.string() })
    .nullable()
    .describe(
      "The newest transaction on Base that holds the head, see /signals/anchors; null: none was made",
    ),
});
export type RecordData = z.output<typeof record>;

export const recordExample: RecordData = {
  token: "BTC",
  stats: statsExample,
  signals: [signalExample],
  before: null,
  older: null,
  equity: [
    {
      id: signalExample.id,
      closedAt: "2026-01-05T12:00:00.000Z",
      afterCostsPercent: 0.826864,
      sumPercent: 0.826864,
      fallPercent: 0,
    },
  ],
  head: { sequence: 2, hash: "9c".repeat(32) },
  anchor: null,
};

export const oneSignal = z.object({
  signal: publicSignal,
  issued: z
    .object({
      model: z.string(),
      priceUsd: z.number(),
      source: pricePoint.shape.source,
      observedAt: z.iso.datetime(),
    })
    .describe("The model that proposed it, and the measured price that it was held against"),
  path: z
    .array(pricePoint)
    .describe("The price from two hours before the signal until half an hour after its expiry, oldest first"),
});
export type SignalData = z.output<typeof oneSignal>;

export const signalPageExample: SignalData = {
  signal: signalExample,
  issued: {
    model: "claude-haiku-4.5",
    priceUsd: 97_262.4,
    source: "chainlink",
    observedAt: EXAMPLE_TIME,
  },
  path: [pointExample],
};

export const research = z.object({
  token: z.string().describe("Empty for the whole market"),
  report: reportShape.nullable().describe("The latest shift report on the token; null: none, or no token"),
  snapshot: snapshotShape.nullable().describe("The last on-demand result on this focus, however old"),
  measured: z
    .array(pricePoint)
    .describe("The hours of the last two days as measured; of BTC and ETH, else empty"),
});
export type ResearchData = z.output<typeof research>;

export const researchPageExample: ResearchData = {
  token: "ETH",
  report: reportExample,
  snapshot: null,
  measured: [{ at: "2026-01-05T09:00:00.000Z", priceUsd: 3_410.2, source: "chainlink" }],
};

export const whales = z.object({
  hours: z.number(),
  count: z.int(),
  alerts: z.array(publicAlertShape).describe("Newest first, at most 100; /mcp/whale-alerts has more"),
});
export type WhalesData = z.output<typeof whales>;

const trouble = z.enum(TROUBLES);

export const serviceStatus = z.object({
  time: z.iso.datetime(),
  troubles: z.array(trouble).describe("What does not work now; empty: everything does"),
});
export type StatusData = z.output<typeof serviceStatus>;

export const statusExample: StatusData = {
  time: EXAMPLE_TIME,
  troubles: [],
};

export const whalesPageExample: WhalesData = { hours: 24, count: 1, alerts: [measuredExample] };
