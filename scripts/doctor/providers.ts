import * as z from "zod";
import { optional, setting } from "../../convex/lib/env";
import { exchange, type Exchange } from "../../convex/providers/call";
import { gatewayBase } from "../../convex/providers/llm";
import { swapAddress } from "../../convex/wallets/tokens";
import { CHAIN_ID } from "../../convex/providers/chain";
import { fault, off, warning, type Finding } from "./finding";

/** A provider that takes longer is as good as out of reach. */
const PATIENCE_MS = 15_000;

type Check = {
  subject: string;
  /** Without it the provider is not asked; null where none is needed. */
  key: Parameters<typeof optional>[0] | null;
  request: (key: string) => { url: string; headers?: Record<string, string> };
  /** What an answer says; statuses of refused keys are read before. */
  read: (answer: { status: number; body: unknown }) => Omit<Finding, "subject">;
};

const models = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });
const bot = z.object({ ok: z.literal(true), result: z.looseObject({ username: z.string() }) });
const spot = z.object({ data: z.looseObject({ amount: z.string() }) });
const price = z.looseObject({ liquidityAvailable: z.boolean() });

const alive = (says: string): Omit<Finding, "subject"> => ({ level: "good", says });
const odd = (status: number): Omit<Finding, "subject"> => ({
  level: "fault",
  says: `answered with status ${status}, not as its protocol says`,
  remedy: "See whether its address is right.",
});

/** None of these questions costs money, moves anything, or is counted as a prompt. */
const CHECKS: readonly Check[] = [
  {
    subject: "LLM gateway",
    key: "LLM_GATEWAY_API_KEY",
    request: (key) => ({
      url: `${gatewayBase(setting("LLM_ENDPOINT"))}/models`,
      headers: { Authorization: `Bearer ${key}`, "X-API-Key": key },
    }),
    read: ({ status, body }) => {
      const listed = models.safeParse(body);
      if (status !== 200 || !listed.success) return odd(status);
      const model = setting("LLM_MODEL");
      if (listed.data.data.some(({ id }) => id === model))
        return alive(`answers, and has the model ${model}`);
      return {
        level: "warning",
        says: `answers, but does not list the model ${model}`,
        remedy: "Set LLM_MODEL to one that it lists.",
      };
    },
  },
  {
    subject: "agent API",
    key: "LLM_GATEWAY_API_KEY",
    // A job that nobody has: whoever may ask is told so.
    request: (key) => ({
      url: `${setting("AGENT_API_URL")}/agent/job/doctor`,
      headers: { "X-API-Key": key },
    }),
    read: ({ status }) =>
      status === 404 || status === 400 ? alive("answers, and takes the key") : odd(status),
  },
  {
    subject: "sentiment model",
    key: "SENTIMENT_API_KEY",
    request: (key) => ({
      url: `${setting("SENTIMENT_ENDPOINT")}/models`,
      headers: { Authorization: `Bearer ${key}` },
    }),
    read: ({ status, body }) =>
      status === 200 && models.safeParse(body).success ? alive("answers, and takes the key") : odd(status),
  },
  {
    subject: "messenger",
    key: "MESSENGER_BOT_TOKEN",
    request: (key) => ({ url: `${setting("MESSENGER_API_URL")}/bot${key}/getMe` }),
    read: ({ status, body }) => {
      const found = bot.safeParse(body);
      return found.success ? alive(`answers as @${found.data.result.username}`) : odd(status);
    },
  },
  {
    subject: "swap provider",
    key: "SWAP_API_KEY",
    request: (key) => {
      const query = new URLSearchParams({
        chainId: String(CHAIN_ID),
        sellToken: swapAddress("USDC"),
        buyToken: swapAddress("WETH"),
        sellAmount: "1000000",
      });
      return {
        url: `${setting("SWAP_API_URL")}/swap/permit2/price?${query.toString()}`,
        headers: { "0x-api-key": key, "0x-version": "v2" },
      };
    },
    read: ({ status, body }) => {
      const offer = price.safeParse(body);
      if (status !== 200 || !offer.success) return odd(status);
      return offer.data.liquidityAvailable ? alive("prices USDC to WETH") : odd(status);
    },
  },
  {
    subject: "tickers",
    key: null,
    request: () => ({
      url: `${optional("TICKER_API_URL") ?? "https://api.coinbase.com"}/v2/prices/BTC-USD/spot`,
    }),
    read: ({ status, body }) =>
      status === 200 && spot.safeParse(body).success
        ? alive("stand ready beside the price feeds")
        : odd(status),
  },
];

/** Whether every provider with a key can be reached and takes it. */
export function checkProviders(): Promise<Finding[]> {
  return Promise.all(CHECKS.map(checkProvider));
}

async function checkProvider({ subject, key, request, read }: Check): Promise<Finding> {
  const value = key === null ? "" : configured(key);
  if (value === undefined) return off(subject, `is not asked: ${key ?? "its key"} is not set, or malformed`);
  const { url, headers = {} } = request(value);
  return judge(subject, await exchange(url, { headers }, PATIENCE_MS), read);
}

function judge(subject: string, answer: Exchange, read: Check["read"]): Finding {
  if (answer.kind !== "answer") {
    const says = answer.kind === "timeout" ? "did not answer within 15 s" : "could not be reached";
    return fault(subject, says, "See whether its address is right, and whether this machine may call it.");
  }
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
  return { subject, ...read(answer) };
}

function configured(name: Parameters<typeof optional>[0]): string | undefined {
  try {
    return optional(name);
  } catch {
    // Malformed: told by the configuration's own check.
    return undefined;
  }
}
