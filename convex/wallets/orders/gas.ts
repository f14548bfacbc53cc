import { encodeFunctionData, keccak256, parseAbi, stringToHex, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { getOptional, getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { formatUnits } from "../../lib/money/amounts";
import { HOUR, MINUTE, SECOND } from "../../lib/time";
import { readHead } from "../../providers/chain/blocks";
import { computeGasPrice, readMarket } from "../../providers/chain/accounts";
import { getTransactionStatus, readTransaction } from "../../providers/chain/transactions";
import {
  buildAuthorizationCall,
  buildAuthorizationData,
  findAuthorizationUse,
  readAuthorization,
  type TypedData,
} from "../../providers/chain/usdc";
import { getServiceAddress } from "../custody/signatures";
import { getMicroPrice, readHeld } from "../holdings";
import { requireStoredAddress, type LiveOrder } from "../model";
import { MULTICALL3 } from "../tokens";
import type { ExchangeStep } from "./unsignedSteps";
import { isEnded, type Order } from "./model";
import type { GasRequest } from "../tables";

/**
 * The exchange of USDC for ether: the wallet signs an authorization (EIP-3009) to the relayer, and one transaction of the
 * relayer takes the USDC and gives the ether, or does neither. The relayer gives the feeds' worth less 2 % and less the
 * network fee of the exchange; USDC counts as a dollar at most. For actions.
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

const NO_RELAYER =
  "X402_RELAYER_PRIVATE_KEY names no relayer of its own: ETH has to be sent to the wallet on Base";

/** The account that gives the ether; `null` without one, or if it is the platform wallet: its reader would credit the USDC. */
function findRelayer(): Address | null {
  const relayer = getServiceAddress("relayer");
  return relayer?.toLowerCase() === getOptional("PLATFORM_WALLET_ADDRESS")?.toLowerCase() ? null : relayer;
}

/** @throws AppError `not_configured` as `findRelayer`. */
function requireRelayer(): Address {
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
  if (findRelayer() === null) return null;
  const query = { userId, kind: "custody" as const };
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, query);
  if (wallet?.walletId !== walletId) return null;
  const usdc = computeSufficient(missing, await readTerms());
  return usdc <= MOST_USDC && (await readHeld({ address }, "USDC")) >= usdc ? usdc.toString() : null;
}

/**
 * The terms of an exchange, and the wallet's ether and USDC.
 * @throws AppError `overloaded` if the relayer has too little ether to give, `upstream`
 */
async function readExchange(ctx: ActionCtx, relayer: string, address: string) {
  const [terms, tank, native, held] = await Promise.all([
    readTerms(),
    readHeld({ address: relayer }, "ETH"),
    readHeld({ address }, "ETH"),
    readHeld({ address }, "USDC"),
  ]);
  const isLow = tank < LOWEST_TANK;
  await ctx.runMutation(internal.wallets.orders.unsignedSteps.noteTank, { relayer, isLow });
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
  const amount = request.size === undefined || request.size === "enough" ? sufficient : BigInt(request.size);
  const usdc = amount > MOST_USDC ? MOST_USDC : amount;
  requireUsdc(held, usdc, address);
  const ether = computeEther(usdc, terms);
  if (ether <= 0n)
    throw new AppError(
      "upstream",
      "The network fee is more than that USDC buys: nothing was moved, so take more USDC or try again later",
    );
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
async function requireExchangeable(
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

/** How long the authorization is valid, in seconds. */
const VALID_SECONDS = 600;
/** Seconds of the chain after its end before an unused authorization counts as dead. */
const SETTLED_SECONDS = 20;
/** Age of a failed payment whose nonce is used, as the node says without a receipt, before another one is made. */
const UNSEEN_FOR_MS = HOUR;

const multicallAbi = parseAbi([
  "struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }",
  "struct Result { bool success; bytes returnData; }",
  "function aggregate3Value(Call3Value[] calls) payable returns (Result[])",
]);

/** An authorization's nonce: one per order, so that an order pays at most once. */
function deriveNonce({ _id }: Pick<Order, "_id">): Hex {
  return keccak256(stringToHex(_id));
}

/**
 * Has the authorization of a gas order signed, and stores it with the relayer's order: only then the relayer signs.
 * @param sign The signer's: what it gets is made here from the order alone.
 */
export async function authorizeExchange(
  ctx: ActionCtx,
  row: LiveOrder,
  request: GasRequest,
  sign: (data: TypedData) => Promise<Hex>,
): Promise<void> {
  const { amount, ether } = request;
  const relayer = requireRelayer();
  await requireExchangeable(ctx, relayer, row.address, request);
  const validBefore = Math.floor(Date.now() / SECOND) + VALID_SECONDS;
  const terms = {
    from: row.address,
    to: relayer,
    value: amount,
    validAfter: "0",
    validBefore: String(validBefore),
    nonce: deriveNonce(row),
  };
  const signature = await sign(buildAuthorizationData(terms));
  const take = buildAuthorizationCall({ ...terms, signature });
  const calls = [
    { target: take.to, allowFailure: false, value: 0n, callData: take.data },
    { target: requireStoredAddress(row.address), allowFailure: false, value: BigInt(ether), callData: "0x" },
  ] as const;
  const data = encodeFunctionData({ abi: multicallAbi, functionName: "aggregate3Value", args: [calls] });
  await ctx.runMutation(internal.wallets.orders.unsignedSteps.storeAuthorization, {
    orderId: row._id,
    relayer,
    validBefore,
    call: { to: MULTICALL3, data, value: ether },
  });
}

/**
 * Follows a signed gas order by the relayer's orders for it.
 * @param progress One step of a relayer's order.
 * @throws AppError `upstream`
 */
export async function checkExchange(
  ctx: ActionCtx,
  row: Order,
  progress: (ctx: ActionCtx, orderId: Id<"orders">) => Promise<Order>,
): Promise<Order> {
  const { _id: orderId, exchange, address, state } = row;
  if (exchange === undefined || (state !== "signed" && !isEnded(row))) return row;
  const { serviceId, fallbackId, validBefore } = exchange;
  const advance = (step: ExchangeStep): Promise<Order> =>
    ctx.runMutation(internal.wallets.orders.unsignedSteps.advanceExchange, { orderId, step });
  const half = await progress(ctx, fallbackId ?? serviceId);
  const { txHash } = half;
  if (half.state === "confirmed" && txHash !== undefined) return advance({ kind: "done", txHash });
  if (state !== "failed" && !isEnded(half))
    return txHash === undefined ? row : advance({ kind: "sent", txHash });
  const payAlone = () => advance({ kind: "fallback", halfId: half._id, relayer: requireRelayer() });
  if (fallbackId !== undefined) return (await isDead(half)) ? payAlone() : row;
  const authorization = { from: address, nonce: deriveNonce(row) };
  const { used, at } = await readAuthorization(authorization);
  if (!used) {
    // Looked at once more after its end.
    if (state === "failed") return advance({ kind: "left" });
    // Read at one block, whose time is past the end, as is this service's: it can never be used any more.
    const now = BigInt(Math.floor(Date.now() / SECOND));
    const isOver = (at < now ? at : now) >= BigInt(validBefore + SETTLED_SECONDS);
    if (isOver) return advance({ kind: "expired" });
    return half.tries.length === 0 && at < BigInt(validBefore) ? advance({ kind: "again" }) : row;
  }
  const usedBy = await findAuthorizationUse(authorization, row._creationTime);
  const seen = usedBy === null ? null : await readTransaction(usedBy);
  // The relayer's own transaction: a further look at its order finds it mined.
  if (seen?.kind !== "mined" || half.tries.some(({ hash }) => hash === seen.hash)) return row;
  const isTaken = seen.transfers.some((one) => one.authorization === authorization.nonce);
  return isTaken && (await isFinal(seen.block.number)) ? payAlone() : row;
}

async function isFinal(block: number): Promise<boolean> {
  const { number } = await readHead();
  return number - block >= Number(getSetting("CONFIRMATIONS"));
}

/** Whether no block can bring back a failed payment of the ether alone: only then another one may be made. */
async function isDead({ address, nonce, tries, endedAt = Date.now() }: Order): Promise<boolean> {
  if (nonce === undefined) return true;
  const hashes = tries.filter((one) => one.nonce === nonce).map(({ hash }) => hash);
  const status = await getTransactionStatus(requireStoredAddress(address), nonce, hashes);
  if (status.kind === "used") return Date.now() - endedAt >= UNSEEN_FOR_MS;
  if (status.kind !== "mined") return false;
  const isEmpty = tries.find(({ hash }) => hash === status.hash)?.kind === "empty";
  return (isEmpty || !status.succeeded) && isFinal(status.block.number);
}
