import * as z from "zod";
import { EXAMPLE_ADDRESS, EXAMPLE_TX } from "../lib/http/described";
import { absentWhenEmpty, numberFrom } from "../lib/http/input";
import { ALERT_TYPES, DIRECTIONS } from "./coins";

/** The parts of alerts. */

const end = z.object({
  address: z.string().describe("In lower case"),
  label: z
    .object({ exchange: z.string(), source: z.string().describe("The source of the label") })
    .optional()
    .describe("The owner of the address; absent without a label"),
});

/** What the service itself has read about a movement on Base. */
export const movement = z.object({
  from: end,
  to: end,
  quantity: z.string().describe("In the coin's smallest unit"),
  position: z
    .int()
    .describe(
      "Index of its log in the transaction, from 0; -1 for ether that the transaction itself carried",
    ),
  blockNumber: z.int(),
  blockHash: z.string(),
  price: z
    .object({ usd: z.number(), source: z.string(), observedAt: z.number().describe("Epoch milliseconds") })
    .describe("The price that it was valued with"),
});

/** An alert as callers see it. */
export const publicAlertShape = z.object({
  token: z.string(),
  alertType: z.enum(ALERT_TYPES),
  amount: z.number().positive().describe("USD"),
  direction: z.enum(DIRECTIONS),
  description: z.string(),
  source: z
    .enum(["measured", "agent-reported"])
    .describe("Measured: the service read it on Base itself. Agent-reported: a language model says so."),
  chain: z.string().optional().describe("Such as base or ethereum; absent if the agent named none"),
  occurredAt: z
    .number()
    .optional()
    .describe("Epoch milliseconds: when it moved; a measured one's block time"),
  detectedAt: z.number().describe("Epoch milliseconds: when the service learnt of it"),
  messengerSent: z.boolean().describe("The hourly card with this alert was delivered."),
  txHash: z.string().optional(),
  verified: z
    .boolean()
    .describe(
      "The service has read the transaction on Base: it succeeded, when the alert says, and moved the token and the amount that the alert names.",
    ),
  movement: movement.optional().describe("For a measured alert: what was read about it"),
});
export type PublicAlert = z.output<typeof publicAlertShape>;

const [MIN_HOURS, MAX_HOURS] = [0.1, 168];

/** The window of whale alerts. */
export const hours = absentWhenEmpty(numberFrom(MIN_HOURS, MAX_HOURS))
  .transform((given) => given ?? 6)
  .describe(`How many hours to look back, ${MIN_HOURS} to ${MAX_HOURS}, such as 6 or 0.5; 6 when left out.`);

export const measuredExample: PublicAlert = {
  token: "USDC",
  alertType: "cex_inflow",
  amount: 4_200_420,
  direction: "neutral",
  description: "4,200,000 USDC moved from 0x7099…79c8 to Binance.",
  source: "measured",
  chain: "base",
  occurredAt: 1_767_605_371_000,
  detectedAt: 1_767_605_400_000,
  messengerSent: true,
  txHash: EXAMPLE_TX,
  verified: true,
  movement: {
    from: { address: EXAMPLE_ADDRESS.toLowerCase() },
    to: { address: "0x3304e22ddaa22bcdc5fca2269b418046ae7b566a" },
    quantity: "4200000000000",
    position: 0,
    blockNumber: 40_412_812,
    blockHash: `0x${"4b".repeat(32)}`,
    price: { usd: 1.0001, source: "chainlink", observedAt: 1_767_600_000_000 },
  },
};
