import * as z from "zod";
import { getOptional, getRequired, getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { toChecksum, CHAIN_ID, USDC } from "../lib/money/base";
import { defined } from "../lib/objects";
import { EXAMPLE_ADDRESS } from "../platform/http/input";
import { NETWORK, NETWORK_V2, PAID_PATH, PRICE, PRICE_SHOWN, REASONS, type Refusal } from "./terms";

/** The 402 with the terms of payment, and the receipt headers of x402. */

const DESCRIPTION = "One market research report";
/** How long a signed authorization should be valid, in seconds. */
const TIMEOUT_SECONDS = 300;

/** Whether the service can execute signed payments. Otherwise transaction hashes are the only proofs. */
export function canSettleAuthorizations(): boolean {
  return (
    getOptional("X402_RELAYER_PRIVATE_KEY") !== undefined || getOptional("X402_FACILITATOR_URL") !== undefined
  );
}

/**
 * Builds the 402 for plain callers and x402 clients of both versions: `paymentDetails` and version 1 in the body, version
 * 2 in the header. Only `error` varies, because clients send the requirements back.
 */
export function buildPaymentRequired(refused?: Partial<Refusal> & { error: string }): AppError {
  const { one, two, resource } = buildRequirements();
  const signable = canSettleAuthorizations();
  const { reason, retryAfterMs, error = UNPAID } = refused ?? {};
  const second = {
    x402Version: 2,
    error: reason ?? "Payment required",
    resource,
    accepts: [two],
    extensions: { bazaar: { info: { input: CALL, output: ANSWER }, schema: CALL_SCHEMA } },
  };
  return new AppError("payment_required", error, {
    body: { ...defined({ reason }), ...buildTerms(one, signable) },
    headers: {
      "Cache-Control": "no-store",
      ...(signable ? { "PAYMENT-REQUIRED": encode(second) } : {}),
      ...(reason === undefined
        ? {}
        : buildOutcomeHeaders({ success: false, errorReason: reason, transaction: "" })),
    },
    ...defined({ retryAfterMs }),
  });
}

/** The request and response schemas for catalogues (x402's bazaar). Short, because clients send them back. */
const CALL = { type: "http", method: "POST", bodyType: "json", body: { token: "BTC" } };
const ANSWER = { type: "json", example: { success: true, token: "BTC" } };
const CALL_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { input: { type: "object", properties: { method: { const: "POST" } } } },
  required: ["input"],
};

const UNPAID = `Payment required: ${PRICE_SHOWN} USDC on Base`;
const DESCRIBED = { description: DESCRIPTION, mimeType: "application/json" };

/** The price and the payee: the 402's body beside `error` and `reason`. */
function buildTerms(one: ReturnType<typeof buildRequirements>["one"], signable: boolean) {
  return {
    paymentDetails: {
      network: NETWORK,
      asset: "USDC",
      address: one.payTo,
      amount: PRICE_SHOWN,
      description: DESCRIPTION,
      chainId: CHAIN_ID,
      assetAddress: USDC,
    },
    ...(signable ? { x402Version: 1, accepts: [one] } : {}),
  };
}

/** The requirements of x402 versions 1 and 2. A facilitator gets these: a client's copy may have been changed. */
export function buildRequirements(url = getSiteUrl() + PAID_PATH, payTo = getPayee()) {
  const common = {
    scheme: "exact",
    asset: USDC,
    payTo,
    maxTimeoutSeconds: TIMEOUT_SECONDS,
    extra: { name: "USD Coin", version: "2" },
  };
  const amount = PRICE.toString();
  const outputSchema = { input: { ...CALL, discoverable: true }, output: ANSWER };
  return {
    one: {
      ...{ ...common, network: NETWORK, maxAmountRequired: amount },
      ...{ resource: url, ...DESCRIBED, outputSchema },
    },
    two: { ...common, network: NETWORK_V2, amount },
    resource: { url, ...DESCRIBED },
  };
}

/** The platform wallet. */
function getPayee(): string {
  const wallet = getRequired("PLATFORM_WALLET_ADDRESS");
  return toChecksum(wallet) ?? wallet;
}

/** Builds the settlement response under the header names of both versions. */
function buildOutcomeHeaders(response: object): Record<string, string> {
  return {
    "PAYMENT-RESPONSE": encode({ ...response, network: NETWORK_V2 }),
    "X-PAYMENT-RESPONSE": encode({ ...response, network: NETWORK }),
    "Cache-Control": "no-store",
  };
}

/** Builds the receipt headers of a payment that was made. */
export function buildPaidHeaders({ txHash: transaction, payer }: { txHash: string; payer: string }) {
  return buildOutcomeHeaders({ success: true, transaction, payer });
}

/** Standard base64 with padding, which clients check. All texts are ASCII. */
function encode(value: object): string {
  return btoa(JSON.stringify(value));
}

/** The 402's fields beside `error`, for the API document. */
const termFields = {
  reason: z.enum(REASONS).optional().describe("Why a proof was refused, for programs"),
  paymentDetails: z.object({
    network: z.literal(NETWORK),
    asset: z.literal("USDC"),
    address: z.string().describe("The platform wallet: send the payment there"),
    amount: z.literal(PRICE_SHOWN).describe("In USDC"),
    description: z.string(),
    chainId: z.literal(CHAIN_ID),
    assetAddress: z.literal(USDC),
  }),
  x402Version: z.literal(1).optional().describe("Left out if signed payments cannot be executed"),
  accepts: z
    .array(z.record(z.string(), z.unknown()))
    .optional()
    .describe("The requirements of x402 version 1, as in the example; version 2 is in the header"),
};

// Linters of the OpenAPI document take the catalogue's part for a schema.
const { one } = buildRequirements(`https://example.convex.site${PAID_PATH}`, EXAMPLE_ADDRESS);
const { outputSchema: _, ...exampleRequirement } = one;
const termsExample = { error: UNPAID, ...buildTerms(one, true), accepts: [exampleRequirement] };

/** Headers of every answer to a verified proof. */
export const RECEIPT_HEADERS = {
  "Cache-Control": "no-store",
  "X-Payment-Response": "The payment's outcome in the form of x402 version 1, in base64.",
  "Payment-Response": "The same for version 2.",
};

/** The 402 and the 404 of GET and POST, for the API document. */
export const NOTHING_TO_SELL = "No source knows the token, and the payment is not used.";
export const PAYMENT_REQUIRED = {
  when: "No proof was sent, or it buys nothing: `reason` says why. If `error` names an unknown token or a malformed body, correct the request before you pay. A GET is always answered with it.",
  body: z.object(termFields),
  headers: {
    "Payment-Required":
      "The payment requirements in the form of x402 version 2, in base64, with the extension bazaar.",
    ...RECEIPT_HEADERS,
    "Retry-After": "Seconds. Sent where the proof may become valid by itself.",
  },
  example: termsExample,
};
