import type { Address, Hex } from "viem";
import * as z from "zod";
import { CHAIN_ID } from "../lib/money/base";
import { deadlines } from "../platform/outside/deadlines";
import { getRequired, getSetting } from "../lib/env";
import { AppError } from "../lib/errors";
import { requireAnswer, askProvider, parseShape, isOutage, toStatusError } from "./call";

/** The swap provider: 0x Swap API v2, Permit2 quotes (docs.0x.org). */
const UPSTREAM = "The swap provider";

const address = z.custom<Address>((value) => typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value));
const hex = z.custom<Hex>((value) => typeof value === "string" && /^0x(?:[0-9a-fA-F]{2})*$/.test(value));
const digits = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform((value) => BigInt(value));

/** The used fields of a quote alone: its guarantees are read from the call itself, not from the provider's claims. */
const quoteShape = z.object({
  liquidityAvailable: z.literal(true),
  buyAmount: digits,
  permit2: z
    .object({
      eip712: z.object({
        message: z.object({
          permitted: z.object({ token: address, amount: digits }),
          spender: address,
          nonce: digits,
          deadline: digits,
        }),
      }),
    })
    .nullish(),
  transaction: z.object({ to: address, data: hex, value: digits, gas: digits.nullish() }),
});

const noLiquidityShape = z.object({ liquidityAvailable: z.literal(false) });
const failureShape = z.object({ name: z.string() });

export type SwapQuote = z.output<typeof quoteShape>;

/** The provider's refusals of a request, in this service's words: the provider's text is not passed on. */
const REFUSALS: Readonly<Record<string, string>> = {
  TOKEN_NOT_SUPPORTED: "The swap provider does not support this token",
  SWAP_VALIDATION_FAILED: "The swap provider refused this swap",
  INPUT_INVALID: "The swap provider refused the input of this swap",
  TAKER_NOT_AUTHORIZED_FOR_TRADE: "The swap provider does not trade for this wallet",
  SELL_TOKEN_NOT_AUTHORIZED_FOR_TRADE: "The swap provider does not trade the sold token for this wallet",
  BUY_TOKEN_NOT_AUTHORIZED_FOR_TRADE: "The swap provider does not trade the bought token for this wallet",
  RECIPIENT_NOT_AUTHORIZED_FOR_TRADE: "The swap provider does not trade for this wallet",
  SELL_AMOUNT_TOO_SMALL: "The amount is too small for the swap provider: try a larger one",
  INSUFFICIENT_BALANCE: "The swap provider finds the wallet's balance too small for this swap",
  INSUFFICIENT_BALANCE_OR_ALLOWANCE: "The swap provider finds the wallet's balance too small for this swap",
  UNABLE_TO_CALCULATE_GAS_FEE: "The swap provider cannot price this swap's network fee: try another amount",
};

/**
 * Requests a firm quote for selling exactly `sellAmount`.
 * @param taker The wallet that holds the tokens, signs and sends.
 * @throws AppError `invalid_request` if there is no route or the provider refuses the swap, `upstream` for its
 * failures.
 */
export async function requestQuote(swap: {
  sellToken: Address;
  buyToken: Address;
  sellAmount: bigint;
  taker: Address;
  slippageBps: number;
}): Promise<SwapQuote> {
  const query = new URLSearchParams({
    chainId: String(CHAIN_ID),
    sellToken: swap.sellToken,
    buyToken: swap.buyToken,
    sellAmount: swap.sellAmount.toString(),
    taker: swap.taker,
    slippageBps: String(swap.slippageBps),
  });
  const url = `${getSetting("SWAP_API_URL")}/swap/permit2/quote?${query.toString()}`;
  const headers = { "0x-api-key": getRequired("SWAP_API_KEY"), "0x-version": "v2" };
  const init = { method: "GET", headers };
  const result = await askProvider(
    "swap",
    url,
    init,
    deadlines.swap,
    undefined,
    ({ status, body }) =>
      findRefusalMessage(status, body) === undefined && (body === undefined || isOutage("swap", status)),
  );
  const { status, body } = requireAnswer(UPSTREAM, result);
  const refused = findRefusalMessage(status, body);
  if (refused !== undefined) throw new AppError("invalid_request", `${refused}: nothing was signed`);
  if (status !== 200) throw toStatusError(UPSTREAM, status);
  if (noLiquidityShape.safeParse(body).success) {
    throw new AppError("invalid_request", "There is no liquidity for this swap: try another amount or token");
  }
  return parseShape(UPSTREAM, body, quoteShape);
}

function findRefusalMessage(status: number, body: unknown): string | undefined {
  const { name = "" } = failureShape.safeParse(body).data ?? {};
  return status >= 400 && status < 500 && Object.hasOwn(REFUSALS, name) ? REFUSALS[name] : undefined;
}
