import { checksummed } from "../lib/addresses";
import { optional, required, siteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import {
  CHAIN_ID,
  DESCRIPTION,
  NETWORK,
  NETWORK_V2,
  PAID_PATH,
  PRICE,
  PRICE_SHOWN,
  USDC,
  type Reason,
} from "./terms";

/** What a caller is told about paying: the 402, and the receipt headers of x402. */

/** How long a signed authorization should be valid, in seconds. */
const TIMEOUT_SECONDS = 300;
const RETRY_AFTER_MS = 3_000;
/** Time alone can make these proofs good. */
const WAITABLE: readonly Reason[] = ["payment_not_found", "payment_not_confirmed"];

/** The paid endpoint's own address, as payers and facilitators see it. */
export function paidResource(): string {
  return siteUrl() + PAID_PATH;
}

/** Whether the service can carry out signed payments. Without it only transaction hashes are taken. */
export function settlesAuthorizations(): boolean {
  return optional("X402_RELAYER_PRIVATE_KEY") !== undefined || optional("X402_FACILITATOR_URL") !== undefined;
}

/**
 * The 402 that plain callers and x402 clients of both versions understand: `paymentDetails` and version 1 in the body,
 * version 2 in the header. Constant but for `error`: clients echo the requirements.
 */
export function paymentRequired(refused?: { reason: Reason; error: string }): AppError {
  const resource = paidResource();
  const signable = settlesAuthorizations();
  const common = commonTerms();
  const { payTo } = common;
  const amount = PRICE.toString();
  const second = {
    x402Version: 2,
    error: refused?.reason ?? "Payment required",
    resource: { url: resource, ...DESCRIBED },
    accepts: [{ scheme: "exact", network: NETWORK_V2, amount, ...common }],
  };
  const reason = refused?.reason;
  return new AppError("payment_required", refused?.error ?? `Payment required: ${PRICE_SHOWN} USDC on Base`, {
    body: {
      ...(reason === undefined ? {} : { reason }),
      paymentDetails: {
        network: NETWORK,
        asset: "USDC",
        address: payTo,
        amount: PRICE_SHOWN,
        description: DESCRIPTION,
        chainId: CHAIN_ID,
        assetAddress: USDC,
      },
      ...(signable ? { x402Version: 1, accepts: [requirementOne(resource)] } : {}),
    },
    headers: {
      "Cache-Control": "no-store",
      ...(signable ? { "PAYMENT-REQUIRED": encode(second) } : {}),
      ...(reason === undefined ? {} : receipt({ success: false, errorReason: reason, transaction: "" })),
    },
    ...(reason !== undefined && WAITABLE.includes(reason) ? { retryAfterMs: RETRY_AFTER_MS } : {}),
  });
}

/** What has to be paid, as x402 version 1 says it. */
export function requirementOne(resource: string) {
  const maxAmountRequired = PRICE.toString();
  return { scheme: "exact", network: NETWORK, maxAmountRequired, resource, ...DESCRIBED, ...commonTerms() };
}

const DESCRIBED = { description: DESCRIPTION, mimeType: "application/json" };

function commonTerms() {
  const platformWallet = required("PLATFORM_WALLET_ADDRESS");
  return {
    asset: USDC,
    payTo: checksummed(platformWallet) ?? platformWallet,
    maxTimeoutSeconds: TIMEOUT_SECONDS,
    extra: { name: "USD Coin", version: "2" },
  };
}

type Receipt =
  | { success: true; transaction: string; payer: string }
  | { success: false; errorReason: Reason; transaction: "" };

/** The outcome of a payment, under the names of both versions. */
export function receipt(outcome: Receipt): Record<string, string> {
  return {
    "PAYMENT-RESPONSE": encode({ ...outcome, network: NETWORK_V2 }),
    "X-PAYMENT-RESPONSE": encode({ ...outcome, network: NETWORK }),
    "Cache-Control": "no-store",
  };
}

/** Standard base64 with padding; clients test for it. All texts are ASCII. */
function encode(value: object): string {
  return btoa(JSON.stringify(value));
}
