import * as z from "zod";

/** The contract's shapes, from its text. Further fields are up to the service. */

const iso = z.iso.datetime();
const outlook = z.enum(["bullish", "bearish", "neutral"]);
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const digits = z.string().regex(/^\d+(?:\.\d+)?$/, "is not a decimal number");

const price = z.object({ usd: z.number(), usd_24h_change: z.number() });

export const marketSnapshot = z.object({
  fetchedAt: iso,
  keyPrices: z.object({ bitcoin: price, ethereum: price, solana: price }),
  trending: z.array(z.object({ name: z.string(), symbol: z.string(), rank: z.int(), change24h: z.number() })),
  top20: z
    .array(
      z.object({
        rank: z.int(),
        name: z.string(),
        symbol: z.string(),
        price: z.number(),
        change24h: z.number(),
        marketCap: z.number(),
      }),
    )
    .length(20),
});

const impact = z.object({
  title: z.string().min(1),
  detail: z.string().min(1),
  sentiment: outlook,
  confidence: z.number().min(0).max(1),
});

const MARKS = { bullish: "🟢", bearish: "🔴", neutral: "🟡" } as const;
/** Citations are in brackets, and do not count as words. */
const countWords = (text: string) =>
  text
    .replace(/\[[^\]]*\]/g, " ")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));

const researchFields = z
  .object({
    fullAnalysis: z.string(),
    shortSummary: z.string(),
    marketOutlook: outlook,
    impacts: z.array(impact),
  })
  .refine(
    ({ shortSummary }) => Array.from(shortSummary).length <= 100,
    "shortSummary has over 100 characters",
  )
  .refine(
    ({ shortSummary, marketOutlook }) => shortSummary.startsWith(MARKS[marketOutlook]),
    "shortSummary does not start with its outlook's mark",
  );

/** A report of 400 to 600 words, with a tolerance for how words are counted. */
const researchResult = researchFields.refine(({ fullAnalysis }) => {
  const count = countWords(fullAnalysis).length;
  return count >= 390 && count <= 610;
}, "fullAnalysis has not 400 to 600 words");

export const onDemand = z.object({
  success: z.literal(true),
  result: z.intersection(researchResult, z.object({ generatedAt: iso })),
});

export const started = z.object({
  success: z.literal(true),
  jobId: z.string().min(1),
  startedAt: z.int(),
  stopsAt: z.int(),
});

export const shiftStatus = z.object({
  activeJob: z
    .object({
      jobId: z.string(),
      status: z.literal("active"),
      startedAt: iso,
      stopsAt: iso,
      elapsedMinutes: z.int().min(0),
      remainingMinutes: z.int().max(480),
      interimReportsCount: z.int().min(0).max(2),
      finalReportSent: z.boolean(),
    })
    .nullable(),
  lastJob: z
    .object({
      jobId: z.string(),
      status: z.string(),
      finalReportSent: z.boolean(),
      error: z.string().nullish(),
    })
    .nullable(),
  recentReports: z.array(
    z.object({
      type: z.enum(["interim", "final"]),
      generatedAt: iso,
      outlook: z.string(),
      summary: z.string(),
      messengerSent: z.boolean(),
    }),
  ),
});

export const report = z.object({
  _id: z.string(),
  jobId: z.string(),
  userId: z.string(),
  type: z.enum(["interim", "final"]),
  generatedAt: z.int(),
  result: researchFields,
  messengerSent: z.boolean(),
  jobToken: z.string(),
  jobStartedAt: z.int(),
});

export const paymentTerms = z.object({
  error: z.string(),
  paymentDetails: z.object({
    network: z.string(),
    asset: z.literal("USDC"),
    address,
    amount: z.string().refine((amount) => Number(amount) === 1, "is not one USDC"),
    description: z.string(),
  }),
});

const signal = z.object({
  token: z.enum(["BTC", "ETH"]),
  timeframe: z.literal("1h"),
  signal: z.enum(["BUY", "SELL", "HOLD"]),
  entry: z.number(),
  tp1: z.number().nullable(),
  tp2: z.number().nullable(),
  sl: z.number().nullable(),
  confidence: z.number(),
  reasoning: z.string(),
  status: z.enum(["PENDING", "WIN", "LOSS", "EXPIRED"]),
  generatedAt: iso,
  expiresAt: iso,
  pnlPercent: z.number().nullable().optional(),
});

