import * as z from "zod";
import type { Call } from "../platform/http/endpoint";
import { toChecksum } from "../lib/money/base";
import { optionalUnlessBlank, oneOfSymbols, wholeNumberWithDefault } from "../platform/http/input";
import { AppError } from "../lib/errors";
import { parseUnits } from "../lib/money/amounts";
import { findRecipientProblem, findToken, SYMBOLS, type Symbol, formatSize, parseSize } from "./tokens";
import { isGuessableId } from "../identity/model";

/** Input schemas of endpoints that show or move money. Messages complete the sentence "<field> …". */

export const swapToken = oneOfSymbols(
  SYMBOLS,
  `must be one of ${SYMBOLS.join(", ")}`,
  (written) => findToken(written) ?? written,
).describe("One of the six tokens, in any case; BTC means CBBTC (cbBTC).");

const AMOUNT =
  "must be a whole number of digits in the token's smallest unit, without a decimal point, at most 2^256 - 1";

/** An amount: digits in the token's smallest unit. */
const amount = z
  .string(AMOUNT)
  .trim()
  .refine((digits) => parseUnits(digits) !== null, AMOUNT)
  .meta({
    description:
      "Whole number in the token's smallest unit (wei for ETH): 1 USDC is 1000000. At most 2^256 - 1.",
    pattern: "^[1-9][0-9]{0,77}$",
  });

export const optionalAmount = optionalUnlessBlank(amount);

/** The amount as people say it, instead of `amount`. */
export const size = optionalUnlessBlank(
  z.string('must be text, such as "25", "$20" or "50%"').trim().max(60, "must be at most 60 characters"),
).describe(
  'Instead of `amount`: "25" whole tokens, "$20", "50%", "half" or "all" (of ETH, without two fees).',
);

/**
 * The amount fields of a request; a size has none before it is resolved.
 * @throws AppError `invalid_request` unless there is exactly one of `amount` and `size`, and a size that can be read
 */
export function readSize(
  { amount, size }: { amount?: string | undefined; size?: string | undefined },
  token: Symbol,
): { amount: string; size?: string } {
  const refuse = (message: string) => new AppError("invalid_request", message);
  if (size === undefined) {
    if (amount === undefined) throw refuse("amount is required, or size instead of it");
    return { amount };
  }
  if (amount !== undefined) throw refuse("size must be left out where amount is given");
  const parsed = parseSize(size, token);
  if (typeof parsed === "string") throw refuse(`size ${parsed}`);
  if (parsed.kind === "worth" && parsed.unit !== token && parsed.unit !== "USD")
    throw refuse(`size counts ${token}, which leaves the wallet: say it in ${token}, in $ or as a part`);
  return { amount: "0", size: formatSize(parsed, token) };
}

/** A recipient: checksummed, or all in one case; never the zero address, a precompile or a well-known contract. */
export const addressInput = z
  .string("must be a string")
  .trim()
  .superRefine((value, ctx) => {
    const message = findRecipientProblem(value);
    if (message !== null) ctx.addIssue({ code: "custom", message });
  })
  .transform((value) => toChecksum(value) ?? value)
  .meta({
    description:
      "Recipient: checksummed correctly, or all in one case; neither the zero address or one for burning tokens, nor a token's or another well-known contract, nor a precompile.",
    pattern: "^0x[0-9a-fA-F]{40}$",
  });

export const slippageBps = wholeNumberWithDefault(100, 0, 1_000).describe(
  "Largest accepted shortfall in basis points (bps); 100 is 1 %; at most 1000. 100 when left out.",
);

const YES_OR_NO = String.raw`^\s*(?:[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])\s*$`;
const readYesOrNo = (value: unknown): unknown => {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  return word === "true" || word === "false" ? word === "true" : value;
};
const accepts = () => ({ anyOf: [{ type: "boolean" }, { type: "string", pattern: YES_OR_NO }] });
const yes = z.boolean("must be true or false");
/** A boolean, also as text. Empty text does not count as absent: the client may have meant true. */
const yesOrNo = z.preprocess(readYesOrNo, yes.default(false)).meta({ accepts });
export const optionalYesOrNo = z.preprocess(readYesOrNo, yes.optional()).meta({ accepts });

export const acceptUnpriced = yesOrNo.describe(
  "Swap even when no price feed can say whether the quote is a fair one; otherwise such a swap is refused.",
);

export const dryRun = yesOrNo.describe(
  "A rehearsal: returns what the order would do, what it would cost and whether it would be refused; signs, stores and moves nothing.",
);

export const txHash = z
  .string("must be a string")
  .trim()
  .regex(/^0[xX][0-9a-fA-F]{64}$/, "must be a transaction hash: 0x and 64 hex digits")
  .toLowerCase()
  .describe("Transaction hash: 0x and 64 hex digits.");

export const walletChoice = optionalUnlessBlank(z.enum(["custody", "basic"], "must be custody or basic"))
  .transform((value): "custody" | "basic" => value ?? "custody")
  .describe("Which of the user's wallets pays.");

/** The header by which tool layers mark their calls. */
export const TOOL_CALL = {
  "Tool-Call":
    "`true` of a layer that calls for a model, which may repeat what it got no answer to: an order without an idempotency key finds the one of the same credential and terms of the last ten minutes, unless that has failed; and an amount worth less than a cent is refused where the wallet holds that amount of whole tokens.",
};

export function asksAsTool({ headers }: Pick<Call, "headers">): boolean {
  return headers.get("tool-call") === "true";
}

/** Fields of answers about a wallet: of an account on paper, and of a short, ownerless `userId`. */
export const walletNotes = {
  paper: z.literal(true).optional().describe("There only on paper, where nothing real moves"),
  warning: z
    .string()
    .optional()
    .describe(
      "A warning: the userId is short and has no owner, or the amount looks as if meant in whole tokens",
    ),
};

/** The mark of an answer on paper. */
export function markPaper(isOnPaper: boolean): { paper?: true } {
  return isOnPaper ? { paper: true } : {};
}

const WARNING =
  "This userId is short, so somebody may guess it, and whoever knows it controls the wallet: own it by the ownerUrl that /mcp/defi/connect answers, or use a long random one.";

/** The warning of an answer; no field without one. @param further Another warning, without its full stop. */
export function buildWarning(
  { requestedId, caller }: Pick<Call, "requestedId" | "caller">,
  further: string | null = null,
): { warning?: string } {
  const isFree = caller.credential === undefined || caller.credential === "unclaimed";
  const isWeak = requestedId !== undefined && isFree && isGuessableId(requestedId);
  const warnings = [...(further === null ? [] : [`${further}.`]), ...(isWeak ? [WARNING] : [])];
  return warnings.length === 0 ? {} : { warning: warnings.join(" ") };
}
