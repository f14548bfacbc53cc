import { v, type Infer } from "convex/values";
import { parseAbi } from "viem";
import { feedAbi } from "../providers/chain/accounts";
import { getBalance, getBlock, readContract } from "viem/actions";
import * as z from "zod";
import { internalAction, type ActionCtx } from "../_generated/server";
import {
  getAgentApiUrl,
  isSet,
  getOptional,
  getRequired,
  getSetting,
  getSiteUrl,
  listVariables,
  type Variable,
} from "../lib/env";
import { getErrorMessage } from "../lib/errors";
import { parseTolerantly } from "../lib/text/json";
import { CHAIN_ID, USDC } from "../lib/money/base";
import { findHeadProblem, withUsage } from "../platform/outside/calls";
import { limitSourceRate } from "../providers/data/publicData";
import { PUBLIC_SOURCES, SOURCE_NAMES, type Feed, type PublicSource } from "../figures/publicSources";
import { findUnopened } from "./rotation";
import { MINUTE, SECOND } from "../lib/time";
import { PRICE_FEEDS, getFeedPrice, type FeedName } from "../market/feeds";
import { readJob } from "../providers/agentApi";
import { exchange } from "../providers/call";
import { askTrade } from "../providers/data/coinbase";
import { createChainClient } from "../providers/chain/rpc";
import { askCoins } from "../providers/data/coingecko";
import { askFeed } from "../providers/data/headlines";
import { askPerpetuals } from "../providers/data/hyperliquid";
import { readVersion } from "../providers/facilitator";
import { getBotUsername, getWebhookInfo } from "../providers/messenger";
import { askSentiment } from "../providers/models/sentiment";
import { completeStructured } from "../providers/models/structure";
import { requestQuote } from "../providers/swap";
import { getServiceAddress } from "../wallets/custody/signatures";
import { toSwapAddress } from "../wallets/tokens";

/**
 * `npx convex run --prod ops/doctor:ask`: one real question to each provider, from the deployment itself, with its own
 * variables and clients. About 0.5 USD, nearly all of it for the sentiment model's search.
 */

const vAnswer = v.object({
  /** Each problem, with its remedy. */
  wrong: v.array(v.string()),
  /** The providers that answered as they should. */
  right: v.string(),
  /** The address under which limits count a caller with a forged one. */
  caller: v.string(),
});

type Question = {
  subject: string;
  /** The question is skipped without these variables. */
  needs?: readonly Variable[];
  /** The remedy of a failure. */
  remedy: string;
  /** @returns The problem, or `null`. A thrown error is a problem, too. */
  ask: (ctx: ActionCtx) => Promise<string | null>;
};

const TIMEOUT_MS = 20 * SECOND;

/** The variables that endpoints of the contract need, and the effect of their absence. */
const REQUIRED: readonly [Variable, string][] = [
  ["LLM_GATEWAY_API_KEY", "market data, chat, research, signals and whale alerts answer 500"],
  ["SENTIMENT_API_KEY", "starting a research shift answers 500"],
  ["WALLET_ENCRYPTION_KEY", "wallets, swaps, sends and users' own bots answer 500"],
  ["SWAP_API_KEY", "swaps answer 500"],
];

const domainAbi = parseAbi(["function DOMAIN_SEPARATOR() view returns (bytes32)"]);
/** Of the real USDC contract on Base: name "USD Coin", version "2", chain id 8453. */
const USDC_DOMAIN = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f";
/** A payment's transaction costs far less than a thousandth of it. */
const LOW_GAS_WEI = 1_000_000_000_000_000n;
/** The burn address: a quote binds no taker. */
const TAKER = "0x000000000000000000000000000000000000dEaD";

const createFeedRequest = (feed: Feed) => (ctx: ActionCtx) => askFeed(limitSourceRate(ctx), feed, TIMEOUT_MS);

/** The smallest request to each public source. */
const ASK_SOURCE: Readonly<Record<PublicSource, (ctx: ActionCtx) => Promise<unknown>>> = {
  coinbase: (ctx) => askTrade(limitSourceRate(ctx), "BTC", TIMEOUT_MS),
  coingecko: (ctx) => askCoins(limitSourceRate(ctx), TIMEOUT_MS),
  hyperliquid: (ctx) => askPerpetuals(limitSourceRate(ctx), TIMEOUT_MS),
  coindesk: createFeedRequest("coindesk"),
  cointelegraph: createFeedRequest("cointelegraph"),
  decrypt: createFeedRequest("decrypt"),
};

