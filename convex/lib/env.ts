import { env } from "../_generated/server";
import { AppError } from "./errors";
import { listKeys } from "./objects";
import { trimTrailing } from "./text/strings";

/**
 * The form of a variable, and what is wrong with another. Written without zod: the platform would evaluate it at every call
 * of every function that reads a setting.
 */
type Form = readonly [fits: RegExp | ((value: string) => boolean), complaint: string, otherwise?: string];

/** The same form, with a value where the operator sets none. */
const withDefault = ([fits, complaint]: Form, otherwise: string): Form => [fits, complaint, otherwise];

/** Keys are sent in headers and addresses, which allow no spaces and only ASCII. */
const secret: Form = [/^[\x21-\x7e]{8,}$/, "must be a key: 8 printable characters or more, without spaces"];
const isAddress = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
const address: Form = [isAddress, "must be an http(s) address"];

/** An address that paths are appended to. */
const base: Form = [
  (url) => isAddress(url) && !/[?#]/.test(url),
  "must be an http(s) address without ? and #",
];
const model: Form = [/^[\w.:@/+-]{1,128}$/, "must be a model's name, without spaces"];

/** 64 hex digits, or base64 of 32 bytes. */
const encryptionKey: Form = [
  /^(?:[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
  "must be 64 hex digits or base64 of 32 bytes",
];

/** The order of secp256k1's group: a private key is below it. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const privateKey: Form = [
  (hex) => /^0x[0-9a-fA-F]{64}$/.test(hex) && BigInt(hex) > 0n && BigInt(hex) < CURVE_ORDER,
  "must be a private key: 0x and 64 hex digits",
];
const usdAmount: Form = [/^\d{1,12}(?:\.\d{1,6})?$/, "must be an amount in USD such as 250 or 99.50"];
const count: Form = [/^[1-9]\d{0,6}$/, "must be a positive whole number"];

/**
 * Every environment variable the service reads, with its form and its default. An empty one counts as absent. Addresses
 * are the providers' own, from their documentation; the local stack sets others.
 */
const FORMS = {
  LLM_GATEWAY_API_KEY: secret,
  LLM_ENDPOINT: withDefault(base, "https://llm.bankr.bot"),
  LLM_MODEL: withDefault(model, "claude-haiku-4.5"),
  /** `LLM_MODEL` in its place. */
  LLM_MODEL_SMALL: model,
  AGENT_API_URL: withDefault(base, "https://api.bankr.bot"),
  SENTIMENT_API_KEY: secret,
  SENTIMENT_ENDPOINT: withDefault(base, "https://api.x.ai/v1"),
  SENTIMENT_MODEL: withDefault(model, "grok-4.3"),
  /** The Bot API's tokens stand in the path of every call. */
  MESSENGER_BOT_TOKEN: [
    /^\d{3,20}:[A-Za-z0-9_-]{8,128}$/,
    "must be a bot's token: digits, a colon and its secret",
  ],
  MESSENGER_CHAT_ID: [
    /^(?:-?[1-9]\d{0,15}|@[A-Za-z]\w{3,63})$/,
    "must be a numeric chat id (negative for groups) or @channel",
  ],
  MESSENGER_BOT_NAME: [/^[A-Za-z0-9_]{5,32}$/, "must be the bot's name, without @"],
  WEB_APP_URL: address,
  MESSENGER_API_URL: withDefault(base, "https://api.telegram.org"),
  /** What the Bot API's `setWebhook` accepts. */
  MESSENGER_WEBHOOK_SECRET: [
    /^[A-Za-z0-9_-]{8,256}$/,
    "must be 8 to 256 characters of A-Z, a-z, 0-9, _ and -",
  ],
  MESSENGER_CONNECT_SECRET: secret,
  SOCIAL_WEBHOOK_SECRET: secret,
  SOCIAL_TRADE_CONFIDENCE: [/^(?:0?\.\d{1,4}|0|1|1\.0)$/, "must be between 0 and 1", "0.8"],
  WALLET_ENCRYPTION_KEY: encryptionKey,
  WALLET_ENCRYPTION_KEY_PREVIOUS: encryptionKey,
  CHAIN_RPC_URL: withDefault(address, "https://mainnet.base.org"),
  EVIDENCE_API_URL: base,
  /** CoinGecko's two kinds of keys look alike: `pro:` marks one of a paid plan. */
  COINGECKO_API_KEY: [
    /^(?:pro:|demo:)?[\x21-\x39\x3b-\x7e]{8,}$/,
    "must be a key, with pro: before it if it belongs to a paid plan",
  ],
  SWAP_API_KEY: secret,
  SWAP_API_URL: withDefault(base, "https://api.0x.org"),
  UNOWNED_DAILY_USD: withDefault(usdAmount, "500"),
  /** A higher limit would protect from nothing. */
  MAX_PRICE_IMPACT_BPS: [/^(?:\d{1,3}|1000)$/, "must be basis points from 0 to 1000", "100"],
  TRADING_PAUSED: [/^(?:true|false|1|0)$/i, "must be true or false"],
  PAPER: [/^(?:on|off)$/i, "must be on or off", "off"],
  PAPER_START: [
    /^(?:\d{1,12}(?:\.\d{1,6})? (?:ETH|USDC|USDT|DAI|WETH|CBBTC)(?:, *(?=\d)|$))+$/,
    "must be amounts of tokens such as 10000 USDC, 0.5 ETH",
    "10000 USDC, 0.5 ETH",
  ],
  ROUND_TRIP_COST_BPS: [/^\d{1,4}$/, "must be basis points such as 15", "15"],
  ANCHOR_PRIVATE_KEY: privateKey,
  DAILY_BUDGET_USD: [
    /^(?!0*(?:\.0*)?$)\d{1,12}(?:\.\d{1,6})?$/,
    "must be an amount of more than 0 USD",
    "25",
  ],
  CONVEX_CLASS: [/^S(?:16|256)$/, "must be S16 or S256", "S16"],
  TRUSTED_PROXY_HOPS: [/^\d$/, "must be a number of proxies from 0 to 9", "0"],
  PLATFORM_WALLET_ADDRESS: [
    /^0x(?!0{40}$)[0-9a-fA-F]{40}$/,
    "must be an address: 0x and 40 hex digits, not all zero",
  ],
  /** A thousand blocks are half an hour. */
  CONFIRMATIONS: [/^(?:[1-9]\d{0,2}|1000)$/, "must be a whole number from 1 to 1000", "10"],
  /** The first block whose deposits are read. */
  DEPOSITS_FROM_BLOCK: [/^[1-9]\d{0,9}$/, "must be a block's number"],
  CREDITS_PER_USDC: withDefault(count, "100"),
  TOKENS_PER_CREDIT: withDefault(count, "1000"),
  DEPOSIT_WEBHOOK_SECRET: secret,
  X402_RELAYER_PRIVATE_KEY: privateKey,
  X402_FACILITATOR_URL: base,
  BARE_HASH_PROOFS: [/^(?:on|off)$/i, "must be on or off", "on"],
} satisfies Record<Exclude<keyof typeof env, "CONVEX_CLOUD_URL" | "CONVEX_SITE_URL">, Form>;

export type Variable = keyof typeof FORMS;

/** The names of all variables that the service reads. */
export function listVariables(): Variable[] {
  return listKeys(FORMS);
}

export function isVariable(name: string): name is Variable {
  return Object.hasOwn(FORMS, name);
}

/** What is wrong with this value of a variable ("must be …"), never repeating it; `null` when nothing is. */
export function checkVariable(name: Variable, value: string): string | null {
  const [fits, complaint]: Form = FORMS[name];
  return (typeof fits === "function" ? fits(value) : fits.test(value)) ? null : complaint;
}

/**
 * The variable's value, an address without slashes at its end, or `undefined` when it is not set. Read when needed,
 * never at import.
 * @throws AppError `not_configured` naming the variable (never its value) when it is set but malformed.
 */
export function getOptional(name: Variable): string | undefined {
  const value = env[name]?.trim();
  if (value === undefined || value === "") return undefined;
  const complaint = checkVariable(name, value);
  if (complaint !== null)
    throw new AppError("not_configured", `${name} is not configured correctly: it ${complaint}`);
  return isAddress(value) ? trimTrailing(value, "/") : value;
}

/** The variable's value. @throws AppError `not_configured`, "<VARIABLE> is not configured", when it is absent. */
export function getRequired(name: Variable): string {
  const value = getOptional(name);
  if (value === undefined) throw new AppError("not_configured", `${name} is not configured`);
  return value;
}

/** Whether a variable is set and well-formed, for transactions that a malformed one must not undo. */
export function isSet(name: Variable): boolean {
  try {
    return getOptional(name) !== undefined;
  } catch {
    return false;
  }
}

/** The variable's value, or its default. @throws AppError `not_configured` if it has none. */
export function getSetting(name: Variable): string {
  return getOptional(name) ?? getDefault(name) ?? getRequired(name);
}

function getDefault(name: Variable): string | undefined {
  const [, , otherwise]: Form = FORMS[name];
  return otherwise;
}

/**
 * The address of the agent API. It uses the gateway's key: for another provider's gateway there is none unless the
 * operator names one, so that no company receives another's key.
 * @returns `null` if there is none.
 */
export function getAgentApiUrl(): string | null {
  const gateway = getSetting("LLM_ENDPOINT");
  const isForeign = new URL(gateway).origin !== new URL(getDefault("LLM_ENDPOINT") ?? gateway).origin;
  return getOptional("AGENT_API_URL") ?? (isForeign ? null : getSetting("AGENT_API_URL"));
}

/** The address of this deployment's HTTP endpoints, from the platform, without a slash at its end. */
export function getSiteUrl(): string {
  return trimTrailing(env.CONVEX_SITE_URL, "/");
}

/** The host names of this deployment, with their port if they have one. */
export function listOwnHosts(): string[] {
  const addresses = [env.CONVEX_SITE_URL, env.CONVEX_CLOUD_URL].filter((url) => URL.canParse(url));
  const hosts = addresses.map((url) => new URL(url).host);
  // A deployment with a domain of its own can still be reached at the platform's.
  const usual = hosts.map((host) => host.replace(/\.convex\.cloud$/, ".convex.site"));
  return [...new Set([...hosts, ...usual])];
}

/** Whether a switch is on; an absent one is off. */
export function isOn(name: "TRADING_PAUSED"): boolean {
  return /^(?:true|1)$/i.test(getOptional(name) ?? "");
}

/** Whether the operator has put every account on paper. A misspelt value does, too: a typo moves nothing real. */
export function isPaperDeployment(): boolean {
  return !/^(?:off)?$/i.test(env.PAPER?.trim() ?? "");
}
