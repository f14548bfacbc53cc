import * as z from "zod";
import { internal } from "../_generated/api";
import { getErrorData } from "../lib/errors";
import { EXAMPLE_TIME, requiredText, wholeNumberWithDefault, withAliases } from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { hashQuestion } from "../platform/cache";
import { readThrough } from "../platform/refreshes";
import { toIso, SECOND } from "../lib/time";
import { marketSnapshot, tokenAnswer } from "./shapes";
import { MARKET_KEY } from "./snapshot";
import { readPrices, pricesShape } from "./views";

/** The freshness of a snapshot or a token answer. */
const cached = { upstream: "The LLM gateway", freshMs: () => 60 * SECOND, staleMs: 30 * SECOND };

const figuresExample = {
  symbol: "SOL",
  name: "Solana",
  price: 187.42,
  change24h: 2.31,
  marketCap: 98_700_000_000,
  volume24h: 3_450_000_000,
  source: "coinbase" as const,
  sizeSource: "coingecko" as const,
};

/** Errors of both endpoints, which read through a cache that is refreshed on demand. */
const errors = {
  rate_limited: "A refresh was needed, and this caller has asked for too many.",
  upstream: "The LLM gateway failed, or took too long with nothing older to show.",
};

const market: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/market",
  summary: "Live market snapshot: key prices, trending coins, top 20.",
  description:
    "Figures are at most 90 seconds old (from the first minute on they are renewed), or the last good ones when a refresh takes longer or fails: `fetchedAt` says which. They are the sources'; what no source has is the gateway's, asked at most every ten minutes and marked `model`. A cached read costs nothing and is not counted.",
  needs: ["LLM_GATEWAY_API_KEY"],
  errors: {
    ...errors,
    upstream:
      "The LLM gateway failed or took too long, the sources do not cover the whole market, and there is no earlier snapshot.",
  },
  example: {
    input: {},
    output: {
      fetchedAt: EXAMPLE_TIME,
      keyPrices: {
        bitcoin: { usd: 97_250.5, usd_24h_change: 1.42, source: "chainlink" },
        ethereum: { usd: 3_410.2, usd_24h_change: -0.65, source: "chainlink" },
        solana: { usd: 187.42, usd_24h_change: 2.31, source: "chainlink" },
      },
      trending: [{ name: "Solana", symbol: "SOL", rank: 1, change24h: 2.31, source: "coingecko" }],
      top20: [
        {
          rank: 1,
          name: "Bitcoin",
          symbol: "BTC",
          price: 97_250.5,
          change24h: 1.42,
          marketCap: 1_926_000_000_000,
          source: "chainlink",
          sizeSource: "coingecko",
        },
      ],
      sources: [{ name: "chainlink", asOf: EXAMPLE_TIME }],
    },
  },
  input: z.object({}),
  returns: marketSnapshot,
  handler: async (ctx, _input, { caller }) => {
    try {
      const { body } = await readThrough(ctx, {
        ...cached,
        caller,
        key: MARKET_KEY,
        begin: () => ctx.runMutation(internal.market.snapshot.startSnapshotRefresh, { caller }),
      });
      return marketSnapshot.parse(JSON.parse(body));
    } catch (error) {
      if (getErrorData(error)?.code !== "upstream") throw error;
      const stored = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key: MARKET_KEY });
      if (stored === null) throw error;
      return marketSnapshot.parse(JSON.parse(stored.body));
    }
  },
});

const tokenQuestion: MountedEndpoint = defineEndpoint({
  methods: ["GET", "POST"],
  path: "/mcp/token",
  summary: "Figures of one token and an answer to a question about it.",
  description:
    "Answers to the same question are shared for 60 seconds, and half a minute longer while they are renewed. Where it names no token that a source knows, `token` is null and the answer begins with that. A request for a private key or seed phrase gets a fixed security message, and no model is asked.",
  needs: ["LLM_GATEWAY_API_KEY"],
  errors,
  example: {
    input: { question: "How is SOL doing today?" },
    output: {
      question: "How is SOL doing today?",
      token: figuresExample,
      answer: "Solana trades at 187.42 USD, 2.3 % higher than a day ago, on rising volume.",
      model: "claude-haiku-4.5",
      priceSource: "chainlink",
      fetchedAt: EXAMPLE_TIME,
    },
  },
  input: withAliases(
    { token: "question" },
    z.object({
      question: requiredText(1_000).describe(
        "Token name or ticker, or a question about it; token is another name for it.",
      ),
    }),
  ),
  returns: tokenAnswer.extend({ question: z.string() }),
  handler: async (ctx, { question }, { caller }) => {
    const { isKeyRequest, SECURITY_MESSAGE } = await import("../lib/keyRequests");
    if (isKeyRequest(question)) {
      const none = { token: null, priceSource: null, model: "none", fetchedAt: toIso(Date.now()) };
      return { question, answer: SECURITY_MESSAGE, ...none };
    }
    const { body } = await readThrough(ctx, {
      ...cached,
      caller,
      key: `token:${hashQuestion(question)}`,
      begin: () => ctx.runMutation(internal.market.snapshot.beginAnswer, { question, caller }),
    });
    return { question, ...tokenAnswer.parse(JSON.parse(body)) };
  },
});

const MAX_HOURS = 720;
const DEFAULT_HOURS = 48;

const prices: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/prices",
  summary: "Measured prices of BTC and ETH, and the service's own hourly history of them.",
  description:
    "Every five minutes the price feeds are asked, else the exchanges; each price says who gave it. Reading costs nothing and asks nobody. An hour in which no price was taken is left out; the day before the first price is the exchange's.",
  example: {
    input: { hours: 1 },
    output: {
      hours: 1,
      prices: {
        BTC: {
          priceUsd: 97_250.5,
          source: "chainlink",
          observedAt: EXAMPLE_TIME,
          change24hPercent: 1.42,
          closes: [{ at: "2026-01-05T09:00:00.000Z", priceUsd: 97_180.2, source: "chainlink" }],
        },
        ETH: null,
      },
    },
  },
  input: z.object({
    hours: wholeNumberWithDefault(DEFAULT_HOURS, 1, MAX_HOURS).describe(
      `How many hours of history, 1 to ${MAX_HOURS}; ${DEFAULT_HOURS} when left out.`,
    ),
  }),
  returns: pricesShape,
  handler: (ctx, { hours }) => readPrices(ctx, hours),
});

export const marketEndpoints: MountedEndpoint[] = [market, tokenQuestion, prices];
