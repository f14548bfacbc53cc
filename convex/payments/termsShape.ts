import * as z from "zod";
import { EXAMPLE_ADDRESS } from "../lib/examples";
import { CHAIN_ID, DESCRIPTION, NETWORK, PAID_PATH, PRICE, PRICE_SHOWN, REASONS, USDC } from "./terms";

/** The shape of the 402 that `challenge.ts` makes, for the API document. */

const requirement = z.object({
  scheme: z.literal("exact"),
  network: z.literal(NETWORK),
  maxAmountRequired: z.string().describe("In USDC's smallest unit: 1 USDC is 1000000"),
  resource: z.url().describe("This endpoint's own address"),
  description: z.string(),
  mimeType: z.string(),
  asset: z.string().describe("USDC's contract"),
  payTo: z.string().describe("The platform wallet"),
  maxTimeoutSeconds: z.int(),
  extra: z.object({ name: z.string(), version: z.string() }).describe("USDC's EIP-712 domain"),
});

/** Its body's fields beside `error`. */
export const paymentTerms = {
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
  x402Version: z.literal(1).optional().describe("Left out where signed payments cannot be carried out"),
  accepts: z.array(requirement).optional().describe("x402 version 1; version 2 is in the header"),
};

export const termsExample = {
  error: `Payment required: ${PRICE_SHOWN} USDC on Base`,
  paymentDetails: {
    network: NETWORK,
    asset: "USDC",
    address: EXAMPLE_ADDRESS,
    amount: PRICE_SHOWN,
    description: DESCRIPTION,
    chainId: CHAIN_ID,
    assetAddress: USDC,
  },
  x402Version: 1,
  accepts: [
    {
      scheme: "exact",
      network: NETWORK,
      maxAmountRequired: PRICE.toString(),
      resource: `https://example.convex.site${PAID_PATH}`,
      description: DESCRIPTION,
      mimeType: "application/json",
      asset: USDC,
      payTo: EXAMPLE_ADDRESS,
      maxTimeoutSeconds: 300,
      extra: { name: "USD Coin", version: "2" },
    },
  ],
};

/** Sent with every answer to a proof that was looked at. */
export const RECEIPT_HEADERS = {
  "Cache-Control": "no-store",
  "X-Payment-Response": "The payment's outcome as x402 version 1 says it, in base64.",
  "Payment-Response": "The same for version 2.",
};
