/**
 * A stand-in for the 0x Swap API v2 with Permit2, for local use: quotes at the price feeds of the local chain, where
 * its settler executes the swaps.
 */

import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  encodeFunctionData,
  erc20Abi,
  hashTypedData,
  http,
  isAddressEqual,
  maxUint256,
  sliceHex,
  toHex,
  type Address,
  type Hex,
} from "viem";
import * as z from "zod";
import { actionsAbi, poolAbi, wethAbi } from "../chain/abis";
import { CHAIN_ID, NATIVE, PERMIT2, POOL, SETTLER, TOKENS } from "../chain/addresses";
import { buildSettlerCall } from "../chain/settlerCall";
import { real } from "../real";
import type { Standin } from "./standin";
import { sendJson } from "./http";

/** How long a signature for a quote is valid, in seconds. */
const QUOTE_SECONDS = 300;
const SETTLE_GAS = 300_000n;
const WRAP_GAS = 60_000n;

/**
 * @param options.rpcUrl The local chain's; `null` while there is none.
 * @param options.now Epoch ms.
 * @param options.fetch For its questions to the chain.
 */
export function createSwap(options: {
  rpcUrl: () => string | null;
  now: () => number;
  fetch?: typeof fetch | undefined;
}): Standin {
  const { fetch = real.fetch } = options;
  return {
    error: swapError,
    handle: async ({ method, path, headers, query }) => {
      if (method !== "GET" || path !== "/swap/permit2/quote")
        return sendJson({ message: "no Route matched with those values" }, 404);
      if ((headers.get("0x-api-key") ?? "") === "")
        return sendJson({ message: "No API key found in request" }, 401);
      if (headers.get("0x-version") !== "v2") return invalid("0x-version", "Must be v2");
      const { data: request, error } = queryShape.safeParse(Object.fromEntries(query));
      if (request === undefined) {
        const [issue] = error?.issues ?? [];
        return invalid(String(issue?.path[0] ?? issue?.code), issue?.message ?? "Invalid");
      }
      const rpcUrl = options.rpcUrl();
      const offer =
        rpcUrl === null ? undefined : await buildOffer(request, rpcUrl, fetch).catch(() => undefined);
      if (offer === undefined) return sendJson(swapError(500, "The chain cannot be read"), 500);
      if (offer === null) return sendJson({ liquidityAvailable: false, zid: randomHex(12) });
      const { body, gas, gasPrice } = offer;
      const deadline = BigInt(Math.floor(options.now() / 1_000) + QUOTE_SECONDS);
      const permit = { nonce: BigInt(randomHex(32)), deadline };
      const { to, data, value } = buildTransaction(request, offer.minBuyAmount, permit, body.zid);
      const price = { gas: String(gas), gasPrice: String(gasPrice), value: String(value) };
      return sendJson({
        ...body,
        permit2: offer.needsPermit ? buildPermit(request, permit) : null,
        transaction: { to: lower(to), data, ...price },
      });
    },
  };
}

const NAMES: Record<number, string> = {
  400: "SWAP_VALIDATION_FAILED",
  403: "TAKER_NOT_AUTHORIZED_FOR_TRADE",
  422: "SELL_TOKEN_NOT_AUTHORIZED_FOR_TRADE",
  500: "INTERNAL_SERVER_ERROR",
};

/** The API's own error body; for a status that it has no name for, its gateway's. */
function swapError(status: number, message: string): unknown {
  const name = NAMES[status];
  return name === undefined ? { message } : { name, message, data: { zid: randomHex(12) } };
}

function invalid(field: string, reason: string): Response {
  const data = { zid: randomHex(12), details: [{ field, reason }] };
  return sendJson({ name: "INPUT_INVALID", message: "The input is invalid", data }, 400);
}

/** The zero address stands for no token. */
const addressShape = z
  .string("Required")
  .regex(/^0x(?!0{40})[a-fA-F0-9]{40}$/, "Invalid ethereum address")
  .transform((text): Address => lower(`0x${text.slice(2)}`));

