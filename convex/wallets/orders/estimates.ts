import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError, getErrorData, orNull } from "../../lib/errors";
import { BPS, formatUnits, toMicroUsd } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { defined } from "../../lib/objects";
import type { Caller } from "../../platform/limits/callers";
import { withUsage } from "../../platform/outside/calls";
import { requireCovered } from "../book";
import { requireKey } from "../custody/signatures";
import { estimateValues, getMicroPrice, readHeld, type HoldingWallet } from "../holdings";
import { getOutgoing, NO_GAS, NO_WALLET, type WalletKind } from "../model";
import { WALLET_TOKENS, type Symbol, parseSize, toUnits, type Size } from "../tokens";
import {
  buildUsualSend,
  estimateFees,
  feeTooHighError,
  USUAL_SEND_GAS,
  USUAL_SWAP_GAS,
  type PayingWallet,
  type PricedCall,
} from "./calls";
import { resolveGas } from "./gas";
import type { Order, Estimate } from "./model";
import type { Forecast } from "./placing";
import { listCalls } from "./signer";
import { quoteSwap, type Offer } from "./swaps";
import type { UserRequest } from "../tables";

/**
 * Estimates of orders: the exact amount and its value, the quote and the fees. Nothing is signed, stored or counted against
 * a limit. For actions.
 */

/** A request that has a quote. An order for gas has none: it has a price of its own (`gas`). */
type Quotable = Exclude<UserRequest, { kind: "gas" }>;

/** The usual size of a call: the chain charges for its bytes, too. */
const CALL_BYTES = { send: 0, swap: 1_500 };
/** How many network fees an order for a share of the ether leaves in the wallet: its own, and that of the next order. */
const FEES_LEFT = 2n;

/**
 * Resolves a request's size to an exact amount; an amount without a size stays. The result has its value (`estimateValues`)
 * and the warning about its unit. @throws AppError `invalid_request` for a size that comes to nothing, `upstream` without a
 * live price that the size needs.
 */
export async function resolveOrder(ctx: ActionCtx, wallet: HoldingWallet, given: UserRequest) {
  const request = await resolveAmount(ctx, wallet, given);
  const values = await estimateValues(getOutgoing(request));
  return { request, ...values, unitWarning: await findUnitWarning(wallet, request, values.value) };
}

async function resolveAmount(
  ctx: ActionCtx,
  wallet: HoldingWallet,
  request: UserRequest,
): Promise<UserRequest> {
  if (request.kind === "gas") {
    if (wallet.book !== undefined) throw new AppError("invalid_request", NO_GAS);
    return resolveGas(ctx, wallet.address, request);
  }
  if (request.size === undefined) return request;
  const { token } = getOutgoing(request);
  const size = parseSize(request.size, token);
  if (typeof size === "string") throw new AppError("invalid_request", `size ${size}`);
  const amount =
    size.kind === "share" ? await computeShare(wallet, size.bps, request) : await toTokenAmount(size, token);
  if (amount > 0n) return { ...request, amount: amount.toString() };
  throw new AppError("invalid_request", `size is less than the smallest unit of ${token}: say more`);
}

async function computeShare(wallet: HoldingWallet, bps: number, request: Quotable): Promise<bigint> {
  const { token } = getOutgoing(request);
  const held = await readHeld(wallet, token);
  const share = (held * BigInt(bps)) / BPS;
  const kept = token === "ETH" ? FEES_LEFT * (await computeUsualFee(request)) : 0n;
  const amount = share < held - kept ? share : held - kept;
  if (amount > 0n) return amount;
  const where = wallet.book === undefined ? `on Base, at ${wallet.address}` : "on paper";
  const holds = `The wallet holds ${formatUnits(held, WALLET_TOKENS[token].decimals)} ${token} ${where}`;
  const fees = held > 0n && kept > 0n ? `, and the network fees need ${formatUnits(kept, 18)}` : "";
  throw new AppError("invalid_request", `${holds}${fees}: there is nothing to move`);
}

/** In micro-USD. A smaller order is probably a mistake in the unit: it is not worth its network fee. */
const CENT = 10_000n;

