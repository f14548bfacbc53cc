import * as z from "zod";
import { iso } from "../../lib/time";
import type { Asked } from "./placing";

/** Orders, rehearsals and transactions as callers see them. */

export const status = z
  .enum(["confirmed", "submitted", "failed"])
  .describe("submitted: signed and sent to the chain, without a receipt yet");

export const explorerUrl = z.string().describe("The transaction on a block explorer");

const digits = z.string();

/** Fields about a question to the owner, in addition to the order's. */
const askedFields = {
  approvalId: z
    .string()
    .optional()
    .describe("While it waits for its owner: follow it with GET /mcp/defi/approval"),
  idempotencyKey: z
    .string()
    .optional()
    .describe("While it waits for its owner: repeat the request with this key for its outcome"),
  expiresAt: z.iso.datetime().optional().describe("Until when the owner can approve it"),
  error: z
    .string()
    .optional()
    .describe("What it waits for; or what is wrong with a swap that was mined and has failed"),
};

/** When an endpoint answers 202. */
export const WAITING =
  "The owner of the `userId` was asked in their chat and has not answered yet, or has approved it just now (`status`). Repeat the request with the `idempotencyKey` that the answer names to get its outcome.";

/** The answer to a caller whose order waits. */
export function waitingBody({ status, approvalId, idempotencyKey, expiresAt }: Asked) {
  const isApproved = status === "approved";
  return {
    success: false,
    status: isApproved ? ("approved" as const) : ("awaiting_approval" as const),
    error: isApproved
      ? "Approved, and on its way: repeat the request with this idempotencyKey for its outcome"
      : "Waiting for your approval in the chat that is linked: approve it there, then repeat the request with this idempotencyKey",
    approvalId,
    idempotencyKey,
    expiresAt: iso(expiresAt),
  };
}

/** Fields that orders and their rehearsals share. */
export const orderFields = {
  success: z
    .boolean()
    .describe(
      "false when the chain took the transaction and it failed there, or brought less than it guaranteed; of a rehearsal: whether the order would be executed",
    ),
  txHash: z.string().optional().describe("Absent only in a rehearsal, and while it waits for its owner"),
  status: z
    .enum(["confirmed", "submitted", "failed", "rehearsed", "awaiting_approval", "approved"])
    .describe(
      "submitted: signed and sent to the chain, without a receipt yet; rehearsed: it was a dry run, and nothing was moved; awaiting_approval: the owner was asked, and nothing was moved; approved: the owner has approved it, and it is on its way",
    ),
  ...askedFields,
  maxFeeEth: digits
    .optional()
    .describe(
      "The most that the network may take for the transaction's gas, in ETH; absent only in a rehearsal",
    ),
  repeated: z
    .literal(true)
    .optional()
    .describe("An earlier request with this idempotency key has done it: this is its outcome"),
  explorerUrl: explorerUrl.optional(),
  rehearsal: z
    .object({
      refusal: z
        .object({ status: z.int(), error: z.string() })
        .nullable()
        .describe("The refusal that the order would get; null if there is none"),
      valueUsd: z.number().nullable().describe("Value of the sent or sold amount; null without a live price"),
      limits: z
        .array(
          z.object({
            about: z.string().describe("Which transfers it counts, in words"),
            mostUsd: z.number(),
            leftUsd: z.number(),
          }),
        )
        .describe("Limits that the order's value would count against, and what is left of them before it"),
      fees: z
        .object({
          transactions: z.int().describe("How many transactions the order needs"),
          gasLimit: digits,
          mostEth: digits.describe("The most that the network may take for all of them, in ETH"),
          ceilingEth: digits.describe("A transaction whose fee could reach more is refused"),
        })
        .nullable()
        .describe("null if the order is refused before its fees are known"),
      approvals: z
        .array(z.object({ spender: z.string(), amount: digits }))
        .optional()
        .describe("The approvals that a swap would need first, one after another"),
      price: z
        .object({
          source: z.literal("chainlink"),
          fromUsd: z.number().nullable(),
          toUsd: z.number().nullable(),
          costBps: z.number().nullable().describe("How much less than the sold amount the quote is worth"),
          mostCostBps: z.number().nullable().describe("The same for the guaranteed minimum"),
          toleratedBps: z.number().describe("A swap above this is refused"),
        })
        .optional()
        .describe("A swap's quote compared with the price feeds, in basis points; null without a live price"),
    })
    .optional()
    .describe("Only in a dry run"),
};
