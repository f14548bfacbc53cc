import type { Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Address, Hex } from "viem";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { findLinkedUser, getRules, readMode } from "../identity/model";
import { sha256Hex } from "../lib/crypto";
import { isOn } from "../lib/env";
import { AppError } from "../lib/errors";
import { FROZEN, PAUSED } from "../lib/refusals";
import { formatUnits, toUsd } from "../lib/money/amounts";
import { toChecksum, isAddress, MOST_FEE } from "../lib/money/base";
import { NOBODY, queryByBoth } from "../platform/records";
import { formatUsd } from "../lib/text/numbers";
import { MINUTE } from "../lib/time";
import type { vWalletKind, UserRequest } from "./tables";
import { WALLET_TOKENS, type Symbol } from "./tokens";

/**
 * Wallets, and the rules that decide whether an order may still be signed, and which one goes first. Plain functions;
 * those that write are steps of their caller's mutation.
 */

export type WalletKind = Infer<typeof vWalletKind>;

export const NO_ACCOUNT = "No wallet has this address";
export const NO_WALLET = "No wallet was found for this user: connect first";

/** A user's wallet of a kind, or `null`. */
export async function findWallet(
  ctx: QueryCtx,
  userId: string,
  kind: WalletKind,
): Promise<Doc<"wallets"> | null> {
  return queryByBoth(ctx.db.query("wallets"), "userId", userId, "kind", kind).unique();
}

export const NO_GAS = "On paper the network fees are paid from the book: USDC buys ETH by a swap there";

/**
 * Requires that an account's mode has this order.
 * @throws AppError `invalid_request` on paper for another wallet than the one with the book, and for gas.
 */
export async function requireMode(
  ctx: QueryCtx,
  { userId, kind }: Doc<"wallets">,
  request: UserRequest,
): Promise<void> {
  if ((await readMode(ctx, userId)) !== true) return;
  if (kind !== "custody")
    throw new AppError("invalid_request", "On paper there is one book, the custody wallet's: leave from out");
  if (request.kind === "gas") throw new AppError("invalid_request", NO_GAS);
}

/** The user of an address: the service's wallets first, then linked addresses; `null` if there is none. */
export async function findUserIdByAddress(ctx: QueryCtx, address: string): Promise<string | null> {
  const stored = toChecksum(address);
  if (stored === null) return null;
  const wallet = await findWalletByAddress(ctx, stored);
  return wallet === null || wallet.userId === NOBODY ? findLinkedUser(ctx, stored) : wallet.userId;
}

/** The wallet or service account with a checksummed address; `null` if there is none. */
export async function findWalletByAddress(ctx: QueryCtx, address: string): Promise<Doc<"wallets"> | null> {
  return getOneFrom(ctx.db, "wallets", "by_address", address);
}

export async function findWalletById(ctx: QueryCtx, walletId: string): Promise<Doc<"wallets"> | null> {
  return getOneFrom(ctx.db, "wallets", "by_walletId", walletId);
}

export async function requireWallet(ctx: QueryCtx, walletId: string): Promise<Doc<"wallets">> {
  const wallet = await findWalletById(ctx, walletId);
  if (wallet === null) throw new AppError("internal", "The wallet is gone");
  return wallet;
}

/** Parses an address in any case; returns it checksummed. */
export function parseStoredAddress(text: string): Address {
  const address = toChecksum(text);
  if (address === null) throw new AppError("internal", "A stored address is damaged");
  return address;
}

/** The address in a wallet's or an order's row. It was checksummed when stored, so it is not hashed again. */
export function requireStoredAddress(text: string): Address {
  if (!isAddress(text)) throw new AppError("internal", "A stored address is damaged");
  return text;
}

export function requireHex(text: string): Hex {
  if (!isHex(text)) throw new AppError("internal", "Stored bytes are damaged");
  return text;
}

function isHex(text: string): text is Hex {
  return /^0x[0-9a-fA-F]*$/.test(text);
}

export const EXPLORER = "https://basescan.org/tx/";

/** How hashes of orders on paper begin: "paper". */
const PAPER_HASH = "0x7061706572";

/** Stands for the hash of an order on paper: no chain has it. */
export function derivePaperHash(orderId: string): string {
  return PAPER_HASH + sha256Hex(orderId).slice(0, 66 - PAPER_HASH.length);
}

/** Where a transaction is shown; no field on paper. */
export function linkTo(txHash: string | undefined): { explorerUrl?: string } {
  if (txHash === undefined || txHash.startsWith(PAPER_HASH)) return {};
  return { explorerUrl: EXPLORER + txHash };
}

/** The public status of an order with a signed transaction. */
export function toPublicStatus({
  state,
}: Pick<Doc<"orders">, "state">): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}

export function isUserRequest(request: Doc<"orders">["request"]): request is UserRequest {
  return request.kind === "send" || request.kind === "swap" || request.kind === "gas";
}

/** The token and amount that leave an order's wallet. */
export function getOutgoing(request: UserRequest): { token: Symbol; amount: string } {
  const { amount } = request;
  if (request.kind === "gas") return { token: "USDC", amount };
  return { token: request.kind === "send" ? request.token : request.fromToken, amount };
}

