import * as z from "zod";
import { optional, setting, type Variable } from "../../convex/lib/env";
import { agentApiUrl } from "../../convex/lib/settings";
import { AGENT_API_OFF, readJob } from "../../convex/providers/agentApi";
import { complete, UnusableAnswer } from "../../convex/providers/models/gateway";
import { botUsername } from "../../convex/providers/messenger";
import { UNCOUNTED } from "../../convex/lib/budget/purses";
import { askSentiment } from "../../convex/providers/models/sentiment";
import { requestQuote } from "../../convex/providers/swap";
import { askStructured } from "../../convex/providers/models/structure";
import { askTicker, TICKERS } from "../../convex/providers/data/tickers";
import { swapAddress } from "../../convex/wallets/tokens";
import { keepExchanges, lastAnswer, watched } from "./recording/exchanges";
import { fault, good, off, warning, type Finding } from "./finding";
import { PUBLIC_QUESTIONS } from "./publicSources";
import { tickerTrouble } from "./refusals";

/** One real question to each provider, asked the service's own way: through `convex/providers` and its parsers. */

export type Question = {
  subject: string;
  /** The provider is not asked without it; null if none is needed. */
  key: Variable | null;
  /** The question, and the most it costs in USD. */
  asks: string;
  costUsd: number;
  ask: (key: string, now: number) => Promise<Finding>;
};

const PATIENCE_MS = 60_000;
/** Nobody's wallet: a quote is not binding. */
const TAKER = "0x000000000000000000000000000000000000dEaD";

export const QUESTIONS: readonly Question[] = [
  {
    subject: "LLM gateway",
    key: "LLM_GATEWAY_API_KEY",
    asks: "one structured answer with a strict JSON schema, about 400 tokens",
    costUsd: 0.002,
    ask: askGateway,
  },
  {
    subject: "agent API",
    key: "LLM_GATEWAY_API_KEY",
    asks: "for a job that does not exist, so no prompt is used up",
    costUsd: 0,
    ask: async (_key, now) => {
      if (agentApiUrl() === null) return off("agent API", `is not asked: ${AGENT_API_OFF}`);
      await readJob("doctor", now);
      return good("agent API", "answers, and accepts the key");
    },
  },
  {
    subject: "sentiment model",
    key: "SENTIMENT_API_KEY",
    asks: "one search of the last day's posts, and a sentence about them",
    costUsd: 0.5,
    ask: async (_key, now) => {
      const question = "Search once, read at most five posts: what is said of Bitcoin today? One sentence.";
      const { model, degraded } = await askSentiment(UNCOUNTED, "You report what posts say.", question, now);
      if (!degraded) return good("sentiment model", `searches and answers as ${model}`);
      return warning(
        "sentiment model",
        `answers as ${model}, but without a search`,
        "Set SENTIMENT_MODEL to one that has the x_search tool: shifts mark such readings as degraded.",
      );
    },
  },
  {
    subject: "messenger",
    key: "MESSENGER_BOT_TOKEN",
    asks: "getMe",
    costUsd: 0,
    ask: async (token) => {
      const name = await botUsername(token);
      if (name !== null) return good("messenger", `answers as @${name}`);
      return fault(
        "messenger",
        "does not know the bot's token",
        "Copy MESSENGER_BOT_TOKEN again from the messenger; MESSENGER_API_URL may lead to another Bot API, too.",
      );
    },
  },
  {
    subject: "swap provider",
    key: "SWAP_API_KEY",
    asks: "a firm quote for 1 USDC to WETH, which binds nobody",
    costUsd: 0,
    ask: async () => {
      const { minBuyAmount } = await requestQuote({
        sellToken: swapAddress("USDC"),
        buyToken: swapAddress("WETH"),
        sellAmount: 1_000_000n,
        taker: TAKER,
        slippageBps: 100,
      });
      return good("swap provider", `quotes 1 USDC for at least ${minBuyAmount} wei of WETH`);
    },
  },
  {
    subject: "tickers",
    key: null,
    asks: "the price of BTC, of each of the three",
    costUsd: 0,
    ask: askTickers,
  },
  ...PUBLIC_QUESTIONS,
];

