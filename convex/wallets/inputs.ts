import * as z from "zod";
import { checksummed } from "../lib/money/addresses";
import { absentWhenEmpty, symbolOf } from "../lib/http/input";
import { parseUnits } from "../lib/money/amounts";
import { recipientProblem } from "./recipients";
import { SYMBOLS } from "./tokens";

/** Input shapes of endpoints that move money. Messages complete the sentence "<field> …". */

export const swapToken = symbolOf(SYMBOLS, `must be one of ${SYMBOLS.join(", ")}`).describe(
  "One of the five tokens, in any case.",
);

/** Digits in the token's smallest unit. */
export const amount = z
  .string("must be a string of digits in the token's smallest unit")
  .trim()
  .refine((value) => !value.includes("."), "must be in the token's smallest unit, without a decimal point")
  .refine(
    (value) => value.includes(".") || /^[1-9]\d*$/.test(value),
    "must be a positive whole number of digits",
  )
  .refine(
    (value) => !/^[1-9]\d*$/.test(value) || parseUnits(value) !== null,
    "must be at most 2^256 - 1, the largest amount that a token can have",
  )
  .meta({
    description:
      "Whole number in the token's smallest unit (wei for ETH): 1 USDC is 1000000, 1 ETH is 1000000000000000000. At most 2^256 - 1.",
    pattern: "^[1-9][0-9]{0,77}$",
  });

/** A recipient: checksummed, or all in one case; never the zero address, a precompile or a well-known contract. */
export const addressInput = z
  .string("must be a string")
  .trim()
  .superRefine((value, ctx) => {
    const problem = recipientProblem(value);
    if (problem !== null) ctx.addIssue({ code: "custom", message: problem });
  })
  .transform((value) => checksummed(value) ?? value)
  .meta({
    description:
      "Recipient: checksummed correctly, or all in one case; neither the zero address or one for burning tokens, nor a token's or another well-known contract, nor a precompile.",
    pattern: "^0x[0-9a-fA-F]{40}$",
  });

export const slippageBps = z
  .preprocess((value) => {
    if (value === null || value === "") return undefined;
    return typeof value === "string" && /^\d{1,6}$/.test(value.trim()) ? Number(value) : value;
  }, z.number("must be basis points, 0 to 1000").int("must be whole basis points").min(0, "must be 0 to 1000 basis points").max(1_000, "must be 0 to 1000 basis points").default(100))
  .meta({
    description:
      "Largest accepted shortfall in basis points (bps); 100 is 1 %; at most 1000. 100 when left out.",
  });

export const acceptUnpriced = absentWhenEmpty(z.boolean("must be true or false"))
  .transform((value) => value ?? false)
  .describe(
    "Swap even when no price feed can say whether the quote is a fair one; otherwise such a swap is refused.",
  );

/** An empty text does not count as absent here: the client may have meant yes. */
export const dryRun = z
  .boolean("must be true or false")
  .optional()
  .transform((value) => value ?? false)
  .describe(
    "A rehearsal: returns what the order would do, what it would cost and whether it would be refused; signs, stores and moves nothing.",
  );

export const txHash = z
  .string("must be a string")
  .trim()
  .regex(/^0[xX][0-9a-fA-F]{64}$/, "must be a transaction hash: 0x and 64 hex digits")
  .toLowerCase()
  .describe("Transaction hash: 0x and 64 hex digits.");

export const walletChoice = absentWhenEmpty(z.enum(["custody", "basic"], "must be custody or basic"))
  .transform((value): "custody" | "basic" => value ?? "custody")
  .describe("Which of the user's wallets pays.");