/** Other parameters of the API would change the outcome, and are refused. */
const queryShape = z
  .strictObject({
    chainId: z.literal(String(CHAIN_ID), "The stand-in has chain 8453 only"),
    sellToken: addressShape,
    buyToken: addressShape,
    sellAmount: z
      .string("Required")
      .regex(/^\d{1,78}$/, "Must be a whole number in base units")
      .transform(BigInt)
      .refine((amount) => amount <= maxUint256, "Too large"),
    taker: addressShape,
    recipient: addressShape.optional(),
    slippageBps: z.coerce.bigint().min(0n).max(10_000n).default(100n),
  })
  .refine(({ sellToken, buyToken }) => sellToken !== buyToken, {
    path: ["buyToken"],
    error: "sellToken and buyToken are the same",
  })
  .refine(({ recipient, ...tokens }) => recipient === undefined || getKind(tokens) === "settle", {
    path: ["recipient"],
    error: "Not supported for wrap and unwrap",
  });
type SwapRequest = z.output<typeof queryShape>;

function isNative(token: Address): boolean {
  return isAddressEqual(token, NATIVE);
}

/** How a swap is done: through the settler, or by the wrapped token itself. */
function getKind({ sellToken, buyToken }: Record<"sellToken" | "buyToken", Address>) {
  if (isNative(sellToken) && isAddressEqual(buyToken, TOKENS.WETH)) return "wrap";
  if (isNative(buyToken) && isAddressEqual(sellToken, TOKENS.WETH)) return "unwrap";
  return "settle";
}

/** The quote without its permit and transaction; `null` without liquidity. @throws If the chain cannot be read. */
async function buildOffer(request: SwapRequest, rpcUrl: string, fetchFn: typeof fetch) {
  const { sellToken, buyToken, sellAmount, taker } = request;
  const isTraded = (token: Address) =>
    isNative(token) || Object.values(TOKENS).some((one) => isAddressEqual(one, token));
  if (!isTraded(sellToken) || !isTraded(buyToken)) return null;
  // In real time: viem's own timeout is a timer, which an accelerated clock would fire.
  const fetchOptions = { signal: AbortSignal.timeout(10_000) };
  const transport = http(rpcUrl, { fetchFn, fetchOptions, retryCount: 0, timeout: 0 });
  const client = createPublicClient({ transport });
  const readHeld = (token: Address, owner: Address): Promise<bigint> =>
    isNative(token)
      ? client.getBalance({ address: owner })
      : client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] });
  const direct = getKind(request) !== "settle";
  const needsPermit = !direct && !isNative(sellToken);
  const quoting = { address: POOL, abi: poolAbi, functionName: "quote" } as const;
  const allowing = { address: sellToken, abi: erc20Abi, functionName: "allowance" } as const;
  const [quoted, reserve, wrapped, balance, allowed, gasPrice] = await Promise.all([
    // Amounts that are too large make the pool revert: there is no price for them.
    direct
      ? sellAmount
      : priceAt(client.readContract({ ...quoting, args: [sellToken, buyToken, sellAmount] })),
    readHeld(buyToken, POOL),
    isNative(buyToken) ? readHeld(TOKENS.WETH, POOL) : 0n,
    readHeld(sellToken, taker),
    needsPermit ? client.readContract({ ...allowing, args: [taker, PERMIT2] }) : 0n,
    client.getGasPrice(),
  ]);
  const buyAmount = direct || quoted <= reserve + wrapped ? quoted : 0n;
  if (buyAmount === 0n) return null;
  const minBuyAmount = direct ? buyAmount : (buyAmount * (10_000n - request.slippageBps)) / 10_000n;
  const lacksAllowance = needsPermit && allowed < sellAmount;
  const lacksBalance = balance < sellAmount;
  const expected = String(sellAmount);
  const body = {
    ...{
      liquidityAvailable: true,
      zid: randomHex(12),
      sellToken: lower(sellToken),
      buyToken: lower(buyToken),
    },
    ...{ sellAmount: expected, buyAmount: String(buyAmount), minBuyAmount: String(minBuyAmount) },
    allowanceTarget: needsPermit ? lower(PERMIT2) : null,
    issues: {
      allowance: lacksAllowance ? { actual: String(allowed), spender: lower(PERMIT2) } : null,
      balance: lacksBalance ? { token: lower(sellToken), actual: String(balance), expected } : null,
      simulationIncomplete: lacksAllowance || lacksBalance,
    },
  };
  return { body, minBuyAmount, needsPermit, gas: direct ? WRAP_GAS : SETTLE_GAS, gasPrice };
}