/**
 * The warning about an amount that probably counts whole tokens instead of smallest units: it is worth less than a cent, and
 * the wallet holds as many whole tokens. `null` for any other amount, and for a request with a size.
 * @param value In micro-USD; absent without a live price.
 */
async function findUnitWarning(
  wallet: HoldingWallet,
  request: UserRequest,
  value: string | undefined,
): Promise<string | null> {
  if (request.size !== undefined || value === undefined || BigInt(value) >= CENT) return null;
  const { token, amount } = getOutgoing(request);
  const { decimals } = WALLET_TOKENS[token];
  const whole = BigInt(amount) * 10n ** BigInt(decimals);
  if ((await readHeld(wallet, token)) < whole) return null;
  const orders = `amount counts the token's smallest unit, so this is ${formatUnits(BigInt(amount), decimals)} ${token}, worth less than a cent`;
  return `${orders}: ${amount} ${token} is ${whole}`;
}

/** The highest fee of a usual order of this kind at the present fees, in wei. */
async function computeUsualFee({ kind }: Quotable): Promise<bigint> {
  const gas = kind === "send" ? USUAL_SEND_GAS : USUAL_SWAP_GAS;
  return (await estimateFees({ data: `0x${"ff".repeat(CALL_BYTES[kind])}`, gas })).mostFee;
}

/** The amount of `token` that is worth a sum of USD or of another token by the live prices, rounded down. */
async function toTokenAmount(
  { amount, unit }: Extract<Size, { kind: "worth" }>,
  token: Symbol,
): Promise<bigint> {
  if (unit === token) return toUnits(amount, token);
  const whole = (symbol: Symbol) => 10n ** BigInt(WALLET_TOKENS[symbol].decimals);
  const worth =
    unit === "USD" ? toMicroUsd(amount) : (toUnits(amount, unit) * (await getMicroPrice(unit))) / whole(unit);
  return (worth * whole(token)) / (await getMicroPrice(token));
}

/** An order's costs. Fees in wei: at the current price, and the maximum of all its transactions together. */
type Quote = { usualFee: bigint; feesInAll: bigint; usualCostBps: number | null; terms?: Order["terms"] };

export type Rehearsal = Pick<Forecast, "refusal" | "isAsked" | "leftUsd" | "paper"> &
  Awaited<ReturnType<typeof resolveOrder>> & {
    /** `null` if the provider gave no quote. */
    quote: Quote | null;
  };

type Taker = Pick<Order, "address" | "minBuyAmount">;
/** The taker of quotes without a wallet: it holds nothing and has no key. */
const NO_TAKER = "0x000000000000000000000000000000000000dEaD";

/** Whether the amount of an order is a share of its wallet's balance. */
function dependsOnBalance(request: UserRequest): boolean {
  const size =
    request.kind === "gas" || request.size === undefined
      ? ""
      : parseSize(request.size, getOutgoing(request).token);
  return typeof size !== "string" && size.kind === "share";
}

/** Runs the checks of an order up to the signature, and quotes it whether or not it passes. */
export const rehearse = withUsage(
  async (
    ctx: ActionCtx,
    order: { userId: string; kind: WalletKind; request: UserRequest },
    { address, keyHash }: Pick<Caller, "address" | "keyHash">,
  ): Promise<Rehearsal> => {
    const forecastFor = (request: UserRequest, value: { value?: string }): Promise<Forecast> => {
      const question = { ...order, request, ...value, address, now: Date.now(), ...defined({ keyHash }) };
      return ctx.runQuery(internal.wallets.orders.placing.forecastOrder, question);
    };
    // Balances are only read for callers that may see them.
    const { wallet } = await forecastFor(order.request, {});
    // The address that stands in for a missing wallet must not appear in a refusal that asks for funds.
    if (wallet === null && dependsOnBalance(order.request)) throw new AppError("not_found", NO_WALLET);
    const taker = wallet ?? { address: NO_TAKER };
    const resolved = await resolveOrder(ctx, taker, order.request);
    const { request, etherPrice } = resolved;
    const { wallet: _, ...forecast } = await forecastFor(request, defined({ value: resolved.value }));
    const facts = { ...forecast, ...resolved };
    if (wallet === null) return { ...facts, quote: await tryQuote(taker, request) };
    try {
      await requireKey(ctx, wallet.walletId);
      const payer = { ...wallet, userId: order.userId, etherPrice };
      return { ...facts, quote: await rehearseOrder(ctx, payer, request) };
    } catch (error) {
      const failure = getErrorData(error);
      if (failure === null) throw error;
      const quote = failure.code === "invalid_request" ? await tryQuote(taker, request) : null;
      return { ...facts, quote, refusal: forecast.refusal ?? failure };
    }
  },
);

