import type { Address } from "viem";
import { AppError } from "../lib/errors";
import { toChecksum, isAddress, USDC } from "../lib/money/base";
import { trimTrailing } from "../lib/text/strings";

/**
 * The supported tokens on Base (chain id 8453), how people say amounts of them (`25`, `0.5 ETH`, `$20`, `50%`, `half`,
 * `all`), and the addresses that never receive funds. Addresses and decimals: the tokens' own contracts as listed by the
 * chain's bridge; checksums verified. Pure.
 */

export const SYMBOLS = ["ETH", "USDC", "USDT", "DAI", "WETH", "CBBTC"] as const;
export type Symbol = (typeof SYMBOLS)[number];

type Token = {
  /** `null`: the chain's own coin. */
  address: Address | null;
  decimals: number;
  /** The price feed of its value. */
  feed: "ETH" | "BTC" | "USDC" | "USDT" | "DAI";
};

export const WALLET_TOKENS: Record<Symbol, Token> = {
  ETH: { address: null, decimals: 18, feed: "ETH" },
  USDC: { address: USDC, decimals: 6, feed: "USDC" },
  USDT: { address: "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2", decimals: 6, feed: "USDT" },
  DAI: { address: "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb", decimals: 18, feed: "DAI" },
  WETH: { address: "0x4200000000000000000000000000000000000006", decimals: 18, feed: "ETH" },
  /** cbBTC, redeemable for one bitcoin each. Source: Coinbase's page and Chainlink's CCIP directory. */
  CBBTC: { address: "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf", decimals: 8, feed: "BTC" },
};

/** Other names of tokens, in lower case. */
const ALIASES: Readonly<Record<string, Symbol>> = {
  ether: "ETH",
  ethereum: "ETH",
  tether: "USDT",
  btc: "CBBTC",
  bitcoin: "CBBTC",
};

/** The token of a symbol or another name, in any case; `null` if it is none of them. */
export function findToken(written: string): Symbol | null {
  const name = written.toUpperCase();
  return SYMBOLS.find((symbol) => symbol === name) ?? ALIASES[written.toLowerCase()] ?? null;
}

/** `worth`: a decimal of whole tokens or of USD. `share`: a part of the balance, in basis points. */
export type Size = { kind: "worth"; amount: string; unit: Symbol | "USD" } | { kind: "share"; bps: number };

export const DOLLARS: ReadonlySet<string> = new Set(["$", "usd", "dollar", "dollars", "buck", "bucks"]);
/** Words for a part of the balance, in basis points. */
export const SHARES: ReadonlyMap<string, number> = new Map([
  ["all", 10_000],
  ["everything", 10_000],
  ["half", 5_000],
]);

const SHARE = /^(\d{1,3}(?:\.\d{1,2})?)\s*(?:%|percent)$/;
const WORTH = /^(\$?)\s*(\d+(?:\.\d+)?|\.\d+)\s*(\$|[a-z]*)$/;

const HOW =
  'must be the amount as people say it: "25" or "0.5" whole tokens, "$20", "50%", "half" or "all", with a point before decimals and no commas';

/**
 * Reads a size of an order that moves `token`.
 * @returns What is wrong with it, completing "size …", for a text that is none.
 */
export function parseSize(text: string, token: Symbol): Size | string {
  const words = text.trim().toLowerCase();
  const bps = SHARES.get(words) ?? Math.round(Number(SHARE.exec(words)?.[1] ?? "0") * 100);
  if (bps > 0) return bps <= 10_000 ? { kind: "share", bps } : "must be at most 100%";
  const [, sign, number = "", name = ""] = WORTH.exec(words) ?? [];
  const amount = toCanonicalAmount(number);
  const isDollars = sign === "$" || DOLLARS.has(name);
  const unit = isDollars ? "USD" : name === "" ? token : findToken(name);
  if (amount === null || unit === null || (sign === "$" && name !== "" && !DOLLARS.has(name))) return HOW;
  const decimals = unit === "USD" ? 6 : WALLET_TOKENS[unit].decimals;
  if (!hasDecimals(amount, decimals)) return `must have at most ${decimals} decimals`;
  return { kind: "worth", amount, unit };
}

