import type { Address } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { getOptional } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { formatUnits } from "../../lib/money/amounts";
import { MINUTE } from "../../lib/time";
import { computeGasPrice, readMarket } from "../../providers/chain/accounts";
import { getServiceAddress } from "../custody/signatures";
import { getMicroPrice, readBalance } from "../holdings";
import { NO_RELAYER, parseServiceWalletId } from "../model";
import type { GasRequest } from "../tables";
import type { Order } from "./model";

/**
 * What ether for USDC costs: the relayer gives the feeds' worth less 2 % and less the network fee of the exchange. USDC
 * counts as a dollar at most. For actions.
 */

/** In USDC's smallest unit. */
const LEAST_USDC = 1_000_000n;
const MOST_USDC = 5_000_000n;
const ONE_USDC = 1_000_000n;
const ONE_ETHER = 10n ** 18n;
/** The relayer keeps 2 %. */
const [KEPT, ALL] = [2n, 100n];
/** The exchange takes 110,500, and its call has some 900 bytes. */
const EXCHANGE_GAS = 130_000n;
const EXCHANGE_CALL = `0x${"ff".repeat(900)}` as const;
/** Gas of an approval and a swap, with room. */
const ENOUGH_GAS = 450_000n;
/** Below it the relayer gives nothing: it has settlements to pay for. */
const LOWEST_TANK = ONE_ETHER / 100n;
/** However low a node says that the price of ether is. */
const MOST_ETHER = LOWEST_TANK;
const BUSY_MS = 10 * MINUTE;

/** The account that gives the ether; `null` without one, or if it is the platform wallet: its reader would credit the USDC. */
function findRelayer(): Address | null {
  const relayer = getServiceAddress("relayer");
  return relayer?.toLowerCase() === getOptional("PLATFORM_WALLET_ADDRESS")?.toLowerCase() ? null : relayer;
}

/** @throws AppError `not_configured` as `findRelayer`. */
export function requireRelayer(): Address {
  const relayer = findRelayer();
  if (relayer === null) throw new AppError("not_configured", NO_RELAYER);
  return relayer;
}

/** In micro-USD of a whole token; the fees in wei. */
type Terms = { etherPrice: bigint; usdcPrice: bigint; fee: bigint; enough: bigint };

async function readTerms(): Promise<Terms> {
  const [etherPrice, usdc, { current, l1Fee }] = await Promise.all([
    getMicroPrice("ETH"),
    getMicroPrice("USDC"),
    readMarket(EXCHANGE_CALL),
  ]);
  const fee = EXCHANGE_GAS * computeGasPrice(current) + l1Fee;
  const enough = ENOUGH_GAS * current.maxFeePerGas + 4n * l1Fee;
  return { etherPrice, usdcPrice: usdc < ONE_USDC ? usdc : ONE_USDC, fee, enough };
}

/** The ether, in wei, that an amount of USDC buys. */
function computeEther(usdc: bigint, { etherPrice, usdcPrice, fee }: Terms): bigint {
  return (usdc * usdcPrice * (ALL - KEPT) * ONE_ETHER) / (ONE_USDC * ALL * etherPrice) - fee;
}

/** The whole USDC, in its smallest unit, that buy half as much again as is missing (wei). */
function computeSufficient(missing: bigint, { etherPrice, usdcPrice, fee }: Terms): bigint {
  const micro = ((missing * 3n) / 2n + fee) * etherPrice * ALL;
  const usdc = micro / (ONE_ETHER * usdcPrice * (ALL - KEPT)) + 1n;
  return usdc * ONE_USDC < LEAST_USDC ? LEAST_USDC : usdc * ONE_USDC;
}

/** The USDC, in digits, for which the payer gets the missing ether; `null` if there is no such way. */
export async function findGasOffer(
  ctx: ActionCtx,
  { userId, walletId, address }: Pick<Order, "userId" | "walletId" | "address">,
  missing: bigint,
): Promise<string | null> {
  if (findRelayer() === null || parseServiceWalletId(walletId) !== null) return null;
  const query = { userId, kind: "custody" as const };
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, query);
  if (wallet?.walletId !== walletId) return null;
  const usdc = computeSufficient(missing, await readTerms());
  return usdc <= MOST_USDC && (await readBalance(address, "USDC")) >= usdc ? usdc.toString() : null;
}

/**
 * The terms of an exchange, and the wallet's ether and USDC.
 * @throws AppError `overloaded` if the relayer has too little ether to give, `upstream`
 */
async function readExchange(ctx: ActionCtx, relayer: string, address: string) {
  const [terms, tank, native, held] = await Promise.all([
    readTerms(),
    readBalance(relayer, "ETH"),
    readBalance(address, "ETH"),
    readBalance(address, "USDC"),
  ]);
  const isLow = tank < LOWEST_TANK;
  await ctx.runMutation(internal.wallets.orders.gasSteps.noteTank, { relayer, isLow });
  if (!isLow) return { terms, native, held };
  log.error("wallets.relayer low", { relayer });
  const message =
    "The service has no ETH to give just now: nothing was moved. Send ETH to the wallet instead";
  throw new AppError("overloaded", message, { retryAfterMs: BUSY_MS });
}

function requireUsdc(held: bigint, needed: bigint, address: string): void {
  if (held >= needed) return;
  const show = (amount: bigint) => formatUnits(amount, 6);
  throw new AppError(
    "invalid_request",
    `Insufficient USDC: ${show(needed)} needed, the wallet holds ${show(held)}: send USDC or ETH to ${address} on Base`,
  );
}

/**
 * A gas request with its exact amounts.
 * @param address The user's wallet.
 * @throws AppError `not_configured` without a relayer, `overloaded` if it has too little ether, `invalid_request` without
 * the USDC, `upstream`.
 */
export async function resolveGas(ctx: ActionCtx, address: string, request: GasRequest): Promise<GasRequest> {
  const { terms, native, held } = await readExchange(ctx, requireRelayer(), address);
  const missing = terms.enough > native ? terms.enough - native : 0n;
  const sufficient = computeSufficient(missing, terms);
  const asked = request.size === undefined || request.size === "enough" ? sufficient : BigInt(request.size);
  const usdc = asked > MOST_USDC ? MOST_USDC : asked;
  requireUsdc(held, usdc, address);
  const ether = computeEther(usdc, terms);
  if (ether <= 0n)
    throw new AppError("upstream", "The network fee is above what that buys: nothing was moved");
  const cost = (usdc * terms.usdcPrice) / ONE_USDC - (ether * terms.etherPrice) / ONE_ETHER;
  return {
    ...request,
    amount: usdc.toString(),
    ether: ether.toString(),
    cost: (cost > 0n ? cost : 0n).toString(),
  };
}

/**
 * Requires, before the signature, that the exchange can be made and is worth it: a wallet that signs is blocked until its
 * authorization is used or over.
 * @throws AppError as `resolveGas`; `upstream` if the ether and the network fee are worth more than the USDC by now.
 */
export async function requireExchangeable(
  ctx: ActionCtx,
  relayer: string,
  address: string,
  request: GasRequest,
): Promise<void> {
  const [amount, ether] = [BigInt(request.amount), BigInt(request.ether)];
  if (amount > MOST_USDC || ether > MOST_ETHER)
    throw new AppError("internal", "The amount is beyond what gas may cost");
  const { terms, held } = await readExchange(ctx, relayer, address);
  requireUsdc(held, amount, address);
  if ((ether + terms.fee) * terms.etherPrice * ONE_USDC > amount * terms.usdcPrice * ONE_ETHER)
    throw new AppError("upstream", "The price has moved since then: nothing was signed, so order it again");
}