/** A quote for a wallet that may hold nothing, with the fees of a usual call. @throws AppError as `quoteSwap` */
async function quote(payer: Taker, request: Quotable, isOnPaper: boolean) {
  const { call, ...offer }: { call: PricedCall; usualCostBps: number | null; terms?: Order["terms"] } =
    request.kind === "swap" ? await quoteSwap(payer, request, isOnPaper) : buildUsualSend(request);
  return { ...offer, ...(await estimateFees(call)) };
}

/** A quote for a rehearsal; `null` where `quote` refuses: the rehearsal has its own refusal. */
async function tryQuote(payer: Taker, request: UserRequest): Promise<Quote | null> {
  const quoted = request.kind === "gas" ? null : await orNull(quote(payer, request, false));
  if (quoted === null) return null;
  const { mostFee: feesInAll, ...rest } = quoted;
  return { ...rest, feesInAll };
}

/** The quote for an order on paper. @throws AppError as the live order would, except for missing holdings. */
export async function quoteOnPaper(payer: Taker, request: UserRequest) {
  if (request.kind === "gas") throw new AppError("internal", "Fees on paper are paid from the book");
  const quoted = await quote(payer, request, true);
  if (quoted.mostFee > MOST_FEE) throw feeTooHighError(quoted.mostFee, MOST_FEE);
  return quoted;
}

/**
 * Runs an order up to its signature, or on paper up to the move in its book.
 * @param margin Factor by which fees may rise before the order is carried out, up to the general ceiling.
 */
async function rehearseOrder(ctx: ActionCtx, payer: PayingWallet, request: UserRequest, margin = 1n) {
  const raise = (fee: bigint) => (fee * margin < MOST_FEE ? fee * margin : MOST_FEE);
  if (payer.book !== undefined) {
    const { mostFee, ...quoted } = await quoteOnPaper(payer, request);
    const { token, amount } = getOutgoing(request);
    requireCovered(payer.book.past, { token, raw: BigInt(amount) }, quoted.usualFee);
    return { ...quoted, mostFee: raise(mostFee), feesInAll: raise(mostFee) };
  }
  let offer: Offer | undefined;
  let usualFee = 0n;
  const fees: bigint[] = [];
  for await (const next of listCalls(ctx, { ...payer, request })) {
    fees.push(next.mostFee);
    usualFee += next.usualFee;
    offer = next.offer;
  }
  const mostFee = raise(fees.reduce((a, b) => (a > b ? a : b), 0n));
  const feesInAll = mostFee * BigInt(fees.length);
  const { usualCostBps = null, terms } = offer ?? {};
  return { mostFee, feesInAll, usualFee, usualCostBps, ...defined({ terms }) };
}

/**
 * A resolved order and the estimate on the owner's card: fees may double before the tap.
 * @throws AppError for an order that cannot succeed, approved or not.
 */
export const estimateForApproval = withUsage(
  async (ctx: ActionCtx, payer: Omit<PayingWallet, "etherPrice">, given: UserRequest) => {
    const order = await resolveOrder(ctx, payer, given);
    const { request, value, etherPrice } = order;
    const quoted = await rehearseOrder(ctx, { ...payer, etherPrice }, request, 2n);
    const { usualCostBps, terms } = quoted;
    const worth =
      value === undefined || usualCostBps === null
        ? undefined
        : (BigInt(value) * (BPS - BigInt(usualCostBps))) / BPS;
    const estimate: Estimate = {
      mostFee: quoted.mostFee.toString(),
      feesInAll: quoted.feesInAll.toString(),
      usualFee: quoted.usualFee.toString(),
      ...defined({
        boughtValue: worth?.toString(),
        minBuyAmount: terms?.minBuyAmount,
        buyAmount: terms?.buyAmount,
      }),
    };
    return { ...order, estimate };
  },
);
