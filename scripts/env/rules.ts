import { privateKeyToAddress } from "viem/accounts";
import { isVariable, type Variable } from "../../convex/lib/env";
import { foreignGateway } from "../../convex/lib/settings";
import { guessBits } from "../../convex/lib/records/ids";
import { CONTRACTS } from "../../convex/wallets/tokens";
import { complaintOf } from "./names";
import { isNear, isNobodys, testAccounts } from "./places";

/** Problems of settings, for `npm run env:push`, `npm start` and the doctor. */

/**
 * Where the settings are used: on a deployment of the platform, which only reaches public addresses; on one that the
 * operator hosts, beside other services; or on the local stack (`npm start`).
 */
export type Place = "deployment" | "own host" | "this machine";

/** `bad`: unusable. `odd`: possibly intended. `says` never contains a value. */
export type Complaint = { name: string; level: "bad" | "odd"; says: string };

type Settings = Readonly<Record<string, string | undefined>>;
/** The well-formed variables, trimmed. */
type Sound = ReadonlyMap<Variable, string>;
type Rule = (set: Sound, place: Place) => readonly (Complaint | false | undefined)[];

const bad = (name: Variable, says: string): Complaint => ({ name, level: "bad", says });
const odd = (name: Variable, says: string): Complaint => ({ name, level: "odd", says });

/** All of them, the first of each variable first. */
export function complaintsOf(settings: Settings, place: Place): Complaint[] {
  const given = Object.entries(settings).flatMap(([name, value = ""]): [string, string][] =>
    value.trim() === "" ? [] : [[name, value.trim()]],
  );
  const malformed = given.flatMap(([name, value]): Complaint[] => {
    const says = complaintOf(name, value);
    return says === null ? [] : [{ name, level: "bad", says }];
  });
  const broken = new Set(malformed.map(({ name }) => name));
  const sound = new Map(
    given.flatMap(([name, value]): [Variable, string][] =>
      isVariable(name) && !broken.has(name) ? [[name, value]] : [],
    ),
  );
  const found = RULES.flatMap((rule) => rule(sound, place)).filter((one) => typeof one === "object");
  return [...malformed, ...found];
}

const MAKE_ONE = "make one with openssl rand -hex 32";
const ENCRYPTION_KEYS = ["WALLET_ENCRYPTION_KEY", "WALLET_ENCRYPTION_KEY_PREVIOUS"] as const;
const ACCOUNTS = ["X402_RELAYER_PRIVATE_KEY", "ANCHOR_PRIVATE_KEY"] as const;
const CALLERS_SECRETS = [
  "MESSENGER_WEBHOOK_SECRET",
  "MESSENGER_CONNECT_SECRET",
  "SOCIAL_WEBHOOK_SECRET",
  "DEPOSIT_WEBHOOK_SECRET",
] as const;
const API_KEYS = ["LLM_GATEWAY_API_KEY", "SENTIMENT_API_KEY", "SWAP_API_KEY", "MESSENGER_BOT_TOKEN"] as const;
const SECRETS = [...ENCRYPTION_KEYS, ...ACCOUNTS, ...CALLERS_SECRETS, ...API_KEYS];
const ADDRESSES = [
  ...(["LLM_ENDPOINT", "AGENT_API_URL", "SENTIMENT_ENDPOINT", "MESSENGER_API_URL", "SWAP_API_URL"] as const),
  ...(["CHAIN_RPC_URL", "TICKER_API_URL", "EVIDENCE_API_URL", "X402_FACILITATOR_URL"] as const),
];

/** The usual form of the keys at the default provider. */
const LOOKS: readonly { name: Variable; at: Variable; pattern: RegExp; like: string }[] = [
  { name: "LLM_GATEWAY_API_KEY", at: "LLM_ENDPOINT", pattern: /^bk_\S+$/, like: "bk_…" },
  { name: "SENTIMENT_API_KEY", at: "SENTIMENT_ENDPOINT", pattern: /^xai-\S+$/, like: "xai-…" },
  {
    name: "MESSENGER_BOT_TOKEN",
    at: "MESSENGER_API_URL",
    pattern: /^\d{6,}:[\w-]{30,}$/,
    like: "digits, a colon and 35 characters",
  },
];

/** A random key of 256 bits is estimated at more than 200. */
const LEAST_KEY_BITS = 128;
const LEAST_SECRET_BITS = 60;

/** Well-formed numbers that are probably mistakes or protect from nothing. */
const BOUNDS: readonly { name: Variable; least?: number; most?: number; says: string }[] = [
  { name: "DAILY_BUDGET_USD", most: 10_000, says: "must be at most 10000: it is what a day may cost" },
  {
    ...{ name: "SOCIAL_TRADE_CONFIDENCE", least: 0.5, most: 0.99 },
    says: "must be 0.5 to 0.99: below that, posts that are hardly orders are traded, and above it no post is",
  },
  {
    name: "TRUSTED_PROXY_HOPS",
    most: 4,
    says: "must be at most 4: if it exceeds the real number, callers can choose their address",
  },
  { name: "ROUND_TRIP_COST_BPS", most: 1_000, says: "must be at most 1000: that is a tenth of the stake" },
  {
    name: "CREDITS_PER_USDC",
    most: 100_000,
    says: "must be at most 100000: deposits would buy nearly everything",
  },
];