async function askGateway(): Promise<Finding> {
  const subject = "LLM gateway";
  const asked = {
    system: "You answer a question about the world.",
    user: "Is water wet? Say how sure you are, in whole percent, and why in one short sentence.",
    maxTokens: 600,
  };
  const prompt = {
    messages: [{ role: "user" as const, content: asked.user }],
    maxTokens: asked.maxTokens,
    timeoutMs: PATIENCE_MS,
    attempts: 1,
    purse: UNCOUNTED,
  };
  const shape = z.object({
    answer: z.enum(["yes", "no"]),
    confidence: z.int().min(0).max(100).describe("whole percent, 0 to 100"),
    reason: z.string(),
  });
  let refusesSchemas = false;
  const memory = {
    refused: () => Promise.resolve([]),
    note: (part: string) => {
      if (part === "schema") refusesSchemas = true;
      return Promise.resolve();
    },
  };
  try {
    const question = { ...asked, name: "doctor", shape };
    const { model, repaired } = await askStructured(memory, UNCOUNTED, question, {
      turnMs: PATIENCE_MS,
      attempts: 1,
    });
    if (refusesSchemas) {
      return warning(
        subject,
        `refuses a JSON schema, and answers as ${model} without one`,
        `It works; an LLM_MODEL that takes response_format is more reliable (now ${setting("LLM_MODEL")}).`,
      );
    }
    if (!repaired) return good(subject, `answers in the shape it is asked for, as ${model}`);
    return warning(
      subject,
      `answers as ${model}, but in the requested shape only after a correction`,
      "It works, but takes twice as many calls; another LLM_MODEL may do better.",
    );
  } catch (error) {
    if (error instanceof UnusableAnswer) {
      return fault(
        subject,
        "answers, but not in the shape it is asked for",
        `Set LLM_MODEL to one that follows JSON schemas (now ${setting("LLM_MODEL")}).`,
      );
    }
    const answer = lastAnswer();
    if (answer?.kind !== "answer" || ![400, 404, 410, 422].includes(answer.status)) throw error;
    return (await answersPlainly(prompt))
      ? fault(
          subject,
          `refuses a JSON schema (${answer.status}), and answers without one`,
          `Set LLM_MODEL to one that takes response_format (now ${setting("LLM_MODEL")}).`,
        )
      : fault(
          subject,
          `refuses the model or the request (${answer.status})`,
          `Set LLM_MODEL to ${answer.headers["x-model-replacement"] ?? "one that the gateway lists"} (now ${setting("LLM_MODEL")})${answer.status === 404 ? ", or LLM_ENDPOINT to where the gateway is" : ""}.`,
        );
  }
}

async function answersPlainly(prompt: Parameters<typeof complete>[0]): Promise<boolean> {
  return complete(prompt).then(
    () => true,
    () => false,
  );
}

async function askTickers(): Promise<Finding> {
  const asked = await Promise.all(
    TICKERS.map(async (ticker) => ({
      ticker,
      ...(await watched(() => askTicker(ticker, ["BTC"], 10_000).catch(() => ({ BTC: undefined })))),
    })),
  );
  keepExchanges(asked.flatMap(({ exchanges }) => exchanges));
  const quotes = asked.flatMap(({ ticker, value: { BTC } }) =>
    BTC === undefined ? [] : [`${ticker} ${BTC.usd.toFixed(2)}`],
  );
  const silent = asked.flatMap(({ ticker, value: { BTC }, exchanges }) =>
    BTC === undefined ? [`${ticker} ${tickerTrouble(exchanges.at(-1)?.answer ?? null)}`] : [],
  );
  const prices = quotes.length === 0 ? [] : [`BTC in USD: ${quotes.join(", ")}`];
  const says = [...prices, ...silent].join("; ");
  if (silent.length === 0) return good("tickers", says);
  const remedy =
    optional("TICKER_API_URL") === undefined
      ? "Check whether this machine (and the deployment) may call them; one of three is enough in addition to the feeds. TICKER_API_URL can name another address that serves them."
      : "Check TICKER_API_URL: it serves the paths of all three, and one is enough in addition to the feeds.";
  return quotes.length > 0 ? warning("tickers", says, remedy) : fault("tickers", says, remedy);
}