/** The one spelling of a size, by which orders are compared. */
export function formatSize(size: Size, token: Symbol): string {
  if (size.kind === "share") return size.bps === 10_000 ? "all" : `${size.bps / 100}%`;
  const { amount, unit } = size;
  if (unit === "USD") return `$${amount}`;
  return unit === token ? amount : `${amount} ${unit}`;
}

/** A decimal in its canonical form, without idle zeros; `null` for zero and for anything but a plain decimal. */
export function toCanonicalAmount(text: string): string | null {
  const parts = /^(\d{0,78})(?:\.(\d{0,78}))?$/.exec(text);
  if (parts === null) return null;
  const whole = (parts[1] ?? "").replace(/^0+/, "");
  const fraction = trimTrailing(parts[2] ?? "", "0");
  if (whole === "" && fraction === "") return null;
  return fraction === "" ? whole : `${whole || "0"}.${fraction}`;
}

/** A decimal of whole tokens, with no more decimals than the token has, in the smallest unit. */
export function toUnits(decimal: string, token: Symbol): bigint {
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(WALLET_TOKENS[token].decimals, "0"));
}

function hasDecimals(decimal: string, most: number): boolean {
  return (decimal.split(".")[1] ?? "").length <= most;
}

/** The swap provider's address for the chain's own coin. */
const NATIVE_SENTINEL: Address = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

export const PERMIT2: Address = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

export const MULTICALL3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11";

/**
 * Contracts that are never a person's wallet: money sent there is lost, or free for anybody to take. Sources: the
 * projects' own deployment pages.
 */
const CONTRACTS: readonly string[] = [
  ...Object.values(WALLET_TOKENS).flatMap(({ address }) => (address === null ? [] : [address])),
  NATIVE_SENTINEL,
  PERMIT2,
  MULTICALL3,
  // 0x: the registry of its settlers, and AllowanceHolder.
  "0x00000000000004533Fe15556B1E086BB1A72cEae",
  "0x0000000000001fF3684f28c67538d4D072C22734",
  // ERC-4337's EntryPoint, versions 0.6 and 0.7.
  "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789",
  "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
  // The deterministic deployment proxy.
  "0x4e59b44847b379578588920cA78FbF26c0B4956C",
  // USDC, USDT, DAI and WETH on Ethereum: on Base these addresses have no code that could return funds.
  "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
  "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  "0x6B175474E89094C44Da98b954EedeAC495271d0F",
  "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
];

/** Burn addresses: 0x…dead and similar ones, and f alone. */
const BURNING = /^0x(?:0*dead|(?:dead)+0*|f+)$/i;

/**
 * Precompiles, and addresses that count up from zero, which have no known key; then the OP stack's predeploys,
 * 0x4200…0000 to 0x4200…07ff.
 */
const RESERVED = /^0x(?:0{36}[0-9a-f]{4}|420{34}0[0-7][0-9a-f]{2})$/i;

const NOBODYS =
  "cannot receive funds: it is a token or another well-known contract, a burn address or a system address, and what is sent there is lost";

export function toSwapAddress(symbol: Symbol): Address {
  return WALLET_TOKENS[symbol].address ?? NATIVE_SENTINEL;
}

const contracts = new Set(CONTRACTS.map((address) => address.toLowerCase()));

/** The reason why an address cannot be a recipient, completing "address …"; `null` for a valid one. */
export function findRecipientProblem(value: string): string | null {
  if (!isAddress(value)) return "must be an address: 0x and 40 hex digits";
  const digits = value.slice(2);
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  if (!isOneCase && toChecksum(value) !== value) return "must be checksummed correctly, or all in one case";
  const isNobodys = contracts.has(value.toLowerCase()) || BURNING.test(value) || RESERVED.test(value);
  return isNobodys ? NOBODYS : null;
}

/** Parses a recipient; returns it checksummed. @throws AppError `invalid_request` */
export function parseRecipient(text: string): string {
  const value = text.trim();
  const problem = findRecipientProblem(value);
  if (problem !== null) throw new AppError("invalid_request", `address ${problem}`);
  return toChecksum(value) ?? value;
}