const RULES: readonly Rule[] = [
  (set) =>
    ENCRYPTION_KEYS.map((name) => {
      const weak = guessBits(set.get(name) ?? "") < LEAST_KEY_BITS;
      return set.has(name) && weak && bad(name, `is not random enough to protect wallets: ${MAKE_ONE}`);
    }),
  (set) =>
    CALLERS_SECRETS.map((name) => {
      const weak = guessBits(set.get(name) ?? "") < LEAST_SECRET_BITS;
      return (
        set.has(name) &&
        weak &&
        bad(name, `can be guessed, and anybody who guesses it can speak for others: ${MAKE_ONE}`)
      );
    }),
  // Published keys, and those that differ in one character, belong to everybody.
  (set, place) =>
    ACCOUNTS.map((name) => {
      const key = set.get(name);
      if (key === undefined) return undefined;
      if (testAccounts().some(({ privateKey }) => privateKey === key.toLowerCase()))
        return onRealChain(set, place) && bad(name, "is a published test key: anybody can spend its funds");
      return guessBits(key.slice(2)) < LEAST_KEY_BITS && bad(name, "can be guessed: make a new account");
    }),
  (set, place) => {
    const address = set.get("PLATFORM_WALLET_ADDRESS")?.toLowerCase();
    if (address === undefined) return [];
    const isTest = testAccounts().some((one) => one.address.toLowerCase() === address);
    return [
      isTest &&
        onRealChain(set, place) &&
        bad("PLATFORM_WALLET_ADDRESS", "is a published test account's: anybody can spend its funds"),
      [...CONTRACTS, BURN].some((one) => one.toLowerCase() === address) &&
        bad("PLATFORM_WALLET_ADDRESS", "belongs to nobody: payments to it are lost"),
    ];
  },
  // The service's accounts are separate: each has its own nonces, and a stolen gas key is worth little.
  (set) => {
    const owners = ACCOUNTS.flatMap((name) => {
      const key = set.get(name);
      return /^0x[0-9a-fA-F]{64}$/.test(key ?? "") ? [{ name, address: addressOf(key) }] : [];
    });
    const platform = set.get("PLATFORM_WALLET_ADDRESS")?.toLowerCase();
    return owners.map(
      ({ name, address }) =>
        address === platform && bad(name, "is the platform wallet's own key: give it an account of its own"),
    );
  },
  // A leaked key must not open a second door.
  (set) =>
    SECRETS.map((name, at) => {
      const twin = SECRETS.slice(0, at).find((other) => isSame(set.get(other), set.get(name)));
      if (twin === undefined || isOneProviders(set, twin, name)) return undefined;
      return bad(name, `is the same as ${twin}: each needs one of its own`);
    }),
  (set, place) => ADDRESSES.map((name) => addressComplaint(name, set.get(name), place)),
  (set) =>
    BOUNDS.map(({ name, least = 0, most = Number.POSITIVE_INFINITY, says }) => {
      const value = Number(set.get(name) ?? least);
      return (value < least || value > most) && bad(name, says);
    }),
  (set) => [
    foreignGateway(set.get("LLM_ENDPOINT")) &&
      !set.has("AGENT_API_URL") &&
      odd(
        "AGENT_API_URL",
        "is not set although LLM_ENDPOINT is another provider's: the agent API is off, so that the key is sent to nobody else",
      ),
  ],
  (set) =>
    LOOKS.map(({ name, at, pattern, like }) => {
      const key = set.get(name);
      const another = key !== undefined && !set.has(at) && !pattern.test(key);
      return another && odd(name, `does not look like one (${like}): check whether it was copied completely`);
    }),
];

const BURN = "0x000000000000000000000000000000000000dEaD";

/** Settings for a local chain are only right there; the local stack has its own if no other is set. */
function onRealChain(set: Sound, place: Place): boolean {
  const chain = set.get("CHAIN_RPC_URL");
  if (chain === undefined) return place !== "this machine";
  return place === "deployment" || !isNear(new URL(chain));
}

function addressOf(key: string | undefined): string | null {
  try {
    return key === undefined ? null : privateKeyToAddress(`0x${key.slice(2)}`).toLowerCase();
  } catch {
    return null;
  }
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  const bare = (secret: string) => secret.toLowerCase().replace(/^0x/, "");
  return one !== undefined && other !== undefined && bare(one) === bare(other);
}

/** A company may be both the gateway and the sentiment model, with one key. */
function isOneProviders(set: Sound, one: Variable, other: Variable): boolean {
  const [gateway, sentiment] = [set.get("LLM_ENDPOINT"), set.get("SENTIMENT_ENDPOINT")];
  const isPair = one === "LLM_GATEWAY_API_KEY" && other === "SENTIMENT_API_KEY";
  if (!isPair || gateway === undefined || sentiment === undefined) return false;
  return new URL(gateway).host === new URL(sentiment).host;
}

function addressComplaint(name: Variable, value: string | undefined, place: Place): Complaint | undefined {
  if (value === undefined) return undefined;
  const url = new URL(value);
  if (url.username !== "" || url.password !== "")
    return bad(name, "must not hold a user name or password: no request can be made to it");
  if (isNobodys(url)) return bad(name, "is a link-local or unspecified address, which no provider has");
  const near = isNear(url);
  if (near && place === "deployment")
    return bad(name, "is an address of a private network, which a deployment cannot reach");
  if (url.protocol === "http:" && !near) return bad(name, "must be https: keys and prompts go there");
  return undefined;
}
