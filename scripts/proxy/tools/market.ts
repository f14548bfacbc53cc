import * as z from "zod/mini";
import { DEFAULT_AGENT } from "../../../convex/chat/agents";
import { SECURITY_MESSAGE } from "../../../convex/lib/security/keyRequests";
import { largeUsd, lines, percent, time, usd } from "../format";
import { reads, SLOW_MS, tool, type Tool } from "../tool";

const figures = z.object({
  symbol: z.string(),
  name: z.string(),
  price: z.number(),
  change24h: z.number(),
  marketCap: z.nullable(z.number()),
  volume24h: z.nullable(z.number()),
  source: z.optional(z.string()),
});

/** A figure without a source is the model's, and marked so. */
const byModel = ({ source }: { source?: string | undefined }) => (source === "model" ? " [model]" : "");

function figuresLine({
  name,
  symbol,
  price,
  change24h,
  marketCap,
  volume24h,
  source,
}: z.output<typeof figures>): string {
  return [
    `${name} (${symbol}): ${usd(price)}, ${percent(change24h)} in 24 h${byModel({ source })}`,
    ...(marketCap === null ? [] : [`market cap ${largeUsd(marketCap)}`]),
    ...(volume24h === null ? [] : [`volume ${largeUsd(volume24h)}`]),
  ].join(", ");
}

const keyPrice = z.object({
  usd: z.number(),
  usd_24h_change: z.number(),
  source: z.optional(z.string()),
});

const getMarketData = tool({
  name: "get_market_data",
  title: "Market snapshot",
  description:
    "Live crypto market snapshot: Bitcoin, Ethereum and Solana, trending coins, and the top 20 by market cap; with token, that token's figures too. Prices and market caps are in USD, changes are percent over 24 hours. fetchedAt says how old the figures are.",
  endpoint: { method: "GET", path: "/mcp/market" },
  hints: reads("live"),
  repeats: "freely",
  structured: false,
  timeoutMs: SLOW_MS,
  view: z.object({
    fetchedAt: z.string(),
    keyPrices: z.object({ bitcoin: keyPrice, ethereum: keyPrice, solana: keyPrice }),
    trending: z.array(
      z.object({
        name: z.string(),
        symbol: z.string(),
        change24h: z.number(),
        source: z.optional(z.string()),
      }),
    ),
    top20: z.array(
      z.object({
        rank: z.number(),
        name: z.string(),
        symbol: z.string(),
        price: z.number(),
        change24h: z.number(),
        marketCap: z.number(),
        source: z.optional(z.string()),
      }),
    ),
    focus: z.optional(z.nullable(figures)),
    sources: z.array(z.object({ name: z.string() })),
  }),
  text: ({ fetchedAt, keyPrices, trending, top20, focus, sources }) => {
    const key = (symbol: string, one: z.output<typeof keyPrice>) =>
      `${symbol} ${usd(one.usd)} (${percent(one.usd_24h_change)})${byModel(one)}`;
    return lines(
      `Crypto market, ${time(fetchedAt)}`,
      sources.length === 0
        ? "No live price source was within reach: these are a model's figures."
        : `Prices of ${sources.map(({ name }) => name).join(", ")}; [model] marks what no source covers.`,
      focus === undefined
        ? null
        : focus === null
          ? "There are no figures of the token asked for."
          : figuresLine(focus),
      [key("BTC", keyPrices.bitcoin), key("ETH", keyPrices.ethereum), key("SOL", keyPrices.solana)].join(
        " · ",
      ),
      "",
      `Trending: ${trending.map((one) => `${one.name} (${one.symbol}) ${percent(one.change24h)}${byModel(one)}`).join(", ")}`,
      "",
      "Top by market cap:",
      ...top20.map(
        ({ rank, name, symbol, price, change24h, marketCap, source }) =>
          `${rank}. ${name} (${symbol}) ${usd(price)}, ${percent(change24h)}, ${largeUsd(marketCap)}${byModel({ source })}`,
      ),
    );
  },
});

const getTokenData = tool({
  name: "get_token_data",
  title: "Token figures",
  description:
    "Live figures of one token and an answer to a question about it. question is a token name or ticker (SOL), or a question that names one. Prices, market cap and volume are in USD, the change is percent over 24 hours.",
  endpoint: { method: "POST", path: "/mcp/token" },
  hints: reads("live"),
  repeats: "freely",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.object({ token: z.nullable(figures), answer: z.string(), fetchedAt: z.string() }),
  text: ({ token, answer, fetchedAt }) =>
    lines(
      token === null ? null : `${figuresLine(token)} (${time(fetchedAt)})`,
      token === null ? null : "",
      answer,
    ),
  declined: ({ question }) => ({
    question: typeof question === "string" ? question : "",
    token: null,
    answer: SECURITY_MESSAGE,
    model: "none",
    priceSource: null,
    fetchedAt: new Date().toISOString(),
  }),
});

const askNoel = tool({
  name: "ask_noel",
  title: "Ask the assistant",
  description:
    "Asks one of the service's agents, who knows the live market: primary-default (crypto assistant, the default), news-default (AI and Web3 news) or marketdata-default (market data). The conversation is not stored: pass earlier turns in messages. Information, not financial advice.",
  endpoint: { method: "POST", path: "/mcp/chat" },
  hints: reads("live"),
  repeats: "freely",
  structured: false,
  timeoutMs: SLOW_MS,
  view: z.object({ answer: z.string() }),
  text: ({ answer }) => answer,
  declined: ({ agentId }) => ({
    answer: SECURITY_MESSAGE,
    agentId: typeof agentId === "string" && agentId.trim() !== "" ? agentId.trim() : DEFAULT_AGENT,
    model: "none",
    sources: [],
    checked: { figures: 0, cited: 0, unproven: 0 },
  }),
});

export const marketTools: Tool[] = [getMarketData, getTokenData, askNoel];
