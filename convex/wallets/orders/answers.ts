import * as z from "zod";
import { AppError, isErrorCode, STATUS } from "../../lib/errors";
import { formatUnits, roundUnits, toUsd } from "../../lib/money/amounts";
import { defined } from "../../lib/objects";
import { formatUsd } from "../../lib/text/numbers";
import { REPLAYED } from "../../platform/http/input";
import { markPaper, walletNotes } from "../inputs";
import { formatFee, formatTokenAmount, linkTo, NOT_SENT, roundUp, toPublicStatus } from "../model";
import type { UserRequest } from "../tables";
import { WALLET_TOKENS } from "../tokens";
import { getCallersKey, type Order } from "./model";
import type { Rehearsal } from "./estimates";

/** Response bodies of orders over HTTP, and how an order or a rehearsal fills them. */

export const orderFields = {
  success: z
    .boolean()
    .describe("false when it failed on the chain, or brought less than guaranteed, or would be refused"),
  txHash: z.string().optional().describe("Absent only in a rehearsal, and while it waits for its owner"),
  status: z
    .enum(["confirmed", "submitted", "failed", "rehearsed", "awaiting_approval"])
    .describe(
      "submitted: sent to the chain, without a receipt yet; rehearsed: a dry run, nothing was moved; awaiting_approval: the owner was asked, nothing was moved yet",
    ),
  error: z.string().optional().describe("What it waits for, or what is wrong with its result"),
  approvalId: z.string().optional().describe("While it waits for its owner"),
  idempotencyKey: z.string().optional().describe("While it waits: repeat the request with it"),
  repeated: z
    .literal(true)
    .optional()
    .describe(
      "An earlier request has done it, with this idempotency key or as the same order: this is its outcome",
    ),
  repeatedNote: z.string().optional().describe("To a tool's repeat without a key: how to order once more"),
  explorerUrl: z.string().optional().describe("The transaction on a block explorer"),
  rehearsal: z
    .object({
      summary: z
        .string()
        .describe("All of it in words: what it brings and costs, what is left, what is missing"),
      refusal: z
        .object({ status: z.int(), error: z.string() })
        .nullable()
        .describe("The refusal that the order would get; null if there is none"),
      valueUsd: z.number().nullable().describe("Value of the sent or sold amount; null without a live price"),
      feeEth: z.string().nullable().describe("The network fees at their current price; null if not known"),
      feeUsd: z.number().nullable().describe("The same in USD; null without a live price"),
      mostFeeEth: z.string().nullable().describe("The ceiling of the network fees, should they rise"),
      costBps: z
        .number()
        .nullable()
        .describe(
          "How much less than the sold amount the quoted one is worth by the price feeds, in basis points; the guaranteed minimum is lower by the slippage",
        ),
      leftUsd: z.number().describe("USD left of the narrowest limit that it counts against, before it"),
    })
    .optional()
    .describe("Only in a dry run"),
  ...walletNotes,
};

/** The answer to an order that failed before a signature: it says so, and frees the idempotency key. */
export const buildEndedFailure = (when: string) => ({ when, headers: REPLAYED, body: NOTHING_MOVED });
const NOTHING_MOVED = z.object({
  gasUsdc: z
    .string()
    .optional()
    .describe("The USDC, in its smallest unit, that /mcp/defi/gas takes for enough ETH"),
  nothingMoved: z.literal(true).optional().describe("Nothing was signed; the idempotency key is free again"),
  approvalTxHash: z.string().optional().describe("The swap's approval, which is mined: its fee was spent"),
});

const WAITS =
  "Waiting for the owner's approval in the linked chat; once approved it goes on by itself: repeat the request with this idempotencyKey for its outcome";

/**
 * An order's public view.
 * @throws AppError with the failure of an order that ended before a signature. Its idempotency key is free again,
 * unless the order was put to its owner.
 */
