import { v, type Infer } from "convex/values";
import { CHAIN_ID } from "../lib/money/base";

/** What a paid report costs and how it is paid. */

export const PAID_PATH = "/agent/research/paid";
/** USDC's smallest unit. */
export const PRICE = 1_000_000n;
export const PRICE_SHOWN = "1.00";
/** The chain's name in x402 version 1 and in `paymentDetails`, and in version 2. */
export const NETWORK = "base";
export const NETWORK_V2 = `eip155:${CHAIN_ID}`;

/** Why a proof was refused: for programs, beside the sentence for people. x402's clients understand its names. */
export const REASONS = [
  "invalid_payload",
  "unsupported_scheme",
  "invalid_network",
  "invalid_exact_evm_payload_signature",
  "invalid_exact_evm_payload_recipient_mismatch",
  "invalid_exact_evm_payload_authorization_value",
  "invalid_exact_evm_payload_authorization_valid_after",
  "invalid_exact_evm_payload_authorization_valid_before",
  "insufficient_funds",
  "invalid_exact_evm_nonce_already_used",
  "payment_not_found",
  "transaction_failed",
  "no_matching_transfer",
  "payment_expired",
  "payment_already_used",
  "invalid_payer_signature",
] as const;
export type Reason = (typeof REASONS)[number];

/** A proof that buys nothing, and why. */
export const vRefusal = v.object({
  kind: v.literal("refused"),
  reason: v.union(...REASONS.map((reason) => v.literal(reason))),
  error: v.string(),
  /** If time alone can make the proof valid. */
  retryAfterMs: v.optional(v.number()),
});
export type Refusal = Infer<typeof vRefusal>;

export function buildRefusal(reason: Reason, error: string, retryAfterMs?: number): Refusal {
  return { kind: "refused", reason, error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

export const ALREADY_USED = buildRefusal("payment_already_used", "This payment has already bought something");

export const UNPAID_USE = buildRefusal(
  "invalid_exact_evm_nonce_already_used",
  "This authorization was used or cancelled, and has not paid this service",
);
