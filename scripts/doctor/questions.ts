import * as z from "zod";
import { setting, type Variable } from "../../convex/lib/env";
import { failureOf } from "../../convex/lib/errors";
import { readJob } from "../../convex/providers/agentApi";
import { complete, UnusableAnswer } from "../../convex/providers/llm";
import { botUsername } from "../../convex/providers/messenger";
import { UNCOUNTED } from "../../convex/lib/budget";
import { askSentiment } from "../../convex/providers/sentiment";
import { requestQuote } from "../../convex/providers/swap";
import { askStructured } from "../../convex/providers/structured";
import { askTicker, TICKERS } from "../../convex/providers/tickers";
import { swapAddress } from "../../convex/wallets/tokens";
import { lastAnswer } from "./exchanges";
import { fault, good, warning, type Finding } from "./finding";

/** One real thing asked of each provider, in the service's own way: through `convex/providers` and its parsers. */

export type Question = {
  subject: string;
  /** Without it the provider is not asked; null where none is needed. */
  key: Variable | null;
  /** What is asked, and the most it costs in USD. */
  asks: string;
  costUsd: number;
  ask: (key: string, now: number) => Promise<Finding>;
};

const PATIENCE_MS = 60_000;
/** Nobody's wallet: a quote binds nothing. */
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
    asks: "a job that nobody has: no prompt is used up",
    costUsd: 0,
    ask: async (_key, now) => {
      await readJob("doctor", now);
      return good("agent API", "answers, and takes the key");
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
        "Copy MESSENGER_BOT_TOKEN again from the messenger.",
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
];

async function askGateway(): Promise<Finding> {
  const subject = "LLM gateway";
  const prompt = {
    messages: [
      {
        role: "user" as const,
        content: "Is water wet? Say how sure you are, from 0 to 100, and why in one short sentence.",
      },
    ],
    maxTokens: 600,
    timeoutMs: PATIENCE_MS,
    attempts: 1,
    purse: UNCOUNTED,
  };
  const shape = z.object({ answer: z.enum(["yes", "no"]), confidence: z.number(), reason: z.string() });
  let refusesSchemas = false;
  const memory = {
    refusesSchemas: () => Promise.resolve(false),
    noteRefusal: () => {
      refusesSchemas = true;
      return Promise.resolve();
    },
    purse: UNCOUNTED,
  };
  try {
    const question = { messages: prompt.messages, maxTokens: prompt.maxTokens, name: "doctor", shape };
    const { model, repaired } = await askStructured(memory, question, { turnMs: PATIENCE_MS, attempts: 1 });
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
      `answers as ${model}, in the shape it is asked for only when told again`,
      "It works, at twice the calls: another LLM_MODEL may do better.",
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
          `See whether LLM_MODEL (${setting("LLM_MODEL")}) is one that the gateway lists.`,
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
  const told: string[] = [];
  const silent: string[] = [];
  for (const ticker of TICKERS) {
    const { BTC } = await askTicker(ticker, ["BTC"], 10_000).catch(() => ({ BTC: undefined }));
    if (BTC === undefined) silent.push(ticker);
    else told.push(`${ticker} ${BTC.usd.toFixed(2)}`);
  }
  const says = `BTC in USD: ${told.join(", ")}`;
  if (silent.length === 0) return good("tickers", says);
  const remedy =
    "See whether this machine (and the deployment) may call them; one of three is enough beside the feeds.";
  if (told.length > 0) return warning("tickers", `${says}; no price from ${silent.join(", ")}`, remedy);
  return fault("tickers", "none of them tells a price", remedy);
}

/** What a failed question says, by what came over the wire. */
export function findingOf(subject: string, error: unknown): Finding {
  const answer = lastAnswer();
  const address = "See whether its address is right, and whether this machine may call it.";
  if (answer === null) return fault(subject, failureOf(error)?.message ?? "could not be asked", address);
  if (answer.kind === "timeout") return fault(subject, "did not answer in time", address);
  if (answer.kind === "unreachable") return fault(subject, "could not be reached", address);
  const { status } = answer;
  if (status === 401 || status === 403) {
    return fault(
      subject,
      `refuses the key (${status})`,
      "Make a new key, or allow it this use, where the provider keeps them.",
    );
  }
  if (status === 402) return fault(subject, "has no credits left (402)", "Top up the account.");
  if (status === 429) return warning(subject, "is limiting requests (429)", "Try again in a minute.");
  if (status >= 500) return fault(subject, `is failing (${status})`, "Wait, or see its status page.");
  if (status === 400 && subject === "sentiment model") {
    return fault(
      subject,
      "refuses the request or the key (400)",
      "See whether SENTIMENT_API_KEY and SENTIMENT_MODEL are right.",
    );
  }
  const failure = failureOf(error);
  if (failure?.code === "invalid_request") return warning(subject, failure.message, "Try again later.");
  return fault(
    subject,
    `answered with status ${status}, not as its protocol says`,
    "See whether its address is right; npm run doctor -- --record DIR keeps what it said.",
  );
}