/** The pool's output; `null` for a revert. @throws If the chain cannot be read. */
async function priceAt(quote: Promise<readonly [bigint, bigint]>): Promise<bigint> {
  try {
    return (await quote)[0];
  } catch (error) {
    if (error instanceof BaseError && error.walk((one) => one instanceof ContractFunctionRevertedError))
      return 0n;
    throw error;
  }
}

type Permit = { nonce: bigint; deadline: bigint };

function buildTransaction(
  request: SwapRequest,
  minAmountOut: bigint,
  { nonce, deadline }: Permit,
  zid: Hex,
): { to: Address; data: Hex; value: bigint } {
  const { sellToken, buyToken, sellAmount, taker, recipient } = request;
  const kind = getKind(request);
  if (kind === "wrap") {
    const data = encodeFunctionData({ abi: wethAbi, functionName: "deposit" });
    return { to: TOKENS.WETH, data, value: sellAmount };
  }
  if (kind === "unwrap") {
    const data = encodeFunctionData({ abi: wethAbi, functionName: "withdraw", args: [sellAmount] });
    return { to: TOKENS.WETH, data, value: 0n };
  }
  const native = isNative(sellToken);
  const action = { abi: actionsAbi } as const;
  const permit = { permitted: { token: sellToken, amount: sellAmount }, nonce, deadline };
  const first = native
    ? encodeFunctionData({ ...action, functionName: "NATIVE_CHECK", args: [deadline, sellAmount] })
    : // Takes the sold token into the settler, by the signature that follows.
      sliceHex(
        encodeFunctionData({ ...action, functionName: "TRANSFER_FROM", args: [SETTLER, permit, "0x"] }),
        0,
        4 + 6 * 32,
      );
  // Trades all of the sold token that the settler holds; the amount is filled in when the call is made.
  const trade = encodeFunctionData({ abi: poolAbi, functionName: "swap", args: [sellToken, 0n, buyToken] });
  const args = [sellToken, 10_000n, POOL, 4n + 32n, trade] as const;
  const second = encodeFunctionData({ ...action, functionName: "BASIC", args });
  const slippage = { recipient: recipient ?? taker, buyToken, minAmountOut };
  const data = buildSettlerCall(slippage, [first, second], zid, { awaitsSignature: !native });
  return { to: SETTLER, data, value: native ? sellAmount : 0n };
}

const PERMIT_TYPES = {
  PermitTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
} as const;

const DOMAIN_TYPE = [
  { name: "name", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
] as const;

function buildPermit({ sellToken, sellAmount }: SwapRequest, { nonce, deadline }: Permit): unknown {
  const domain = { name: "Permit2", chainId: CHAIN_ID, verifyingContract: lower(PERMIT2) };
  const primaryType = "PermitTransferFrom";
  const [token, spender] = [lower(sellToken), lower(SETTLER)];
  const message = { permitted: { token, amount: sellAmount }, spender, nonce, deadline };
  const typedData = {
    permitted: { token, amount: String(sellAmount) },
    ...{ spender, nonce: String(nonce), deadline: String(deadline) },
  };
  const types = { ...PERMIT_TYPES, EIP712Domain: DOMAIN_TYPE };
  return {
    type: "Permit2",
    hash: hashTypedData({ domain, types: PERMIT_TYPES, primaryType, message }),
    eip712: { types, domain, message: typedData, primaryType },
  };
}

function lower(address: Address): Address {
  return `0x${address.slice(2).toLowerCase()}`;
}

function randomHex(bytes: number): Hex {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
