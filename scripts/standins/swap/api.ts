import { encodeFunctionData, hashTypedData, sliceHex, toHex, type Address, type Hex } from "viem";
import { actionsAbi, poolAbi, wethAbi } from "../../chain/abis";
import { CHAIN_ID, NATIVE, PERMIT2, POOL, SETTLER, TOKENS } from "../../chain/addresses";
import { json, type Call } from "../http";
import { settlerCall, type Slippage } from "./settlerCall";
import { readChain, type SwapReads } from "./reads";
import { isNative, readRequest, type Detail, type SwapRequest } from "./request";

/**
 * A stand-in for the 0x Swap API v2 with Permit2, for local use: quotes at the price feeds of the local chain, where
 * its settler executes the swaps.
 */

/** How long a signature for a quote is valid, in seconds. */
const QUOTE_SECONDS = 300;
const SETTLE_GAS = 300_000n;
const WRAP_GAS = 60_000n;

export type Swap = { handle(call: Call): Promise<Response> };

/**
 * @param options.rpcUrl The local chain's; `null` while there is none.
 * @param options.now Epoch ms.
 */
export function createSwap(options: { rpcUrl: () => string | null; now: () => number }): Swap {
  return {
    handle: async (call) => {
      const firm = call.path === "/swap/permit2/quote";
      if (call.method !== "GET" || !(firm || call.path === "/swap/permit2/price")) {
        return json({ message: "no Route matched with those values" }, 404);
      }
      if ((call.headers.get("0x-api-key") ?? "") === "") {
        return json({ message: "No API key found in request" }, 401);
      }
      if (call.headers.get("0x-version") !== "v2") {
        return invalid([{ field: "0x-version", reason: "Must be v2" }]);
      }
      const read = readRequest(call.query, firm);
      if (!read.ok) return invalid(read.details);

      const rpcUrl = options.rpcUrl();
      if (rpcUrl === null) return json(swapError(500, "There is no chain to quote from"), 500);
      let reads: SwapReads;
      try {
        reads = await readChain(rpcUrl, read.request);
      } catch {
        return json(swapError(500, "The chain cannot be read"), 500);
      }
      const answer = firm
        ? quoteBody(read.request, reads, Math.floor(options.now() / 1_000))
        : priceBody(read.request, reads);
      return json(answer);
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
export function swapError(status: number, message: string): unknown {
  const name = NAMES[status];
  return name === undefined ? { message } : { name, message, data: { zid: newZid() } };
}

function invalid(details: Detail[]): Response {
  const body = { name: "INPUT_INVALID", message: "The input is invalid", data: { zid: newZid(), details } };
  return json(body, 400);
}

/** The whole answer when there is no liquidity. */
function noLiquidity(): unknown {
  return { liquidityAvailable: false, zid: newZid() };
}

function priceBody(request: SwapRequest, reads: SwapReads): unknown {
  const offer = offerOf(request, reads);
  if (offer === null) return noLiquidity();
  return { ...offer.body, gas: String(offer.gas), gasPrice: String(offer.gasPrice) };
}

function quoteBody(request: SwapRequest, reads: SwapReads, now: number): unknown {
  const offer = offerOf(request, reads);
  if (offer === null || request.taker === null) return noLiquidity();
  const permit = { nonce: BigInt(randomHex(32)), deadline: BigInt(now + QUOTE_SECONDS) };
  const slippage = {
    recipient: request.recipient ?? request.taker,
    buyToken: request.buyToken,
    minAmountOut: offer.minBuyAmount,
  };
  const { to, data, value } = transactionOf(request, slippage, permit, offer.body.zid);
  return {
    ...offer.body,
    permit2: offer.needsPermit ? permitOf(request, permit) : null,
    transaction: {
      to: lower(to),
      data,
      gas: String(offer.gas),
      gasPrice: String(offer.gasPrice),
      value: String(value),
    },
  };
}

/** The common part of a price and a quote; `null` without liquidity. */
function offerOf(request: SwapRequest, reads: SwapReads) {
  const { sellToken, buyToken, sellAmount, kind, taker } = request;
  const direct = kind !== "settle";
  const buyAmount = direct ? sellAmount : reads.buyAmount;
  if (buyAmount === 0n) return null;
  const minBuyAmount = direct ? buyAmount : (buyAmount * (1_000_000n - request.slippagePpm)) / 1_000_000n;
  const needsPermit = !direct && !isNative(sellToken);
  const gas = direct ? WRAP_GAS : SETTLE_GAS;
  const gasPrice = request.gasPrice ?? reads.gasPrice;
  const lacksAllowance = needsPermit && reads.allowance < sellAmount;
  const lacksBalance = taker !== null && reads.balance < sellAmount;
  const body = {
    liquidityAvailable: true,
    zid: newZid(),
    blockNumber: String(reads.blockNumber),
    sellToken: lower(sellToken),
    buyToken: lower(buyToken),
    mode: "exact-in",
    sellAmount: String(sellAmount),
    buyAmount: String(buyAmount),
    minBuyAmount: String(minBuyAmount),
    allowanceTarget: needsPermit ? lower(PERMIT2) : null,
    fees: {
      integratorFee: null,
      integratorFees: [],
      zeroExFee: direct ? null : { amount: String(reads.fee), token: lower(buyToken), type: "volume" },
      gasFee: null,
    },
    issues: {
      allowance: lacksAllowance ? { actual: String(reads.allowance), spender: lower(PERMIT2) } : null,
      balance: lacksBalance
        ? { token: lower(sellToken), actual: String(reads.balance), expected: String(sellAmount) }
        : null,
      simulationIncomplete: lacksAllowance || lacksBalance,
      invalidSourcesPassed: [],
    },
    route: {
      fills: [
        {
          from: lower(sellToken),
          to: lower(buyToken),
          source: direct ? "WrappedNative" : "Simulated",
          proportionBps: "10000",
        },
      ],
      tokens: [sellToken, buyToken].map((token) => ({ address: lower(token), symbol: symbolOf(token) })),
    },
    tokenMetadata: { buyToken: NO_TAX, sellToken: NO_TAX },
    totalNetworkFee: String(gas * gasPrice),
  };
  return { body, minBuyAmount, needsPermit, gas, gasPrice };
}

const NO_TAX = { buyTaxBps: "0", sellTaxBps: "0", transferTaxBps: "0" };

type Permit = { nonce: bigint; deadline: bigint };

function transactionOf(
  request: SwapRequest,
  slippage: Slippage,
  permit: Permit,
  zid: Hex,
): { to: Address; data: Hex; value: bigint } {
  const { sellToken, sellAmount, kind } = request;
  if (kind === "wrap") {
    const data = encodeFunctionData({ abi: wethAbi, functionName: "deposit" });
    return { to: TOKENS.WETH, data, value: sellAmount };
  }
  if (kind === "unwrap") {
    const data = encodeFunctionData({ abi: wethAbi, functionName: "withdraw", args: [sellAmount] });
    return { to: TOKENS.WETH, data, value: 0n };
  }
  const native = isNative(sellToken);
  const actions = [native ? nativeCheck(request, permit) : takeByPermit(request, permit), trade(request)];
  const data = settlerCall(slippage, actions, zid, { awaitsSignature: !native });
  return { to: SETTLER, data, value: native ? sellAmount : 0n };
}

function nativeCheck({ sellAmount }: SwapRequest, { deadline }: Permit): Hex {
  return encodeFunctionData({ abi: actionsAbi, functionName: "NATIVE_CHECK", args: [deadline, sellAmount] });
}

/** Takes the sold token into the settler, by the signature that follows. */
function takeByPermit({ sellToken, sellAmount }: SwapRequest, { nonce, deadline }: Permit): Hex {
  const permit = { permitted: { token: sellToken, amount: sellAmount }, nonce, deadline };
  const args = [SETTLER, permit, "0x"] as const;
  const whole = encodeFunctionData({ abi: actionsAbi, functionName: "TRANSFER_FROM", args });
  return sliceHex(whole, 0, 4 + 6 * 32);
}

/** Trades all of the sold token that the settler holds; the amount is filled in when the call is made. */
function trade({ sellToken, buyToken }: SwapRequest): Hex {
  const data = encodeFunctionData({ abi: poolAbi, functionName: "swap", args: [sellToken, 0n, buyToken] });
  const args = [sellToken, 10_000n, POOL, 4n + 32n, data] as const;
  return encodeFunctionData({ abi: actionsAbi, functionName: "BASIC", args });
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

function permitOf({ sellToken, sellAmount }: SwapRequest, { nonce, deadline }: Permit): unknown {
  const domain = { name: "Permit2", chainId: CHAIN_ID, verifyingContract: lower(PERMIT2) };
  const primaryType = "PermitTransferFrom";
  const spender = lower(SETTLER);
  const permitted = { token: lower(sellToken), amount: sellAmount };
  const message = { permitted, spender, nonce, deadline };
  return {
    type: "Permit2",
    hash: hashTypedData({ domain, types: PERMIT_TYPES, primaryType, message }),
    eip712: {
      types: { ...PERMIT_TYPES, EIP712Domain: DOMAIN_TYPE },
      domain,
      message: {
        permitted: { token: permitted.token, amount: String(sellAmount) },
        spender,
        nonce: String(nonce),
        deadline: String(deadline),
      },
      primaryType,
    },
  };
}

function symbolOf(token: Address): string {
  const known = Object.entries({ ...TOKENS, ETH: NATIVE }).find(
    ([, address]) => lower(address) === lower(token),
  );
  return known?.[0] ?? "";
}

function lower(address: Address): Address {
  return `0x${address.slice(2).toLowerCase()}`;
}

function newZid(): Hex {
  return randomHex(12);
}

function randomHex(bytes: number): Hex {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