const buildSourceQuestion = (source: PublicSource): Question => ({
  subject: SOURCE_NAMES[source],
  remedy: "Reports say what is missing.",
  ask: async (ctx) => {
    await ASK_SOURCE[source](ctx);
    return null;
  },
});

/** The name of the answer's shape says which model it is for (`providers/models/client`). */
function buildModelQuestion(model: "LLM_MODEL" | "LLM_MODEL_SMALL"): Question {
  const isSmall = model === "LLM_MODEL_SMALL";
  return {
    subject: isSmall ? "small model" : "LLM gateway",
    needs: isSmall ? ["LLM_GATEWAY_API_KEY", model] : ["LLM_GATEWAY_API_KEY"],
    remedy: `Check LLM_GATEWAY_API_KEY, LLM_ENDPOINT and ${model}.`,
    ask: async (ctx) => {
      const prompt = {
        name: isSmall ? "doctor_small" : "doctor",
        system: "You answer a question about the world.",
        user: "Is water wet? Say why in one short sentence.",
        maxTokens: 600,
        shape: z.object({ answer: z.enum(["yes", "no"]), reason: z.string() }),
      };
      const options = { billTo: "service", timeoutMs: MINUTE, attempts: 1, asksAgain: true } as const;
      const { repaired } = await completeStructured(ctx, prompt, options);
      return repaired
        ? `${getSetting(model)} gives the shape that it is asked for only after a correction: it takes twice as many calls.`
        : null;
    },
  };
}

const QUESTIONS: readonly Question[] = [
  buildModelQuestion("LLM_MODEL"),
  buildModelQuestion("LLM_MODEL_SMALL"),
  {
    subject: "agent API",
    needs: ["LLM_GATEWAY_API_KEY"],
    remedy: "Switch the agent API on for the gateway's key, or check AGENT_API_URL.",
    ask: async () => {
      if (getAgentApiUrl() !== null) await readJob("doctor");
      return null;
    },
  },
  {
    subject: "sentiment model",
    needs: ["SENTIMENT_API_KEY"],
    remedy: "Check SENTIMENT_API_KEY, SENTIMENT_ENDPOINT and SENTIMENT_MODEL.",
    ask: async (ctx) => {
      const question = "Search once, read at most five posts: what is said of Bitcoin today? One sentence.";
      const account = { billTo: "service", asksAgain: true } as const;
      const system = "You report what posts say.";
      const { degraded } = await askSentiment(ctx, account, system, question, Date.now());
      return degraded
        ? `${getSetting("SENTIMENT_MODEL")} answers without a search: shifts mark such readings as degraded.`
        : null;
    },
  },
  {
    subject: "messenger",
    needs: ["MESSENGER_BOT_TOKEN"],
    remedy: "Copy MESSENGER_BOT_TOKEN again, and check MESSENGER_API_URL.",
    ask: async () => {
      const token = getRequired("MESSENGER_BOT_TOKEN");
      if ((await getBotUsername(token)) === null) return "the messenger does not know the bot's token.";
      if (!isSet("MESSENGER_WEBHOOK_SECRET")) return null;
      const { url, trouble } = await getWebhookInfo(token);
      if (url !== `${getSiteUrl()}/messenger/webhook`)
        return "the bot's messages go elsewhere: npx convex run --prod bot/service:register";
      return trouble === null ? null : `the bot's messages do not arrive: ${trouble}.`;
    },
  },
  {
    subject: "swap provider",
    needs: ["SWAP_API_KEY"],
    remedy: "Check SWAP_API_KEY and SWAP_API_URL.",
    ask: async () => {
      const tokens = { sellToken: toSwapAddress("USDC"), buyToken: toSwapAddress("WETH") };
      await requestQuote({ ...tokens, sellAmount: 1_000_000n, taker: TAKER, slippageBps: 100 });
      return null;
    },
  },
  {
    subject: "payment facilitator",
    needs: ["X402_FACILITATOR_URL"],
    remedy: "Check X402_FACILITATOR_URL.",
    ask: async () => ((await readVersion()) === null ? "it does not say what it supports." : null),
  },
  ...PUBLIC_SOURCES.map(buildSourceQuestion),
  { subject: "chain", remedy: "Set CHAIN_RPC_URL to a node of Base.", ask: findChainProblem },
];

