import { v, type Infer } from "convex/values";
import { CHAIN_ID } from "../lib/money/base";
import { defined } from "../lib/objects";

/** The price of a report, and the reasons for refusing a payment. */

export const PAID_PATH = "/agent/research/paid";
/** USDC's smallest unit. */
export const PRICE = 1_000_000n;
export const PRICE_SHOWN = "1.00";
/** The chain's name in x402 version 1 and in `paymentDetails`, and in version 2. */
export const NETWORK = "base";
export const NETWORK_V2 = `eip155:${CHAIN_ID}`;

/** Machine-readable reasons for a refusal, in the names of the x402 specification where it has one. */
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

/** The refusal of a proof. */
export const vRefusal = v.object({
  kind: v.literal("refused"),
  reason: v.union(...REASONS.map((reason) => v.literal(reason))),
  error: v.string(),
  /** Set where the proof may become valid by itself. */
  retryAfterMs: v.optional(v.number()),
});
export type Refusal = Infer<typeof vRefusal>;

export function buildRefusal(reason: Reason, error: string, retryAfterMs?: number): Refusal {
  return { kind: "refused", reason, error, ...defined({ retryAfterMs }) };
}

export const ALREADY_USED = buildRefusal(
  "payment_already_used",
  "This payment was already used for a report: make a new payment",
);

export const EXPIRED = buildRefusal(
  "invalid_exact_evm_payload_authorization_valid_before",
  "The authorization has expired before it was executed: sign a new one",
);

export const UNPAID_USE = buildRefusal(
  "invalid_exact_evm_nonce_already_used",
  "This authorization was used or cancelled without paying this service: sign a new one",
);