export function formatTokenAmount(amount: string, token: Symbol): string {
  return `${formatUnits(BigInt(amount), WALLET_TOKENS[token].decimals)} ${token}`;
}

/** An amount with six significant digits at most, and without decimals from a hundred thousand up. */
export function formatShortAmount(balance: string): string {
  const value = Number(balance);
  const digits = value >= 100_000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 6 };
  return value.toLocaleString("en-US", digits);
}

/** The end of a refusal for missing ether where USDC buys it. */
export const GAS_WAY = ", or POST /mcp/defi/gas buys it with USDC";

/** Rounds up to three digits, so that a displayed fee estimate is surely enough. */
export function roundUp(wei: bigint): bigint {
  const unit = 10n ** BigInt(Math.max(0, wei.toString().length - 3));
  return ((wei + unit - 1n) / unit) * unit;
}

/** A network fee in words. @param etherPrice In micro-USD; 0 without a live price. */
export function formatFee(wei: bigint, etherPrice: bigint): string {
  const eth = `${formatUnits(wei, 18)} ETH`;
  return etherPrice === 0n ? eth : `${formatUsd(toUsd((wei * etherPrice) / 10n ** 18n))} USD (${eth})`;
}

/** The fields of an order before anything of it was counted or signed. */
export const BLANK = {
  mostFee: MOST_FEE.toString(),
  rules: 0,
  etherPrice: "0",
  countedAmount: "0",
  feeCounted: "0",
  tries: [],
};

/** The fields of an order that goes on after its end. */
export const NOT_ENDED = { error: undefined, errorCode: undefined, endedAt: undefined };

/** An order that the chain carries out: only these are signed. */
export type LiveOrder = Doc<"orders"> & { paper?: undefined };

export function isLive(order: Doc<"orders">): order is LiveOrder {
  return order.paper === undefined;
}

/** The last check before a key opens, and before signed bytes are stored: no order on paper gets that far. */
export function requireLive(order: Doc<"orders">): asserts order is LiveOrder {
  if (!isLive(order)) throw new AppError("internal", "An order on paper is never signed");
}

/** Lifetime of an unsigned order: its caller left long ago. */
export const PREPARED_FOR_MS = 2 * MINUTE;

/** The message to the caller of an order that was never signed. */
export const NOT_SENT = "The transaction could not be sent in time: nothing was moved, so try again";

export const REVERTED = "The transaction was mined and reverted";

/** Whether the order's call was mined and reverted: no other failure leaves a call on the chain. */
export function hasReverted({ state, error }: Pick<Doc<"orders">, "state" | "error">): boolean {
  return state === "failed" && error === REVERTED;
}

/** The error for every send and swap while the operator has paused them; otherwise `null`. */
export function getPauseError(): AppError | null {
  return isOn("TRADING_PAUSED") ? new AppError("paused", PAUSED) : null;
}

/**
 * The reason not to carry out an order any more; `null` if it may be. Checked before a key opens, and again before bytes are
 * stored or a book is moved.
 * @param now Epoch ms.
 */
export async function findSigningRefusal(
  ctx: QueryCtx,
  row: Doc<"orders">,
  now: number,
): Promise<AppError | null> {
  if (row.userId === NOBODY) return null;
  const paused = getPauseError();
  if (paused !== null) return paused;
  const { version, isFrozen, paper } = await getRules(ctx, row.userId, now);
  if (isFrozen) return new AppError("paused", `${FROZEN}: nothing was signed`);
  if (version !== row.rules || paper !== row.paper)
    return new AppError(
      "forbidden",
      "The owner's rules have changed since: nothing was signed, so order it again",
    );
  const isLate = row.state === "prepared" && row.nextCheckAt <= now;
  return isLate ? new AppError("upstream", NOT_SENT) : null;
}

/** Ceiling of concurrently signed orders of a service account. */
export const MOST_SIGNED_SERVICE = 8;

/** Ceiling of the scan; above any plausible number of waiting orders. */
const MOST_PREPARED = 100;

/**
 * The order that has to move on before this one is signed: the oldest signed order of an account at its ceiling (one
 * for a user's wallet), or an order with a mined approval that is not used yet. `null` if there is none; an order on paper
 * waits for nothing.
 */
export async function findBlockingOrder(
  ctx: QueryCtx,
  {
    _id,
    walletId,
    userId,
    paper,
  }: Pick<Doc<"orders">, "walletId" | "userId"> & Partial<Pick<Doc<"orders">, "_id" | "paper">>,
): Promise<Doc<"orders"> | null> {
  if (paper === true) return null;
  const most = userId === NOBODY ? MOST_SIGNED_SERVICE : 1;
  const signed = await listSignedOrders(ctx, walletId, most);
  if (signed.length === most) return signed[0] ?? null;
  const rows = queryByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "prepared");
  const prepared = userId === NOBODY ? [] : await rows.take(MOST_PREPARED);
  return prepared.find((one) => one.approvalTxHash !== undefined && one._id !== _id) ?? null;
}

/** The signed orders of an account, oldest first. */
export async function listSignedOrders(
  ctx: QueryCtx,
  walletId: string,
  most: number,
): Promise<Doc<"orders">[]> {
  return queryByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "signed").take(most);
}