export const latestSignals = z.object({
  signals: z.object({ BTC: signal.nullable().optional(), ETH: signal.nullable().optional() }),
  messengerSent: z.boolean().optional(),
});
export const signalHistory = z.object({
  signals: z.array(signal),
  stats: z.looseObject({ winrate: z.number().nullable(), wins: z.int(), losses: z.int() }),
  count: z.int(),
});
export const dailyRecap = z.object({
  date: z.string(),
  wins: z.int(),
  losses: z.int(),
  expired: z.int(),
  pending: z.int(),
  winrate: z.number().nullable(),
  byToken: z.object({ BTC: z.unknown(), ETH: z.unknown() }),
  totalPnlPercent: z.number(),
  /** There is no review of a day without signals. */
  review: z.string().nullable(),
});

export const whaleAlert = z.object({
  token: z.string().min(1),
  alertType: z.enum(["cex_inflow", "cex_outflow", "large_transfer", "smart_money"]),
  amount: z.number(),
  direction: outlook,
  description: z.string().min(1),
  detectedAt: z.int(),
  messengerSent: z.boolean(),
});
export const whaleAlerts = z.object({
  hours: z.number(),
  count: z.int(),
  alerts: z.array(whaleAlert),
  messengerSent: z.boolean().optional(),
});

const result = z.object({
  ...{ paidInUsd: z.number(), takenOutUsd: z.number(), realisedUsd: z.number(), unrealisedUsd: z.number() },
  ...{
    feesUsd: z.number(),
    totalUsd: z.number(),
    percent: z.number().nullable(),
    unpriced: z.array(z.string()),
  },
});

export const portfolio = z.object({
  address,
  network: z.string(),
  balances: z.array(
    z.object({
      token: z.string(),
      balance: digits,
      raw: z.string().regex(/^\d+$/),
      decimals: z.int(),
      priceUsd: z.number().nullable(),
      priceSource: z.string().nullable(),
      valueUsd: z.number().nullable(),
    }),
  ),
  totalValueUsd: z.number(),
  pricedAt: z.string(),
  result,
});

const leg = z.object({ token: z.string(), amount: digits, raw: z.string().regex(/^\d+$/) });

export const history = z.object({
  address,
  moves: z.array(z.object({ kind: z.string(), by: z.string(), out: leg.optional(), in: leg.optional() })),
  next: z.int().nullable(),
  result,
});

const txHash = z.string().regex(/^0x[0-9a-f]{64}$/);
const ordered = {
  success: z.literal(true),
  txHash,
  status: z.enum(["confirmed", "submitted"]),
  explorerUrl: z.string(),
};
export const sendOrder = z.object({ ...ordered, token: z.string(), toAddress: address, amount: z.string() });
export const swapOrder = z.object({
  ...ordered,
  fromToken: z.string(),
  toToken: z.string(),
  sellAmount: z.string(),
  buyAmount: z.string(),
  minBuyAmount: z.string(),
  approvalTxHash: txHash.nullish(),
  priceChecked: z.boolean(),
});
export const connected = z.object({
  address,
  walletId: z.string().min(1),
  existing: z.boolean(),
  network: z.string(),
});
export const created = z.object({ address, existing: z.boolean() });
export const balance = z.object({ address, eth: digits, usdc: digits, network: z.string().min(1) });
export const settings = z.object({ success: z.literal(true) });
export const linkedWallet = z.object({
  linked: z.literal(true),
  walletAddress: address,
  userId: z.string().min(1),
});
export const unlinked = z.object({ linked: z.literal(false) });
export const paidReport = z.object({ success: z.literal(true), result: researchResult, token: z.string() });
export const stopped = z.object({ success: z.literal(true), stopped: z.int().min(0) });
export const deposits = z.object({
  success: z.literal(true),
  credited: z.array(z.object({ txHash, logIndex: z.int(), amountUsdc: z.string(), credits: z.int() })),
  pending: z.array(z.object({ txHash })),
  ignored: z.array(z.object({ txHash, reason: z.string() })),
});

export const chatAnswer = z.object({
  answer: z.string().min(1),
  agentId: z.string(),
  model: z.string().min(1),
});
export const tokenAnswer = z.object({
  question: z.string(),
  token: z
    .object({
      symbol: z.string(),
      name: z.string(),
      price: z.number().nullable(),
      change24h: z.number().nullable(),
      marketCap: z.number().nullable(),
      volume24h: z.number().nullable(),
    })
    .nullable(),
  answer: z.string().min(1),
  model: z.string().nullable(),
  fetchedAt: z.string(),
});
