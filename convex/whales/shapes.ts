import * as z from "zod";

export const ALERT_TYPES = ["cex_inflow", "cex_outflow", "large_transfer", "smart_money"] as const;
export const DIRECTIONS = ["bullish", "bearish", "neutral"] as const;

const end = z.object({
  address: z.string().describe("In lower case"),
  label: z
    .object({ exchange: z.string(), source: z.string().describe("Where the label was learnt") })
    .optional()
    .describe("Whose address it is; absent for one that the service has no label for"),
});

/** What the service itself has read of a movement on Base. */
export const movement = z.object({
  from: end,
  to: end,
  quantity: z.string().describe("In the coin's smallest unit"),
  position: z
    .int()
    .describe("Of its log among the transaction's, from 0; -1 for ether that the transaction itself carried"),
  blockNumber: z.int(),
  blockHash: z.string(),
  price: z
    .object({ usd: z.number(), source: z.string(), observedAt: z.number().describe("Epoch milliseconds") })
    .describe("What it was valued with"),
});