async function findChainProblem(): Promise<string | null> {
  const client = createChainClient();
  const { timestamp } = await getBlock(client);
  const late = findHeadProblem(Number(timestamp) * SECOND, Date.now());
  if (late !== null) return `${late}: use another node, or set the clock.`;
  const domain = { address: USDC, abi: domainAbi, functionName: "DOMAIN_SEPARATOR" } as const;
  if ((await readContract(client, domain)) !== USDC_DOMAIN)
    return `the contract at USDC's address is another one: this is not Base (${CHAIN_ID}).`;
  for (const [name, feed] of Object.entries(PRICE_FEEDS)) {
    const round = { address: feed.address, abi: feedAbi, functionName: "latestRoundData" } as const;
    const [, answer, , updatedAt] = await readContract(client, round);
    if (isFeed(name) && getFeedPrice(name, { answer, updatedAt }, Date.now()) === null)
      return `the ${name} feed is stale: Coinbase is asked until it is fresh again.`;
  }
  for (const role of ["relayer", "anchor"] as const) {
    const address = getServiceAddress(role);
    if (address === null) continue;
    if (address.toLowerCase() === getOptional("PLATFORM_WALLET_ADDRESS")?.toLowerCase())
      return `the ${role} is the platform wallet itself: use an account that holds gas and nothing else.`;
    if ((await getBalance(client, { address })) < LOW_GAS_WEI)
      return `the ${role} has hardly any gas: send a little ETH on Base to ${address}.`;
  }
  return null;
}

function isFeed(name: string): name is FeedName {
  return Object.hasOwn(PRICE_FEEDS, name);
}

/** Asks all providers at once. Prints each problem with its remedy, and one line for all that is right. */
export const ask = internalAction({
  args: {},
  returns: vAnswer,
  handler: withUsage(async (ctx: ActionCtx): Promise<Infer<typeof vAnswer>> => {
    const malformed = listVariables().flatMap((name) => {
      try {
        getOptional(name);
        return [];
      } catch (error) {
        return [getErrorMessage(error)];
      }
    });
    const missing = REQUIRED.flatMap(([name, means]) =>
      isSet(name) ? [] : [`${name} is not set: ${means}`],
    );
    const questions = QUESTIONS.filter(({ needs = [] }) => needs.every(isSet));
    const [unopened, caller, answers] = await Promise.all([
      findUnopened(ctx),
      findCountedAddress(),
      Promise.all(questions.map(async (one) => ({ ...one, trouble: await findTrouble(one, ctx) }))),
    ]);
    const troubles = answers.flatMap(({ subject, trouble }) =>
      trouble === null ? [] : [`${subject}: ${trouble}`],
    );
    const right = answers.flatMap(({ subject, trouble }) => (trouble === null ? [subject] : []));
    return {
      wrong: [...malformed, ...missing, ...unopened, ...(caller === FORGED ? [FORGEABLE] : []), ...troubles],
      right: `${right.join(", ")} answer as they should`,
      caller: `a request with a forged X-Forwarded-For ${caller === null ? "was not answered" : `is counted by ${caller}`}`,
    };
  }),
});

/** An address for documents (RFC 5737): nobody has it. */
const FORGED = "203.0.113.9";

const healthShape = z.object({ caller: z.object({ address: z.string() }) });

/** The address by which this deployment counts a caller who sends a forged one; `null` if it was not reached. */
async function findCountedAddress(): Promise<string | null> {
  const headers = { "X-Forwarded-For": FORGED };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await exchange(`${getSiteUrl()}/health`, { headers, signal });
  const health = answer.kind === "answer" ? healthShape.safeParse(parseTolerantly(answer.text)) : null;
  return health?.data?.caller.address ?? null;
}

const FORGEABLE =
  "callers can choose the address that limits count by: set TRUSTED_PROXY_HOPS to the number of proxies before the deployment, 1 on Convex cloud";

async function findTrouble({ ask: question, remedy }: Question, ctx: ActionCtx): Promise<string | null> {
  try {
    return await question(ctx);
  } catch (error) {
    return `${getErrorMessage(error)}. ${remedy}`;
  }
}
