import { isAddressEqual, maxUint256, type Address } from "viem";
import * as z from "zod";
import { CHAIN_ID, NATIVE, TOKENS } from "../../chain/addresses";

/** Part of the swap stand-in: requests for a price or quote. */

export type SwapRequest = {
  sellToken: Address;
  buyToken: Address;
  sellAmount: bigint;
  taker: Address | null;
  recipient: Address | null;
  /** The loss that the buyer accepts, in parts per million. */
  slippagePpm: bigint;
  /** Wei; `null` for the chain's own. */
  gasPrice: bigint | null;
  /** How the swap is done: through the settler, or by the wrapped token itself. */
  kind: "settle" | "wrap" | "unwrap";
};

/** A refused field of the query, and the reason. */
export type Detail = { field: string; reason: string };

export type ReadRequest = { ok: true; request: SwapRequest } | { ok: false; details: Detail[] };

/** The zero address stands for no token. */
const addressShape = z
  .string("Required")
  .regex(/^0x(?!0{40})[a-fA-F0-9]{40}$/, "Invalid ethereum address")
  .transform((text): Address => `0x${text.slice(2).toLowerCase()}`);

const amountShape = z
  .string("Required")
  .regex(/^\d{1,78}$/, "Must be a whole number in base units")
  .transform(BigInt)
  .refine((amount) => amount <= maxUint256, "Too large");

const shareShape = (whole: number) =>
  z
    .string()
    .regex(/^\d{1,7}$/, "Must be a whole number")
    .transform(Number)
    .refine((share) => share <= whole, `Must be at most ${whole}`);

/** Fields that would change the outcome, and that this stand-in does not support. */
const NOT_SIMULATED = [
  "buyAmount",
  "swapFeeRecipient",
  "swapFeeBps",
  "swapFeeToken",
  "tradeSurplusRecipient",
  "tradeSurplusMaxBps",
] as const;

const queryShape = z.object({
  chainId: z.literal(String(CHAIN_ID), "The stand-in has chain 8453 only"),
  sellToken: addressShape,
  buyToken: addressShape,
  sellAmount: amountShape,
  taker: addressShape.optional(),
  recipient: addressShape.optional(),
  slippageBps: shareShape(10_000).optional(),
  slippagePpm: shareShape(1_000_000).optional(),
  gasPrice: amountShape.optional(),
  sellEntireBalance: z.literal("false", "Not simulated").optional(),
  wrapUnwrapMode: z.literal("direct", "Not simulated").optional(),
});

const DEFAULT_SLIPPAGE_BPS = 100;

/** @param firm Whether it is a firm quote, which needs a taker. */
export function readRequest(parameters: URLSearchParams, firm: boolean): ReadRequest {
  const parsed = queryShape.safeParse(Object.fromEntries(parameters));
  const details: Detail[] = parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => ({ field: path.join("."), reason: message }));
  for (const field of NOT_SIMULATED) {
    if (parameters.has(field)) details.push({ field, reason: "Not simulated" });
  }
  if (firm && !parameters.has("taker")) details.push({ field: "taker", reason: "Required" });
  if (parameters.has("slippageBps") && parameters.has("slippagePpm")) {
    details.push({ field: "slippagePpm", reason: "Give slippageBps or slippagePpm, not both" });
  }
  if (!parsed.success) return { ok: false, details };

  const { sellToken, buyToken, taker = null, recipient = null, slippageBps, slippagePpm } = parsed.data;
  const kind = kindOf(sellToken, buyToken);
  if (isAddressEqual(sellToken, buyToken)) {
    details.push({ field: "buyToken", reason: "sellToken and buyToken are the same" });
  }
  if (kind !== "settle" && recipient !== null) {
    details.push({ field: "recipient", reason: "Not supported for wrap and unwrap" });
  }
  if (details.length > 0) return { ok: false, details };
  return {
    ok: true,
    request: {
      sellToken,
      buyToken,
      sellAmount: parsed.data.sellAmount,
      taker,
      recipient,
      slippagePpm: BigInt(slippagePpm ?? (slippageBps ?? DEFAULT_SLIPPAGE_BPS) * 100),
      gasPrice: parsed.data.gasPrice ?? null,
      kind,
    },
  };
}

export function isNative(token: Address): boolean {
  return isAddressEqual(token, NATIVE);
}

function kindOf(sellToken: Address, buyToken: Address): SwapRequest["kind"] {
  if (isNative(sellToken) && isAddressEqual(buyToken, TOKENS.WETH)) return "wrap";
  if (isNative(buyToken) && isAddressEqual(sellToken, TOKENS.WETH)) return "unwrap";
  return "settle";
}
