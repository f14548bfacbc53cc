import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { BPS, formatUnits, toMicroUsd } from "../../lib/money/amounts";
import { withUsage } from "../../platform/outside/calls";
import { getMicroPrice, readHeld, type HoldingWallet } from "../holdings";
import { getOutgoing, NO_GAS } from "../model";
import { parseSize, toUnits, type Size } from "../sizes";
import type { UserRequest } from "../tables";
import { WALLET_TOKENS, type Symbol } from "../tokens";
import { resolveGas } from "./gasTerms";
import { estimateFees, USUAL_SEND_GAS, USUAL_SWAP_GAS } from "./calls";

/** The exact amount of an order whose size is said in words, resolved once. For actions. */

/** A swap's call has some 1,500 bytes, which the chain prices as well. */
const CALL_BYTES = { send: 0, swap: 1_500 };
/** Network fees that a part of the wallet's ether leaves: the order's own, and that of the next one. */
const FEES_LEFT = 2n;

/**
 * The request with its exact amount: by its size, or else as it is.
 * @throws AppError `invalid_request` for a size that comes to nothing, `upstream` without the live price that it needs.
 */
export const resolveAmount = withUsage(
  async (ctx: ActionCtx, wallet: HoldingWallet, request: UserRequest): Promise<UserRequest> => {
    if (request.kind === "gas" && wallet.book !== undefined) throw new AppError("invalid_request", NO_GAS);
    if (request.kind === "gas") return resolveGas(ctx, wallet.address, request);
    if (request.size === undefined) return request;
    const { token } = getOutgoing(request);
    const size = parseSize(request.size, token);
    if (typeof size === "string") throw new AppError("invalid_request", `size ${size}`);
    const amount =
      size.kind === "share" ? await computeShare(wallet, size.bps, request) : await computeWorth(size, token);
    if (amount > 0n) return { ...request, amount: amount.toString() };
    throw new AppError("invalid_request", `size is less than the smallest unit of ${token}: say more`);
  },
);

type Sized = Exclude<UserRequest, { kind: "gas" }>;

async function computeShare(wallet: HoldingWallet, bps: number, request: Sized): Promise<bigint> {
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

/** The highest fee of a usual order of this kind at the present fees, in wei. */
async function computeUsualFee({ kind }: Sized): Promise<bigint> {
  const gas = kind === "send" ? USUAL_SEND_GAS : USUAL_SWAP_GAS;
  return (await estimateFees({ data: `0x${"ff".repeat(CALL_BYTES[kind])}`, gas })).mostFee;
}

/** The amount of `token` that is worth a sum of USD or of another token by the live prices, rounded down. */
async function computeWorth(
  { amount, unit }: Extract<Size, { kind: "worth" }>,
  token: Symbol,
): Promise<bigint> {
  if (unit === token) return toUnits(amount, token);
  const whole = (symbol: Symbol) => 10n ** BigInt(WALLET_TOKENS[symbol].decimals);
  const worth =
    unit === "USD" ? toMicroUsd(amount) : (toUnits(amount, unit) * (await getMicroPrice(unit))) / whole(unit);
  return (worth * whole(token)) / (await getMicroPrice(token));
}
