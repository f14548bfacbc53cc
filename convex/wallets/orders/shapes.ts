import * as z from "zod";
import { askedFields } from "./question";

/** What callers see of orders, their rehearsals and transactions. */

export const status = z
  .enum(["confirmed", "submitted", "failed"])
  .describe("submitted: signed and handed to the chain, its receipt is still to come");

export const explorerUrl = z.string().describe("The transaction on a block explorer");

const digits = z.string();

/** What orders and their rehearsals answer alike. */
export const orderFields = {
  success: z
    .boolean()
    .describe(
      "false when the chain took the transaction and it failed there, or brought less than it guaranteed; of a rehearsal: whether the order would be carried out",
    ),
  txHash: z.string().optional().describe("Always, but in a rehearsal, and while it waits for its owner"),
  status: z
    .enum(["confirmed", "submitted", "failed", "rehearsed", "awaiting_approval", "approved"])
    .describe(
      "submitted: signed and handed to the chain, its receipt is still to come; rehearsed: it was a dry run, and nothing was moved; awaiting_approval: the owner was asked, and nothing was moved; approved: the owner has approved it, and it is on its way",
    ),
  ...askedFields,
  maxFeeEth: digits
    .optional()
    .describe(
      "What the network may take at most for the transaction's gas, in ETH; always, but in a rehearsal",
    ),
  explorerUrl: explorerUrl.optional(),
  rehearsal: z
    .object({
      refusal: z
        .object({ status: z.int(), error: z.string() })
        .nullable()
        .describe("What the order would be answered; null where nothing speaks against it"),
      valueUsd: z.number().nullable().describe("What is sent or sold is worth; null without a live price"),
      limits: z
        .array(
          z.object({
            of: z.enum(["transfer", "day"]),
            whose: z.enum(["userId", "address"]).describe("By whom it is counted: `address` is the caller's"),
            about: z.string().describe("Of which transfers it is, in words"),
            mostUsd: z.number(),
            leftUsd: z.number(),
          }),
        )
        .describe("Limits that the order's value would count against, and what is left of them before it"),
      fees: z
        .object({
          transactions: z.int().describe("How many transactions the order takes"),
          gasLimit: digits,
          maxFeePerGas: digits.describe("Wei"),
          l1Fee: digits.describe("The present fee for L1 data, in wei"),
          mostEth: digits.describe("What the network may take at most for all of it, in ETH"),
          ceilingGas: digits.describe("A transaction of this kind that takes more is refused"),
          ceilingEth: digits.describe("A transaction whose fee could reach more is refused"),
        })
        .nullable()
        .describe("null where the order is refused before its fees are known"),
      approvals: z
        .array(z.object({ spender: z.string(), amount: digits }))
        .optional()
        .describe("What a swap would have approved first, one after another"),
      price: z
        .object({
          source: z.literal("chainlink"),
          fromUsd: z.number().nullable(),
          toUsd: z.number().nullable(),
          costBps: z.number().nullable().describe("How much less than what is sold the quote is worth"),
          mostCostBps: z.number().nullable().describe("The same of what is guaranteed"),
          toleratedBps: z.number().describe("Beyond this a swap is refused"),
        })
        .optional()
        .describe("A swap's quote beside the price feeds, in basis points; null without a live price"),
    })
    .optional()
    .describe("Of a dry run alone"),
};
