import { v, type Infer } from "convex/values";
import { vCitedSource } from "../evidence/validators";
import { vMissing } from "../market/tables";
import { vCoin, vMarketSource, vRowSource } from "../market/validators";
import { vChange, vCheckedCounts, vOnchainOutput, vReportText, vSentiment } from "./validators";

/** The stored form of reports and observations. */

export const vResult = v.object({
  ...vReportText.fields,
  /** The facts that the texts cite, as `[1]`. */
  sources: v.array(vCitedSource),
  /** What changed since the shift began, and since the last report on the focus. */
  changes: v.array(vChange),
  checked: vCheckedCounts,
  /** What could not be collected for it, and why. */
  missing: v.array(
    v.union(
      vMissing,
      vMissing.omit("collector").extend({
        collector: v.union(v.literal("market"), v.literal("sentiment"), v.literal("onchain")),
      }),
    ),
  ),
});

export const vReportKind = v.union(v.literal("interim1"), v.literal("interim2"), v.literal("final"));

export const vMarketOutput = v.object({
  trending: v.array(vCoin),
  /** The largest moves by 24-hour change, in either direction, largest first. */
  movers: v.array(
    v.object({
      symbol: v.string(),
      price: v.number(),
      change24h: v.number(),
      /** The source of the moves. */
      source: vRowSource,
    }),
  ),
  keyPrices: v.string(),
  focus: v.union(v.string(), v.null()),
  /** The price sources that the figures were checked against. */
  sources: v.array(vMarketSource),
  marketDataRaw: v.string(),
});

export const vSentimentOutput = v.object({
  ...vSentiment.fields,
  /** Whether the answer came without a live search: then it says nothing about the present. */
  degraded: v.boolean(),
  /** Addresses of the cited posts. */
  citations: v.array(v.string()),
});

const vPending = v.object({ state: v.literal("pending") });
const vFailed = v.object({ state: v.literal("failed"), at: v.number(), error: v.string() });
const vGood = <Output extends ReturnType<typeof v.object>>(output: Output) =>
  v.object({ state: v.literal("ok"), at: v.number(), model: v.string(), tokensUsed: v.number(), output });

const vCollected = v.object({ state: v.literal("ok"), at: v.number(), missing: v.array(vMissing) });

/** A successful outcome in an observation; the answer itself is a row of `sourceReadings`. */
const vAnswered = v.object({
  state: v.literal("ok"),
  at: v.number(),
  model: v.string(),
  tokensUsed: v.number(),
  readingId: v.id("sourceReadings"),
});
/** Stored here because persistence is counted over all observations of a shift. */
const vRank = v.object({ symbol: v.string(), rank: v.number() });

export const vSourcesKept = v.object({
  market: v.union(vPending, vFailed, vAnswered.extend({ ranks: v.array(vRank) })),
  sentiment: v.union(vPending, vFailed, vAnswered),
  onchain: v.union(vPending, vFailed, vAnswered),
  /** Whether the fact collectors have finished their round. */
  facts: v.union(vPending, vFailed, vCollected),
});

/** One source's outcome, as its collector reports it. */
export const vSettled = v.union(
  v.object({ source: v.literal("market"), reading: v.union(vFailed, vGood(vMarketOutput)) }),
  v.object({ source: v.literal("sentiment"), reading: v.union(vFailed, vGood(vSentimentOutput)) }),
  v.object({ source: v.literal("onchain"), reading: v.union(vFailed, vGood(vOnchainOutput)) }),
  v.object({ source: v.literal("facts"), reading: v.union(vFailed, vCollected) }),
);

const vSourceState = v.object({
  /** `live`: asked for this result; `earlier`: the last stored observation; `missing`: not available. */
  state: v.union(v.literal("live"), v.literal("earlier"), v.literal("missing")),
  asOf: v.union(v.number(), v.null()),
});

export const vSourceStates = v.object({
  market: vSourceState,
  sentiment: vSourceState,
  onchain: vSourceState,
});

export type Result = Infer<typeof vResult>;
/** What somebody wrote of a result. */
export type Texts = Infer<typeof vReportText>;
export type Outlook = Texts["marketOutlook"];
export type ReportKind = Infer<typeof vReportKind>;
/** The combined readings of a shift's observations. */
export const vReadings = v.object({
  /** Symbols seen in the most collections, most persistent first. */
  persistent: v.array(v.object({ symbol: v.string(), cycles: v.number(), latestRank: v.number() })),
  /** The largest 24-hour moves of the latest market reading. */
  movers: vMarketOutput.fields.movers,
  market: v.union(v.object({ at: v.number(), output: vMarketOutput }), v.null()),
  /** The last two readings, oldest first. */
  sentiment: v.array(v.object({ at: v.number(), output: vSentimentOutput })),
  onchain: v.array(v.object({ at: v.number(), output: vOnchainOutput })),
  cycles: v.number(),
  /** Of the latest observation. */
  facts: v.union(vSourcesKept.fields.facts, v.null()),
});

export type SourcesKept = Infer<typeof vSourcesKept>;
export type Readings = Infer<typeof vReadings>;
export type Rank = Infer<typeof vRank>;
export type Settled = Infer<typeof vSettled>;
export type SourceStates = Infer<typeof vSourceStates>;
export type MarketOutput = Infer<typeof vMarketOutput>;