export function buildOrderAnswer(row: Order, isRepeat: boolean) {
  const { txHash, terms, bought, approvalTxHash, error, errorCode = "internal" } = row;
  // The relayer has not signed its half yet.
  if (txHash === undefined && row.state === "signed") return { success: true, status: "submitted" as const };
  if (txHash === undefined && row.state !== "failed") {
    const waits = { approvalId: row._id, idempotencyKey: getCallersKey(row) };
    const base = { ...waits, ...markPaper(row.paper === true) };
    return { success: false, status: "awaiting_approval" as const, error: WAITS, ...base };
  }
  if (txHash === undefined) {
    const headers: Record<string, string> = isRepeat ? { "Idempotent-Replayed": "true" } : {};
    // A rejected question keeps its idempotency key.
    const free = row.idempotencyKey === undefined ? { nothingMoved: true } : {};
    const body: Record<string, boolean | string> = approvalTxHash === undefined ? free : { approvalTxHash };
    throw new AppError(isErrorCode(errorCode) ? errorCode : "internal", error ?? NOT_SENT, { headers, body });
  }
  return {
    success: error === undefined,
    txHash,
    status: toPublicStatus(row),
    ...{ ...linkTo(txHash), ...markPaper(row.paper === true) },
    ...(isRepeat ? { repeated: true as const } : {}),
    ...{ ...terms, ...defined({ error, approvalTxHash, buyAmount: bought ?? terms?.buyAmount }) },
  };
}

const WOULD_ASK = "The owner would be asked in the linked chat, and nothing moves before they approve";

/** The public view of a rehearsal. */
export function toRehearsalView(request: UserRequest, rehearsed: Omit<Rehearsal, "unitWarning" | "request">) {
  const { refusal, isAsked, leftUsd, value, quote, etherPrice } = rehearsed;
  const refused = refusal === null ? null : { status: STATUS[refusal.code], error: refusal.message };
  const feeUsd = quote === null ? null : toUsd((quote.usualFee * BigInt(etherPrice)) / 10n ** 18n);
  const facts = {
    refusal: refused ?? (isAsked ? { status: 202, error: WOULD_ASK } : null),
    valueUsd: value === undefined ? null : toUsd(BigInt(value)),
    feeEth: quote === null ? null : formatUnits(quote.usualFee, 18),
    feeUsd: etherPrice === "0" ? null : feeUsd,
    mostFeeEth: quote === null ? null : formatUnits(quote.feesInAll, 18),
    costBps: quote?.usualCostBps ?? null,
    leftUsd,
  };
  const rehearsal = { summary: summarize(request, rehearsed, facts.refusal?.error), ...facts };
  return {
    success: facts.refusal === null,
    status: "rehearsed" as const,
    rehearsal,
    ...quote?.terms,
    ...markPaper(rehearsed.paper === true),
  };
}

function summarize(
  request: UserRequest,
  { value, quote, etherPrice, leftUsd }: Omit<Rehearsal, "unitWarning" | "request">,
  missing: string | undefined,
): string {
  const worth = value === undefined ? "" : ` (${formatUsd(toUsd(BigInt(value)))} USD)`;
  const fee = (wei: bigint) => formatFee(roundUp(wei), BigInt(etherPrice));
  const fees =
    quote === null
      ? "its network fees are not known"
      : `network fees are about ${fee(quote.usualFee)}, at most ${fee(quote.feesInAll)}`;
  const left = `${formatUsd(leftUsd)} USD of its limit in 24 hours are left before it`;
  return `${describeTerms(request, quote, worth)}; ${fees}; ${left}.${missing === undefined ? "" : ` It would be refused: ${missing}.`}`;
}

function describeTerms(request: UserRequest, quote: Rehearsal["quote"], worth: string): string {
  if (request.kind === "send")
    return `${formatTokenAmount(request.amount, request.token)}${worth} would go to ${request.toAddress}`;
  if (request.kind === "gas") return "USDC would buy ETH for network fees";
  const sold = `${formatTokenAmount(request.amount, request.fromToken)}${worth}`;
  if (quote?.terms === undefined) return `There is no quote for ${sold} to ${request.toToken} now`;
  const { buyAmount, minBuyAmount } = quote.terms;
  const { decimals } = WALLET_TOKENS[request.toToken];
  const [bought, least] = [buyAmount, minBuyAmount].map(
    (one) => `${roundUnits(BigInt(one), decimals, 6)} ${request.toToken}`,
  );
  const cost = quote.usualCostBps;
  const beside =
    cost === null
      ? ""
      : ` (${(Math.abs(cost) / 100).toFixed(2)} % ${cost < 0 ? "above" : "below"} the price feeds)`;
  return `${sold} would buy about ${bought}${beside}, at least ${least}`;
}
