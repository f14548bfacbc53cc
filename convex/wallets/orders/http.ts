import * as z from "zod";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_TX,
  EXAMPLE_USER,
  IDEMPOTENCY_KEY,
  REPLAYED,
  USER_TOKEN,
  USER_TOKEN_ERRORS,
} from "../../lib/http/described";
import { endpoint, Reply, type MountedEndpoint } from "../../lib/http/endpoint";
import { closedInput, idempotencyKey, userId } from "../../lib/http/input";
import { countGuess, refuseGuessing } from "../../lib/limits/charges";
import { iso } from "../../lib/time";
import {
  acceptUnpriced,
  addressInput,
  amount,
  dryRun,
  slippageBps,
  swapToken,
  txHash,
  walletChoice,
  warned,
  weakId,
} from "../inputs";
import { carryOut, EXPLORER, rehearse, shownStatus, type Placed } from "./execution";
import { faultOf } from "./model";
import type { Asked } from "./placing";

/** A failure of an order that ended before anything of it was signed says so, and its key is free again. */
const ended = (when: string, headers: Record<string, string> = {}) => ({
  when,
  headers,
  body: z.object({
    nothingMoved: z
      .literal(true)
      .optional()
      .describe("Nothing was signed; the idempotency key is free again"),
  }),
});

/** What both calls that move funds have in common. */
const ordering = {
  methods: ["POST"],
  accepted:
    "The owner of the `userId` was asked in their chat and has not answered yet, or has approved it just now (`status`). Repeat the request with the `idempotencyKey` that the answer names to get its outcome.",
  limit: "order",
  access: "shown",
  headers: { ...IDEMPOTENCY_KEY, ...USER_TOKEN },
  answerHeaders: REPLAYED,
} as const;

const failures = (upstream: string) => ({
  ...USER_TOKEN_ERRORS,
  not_found: "The user has no such wallet: connect first.",
  conflict: "The idempotency key was used for another request.",
  invalid_request: ended(
    "The request, or the state of the wallet, does not allow it; the message says what.",
  ),
  forbidden: ended("The owner of this userId has not allowed this, or it is above a cap."),
  paused: ended("The operator has paused sends and swaps, or the owner has frozen the account."),
  internal: ended("The service failed."),
  upstream: ended(upstream, REPLAYED),
});

const orderFields = {
  success: z
    .boolean()
    .describe(
      "false when the chain took the transaction and it failed there, or brought less than it guaranteed; of a rehearsal: whether the order would be executed",
    ),
  txHash: z.string().optional().describe("Absent only in a rehearsal, and while it waits for its owner"),
  status: z
    .enum(["confirmed", "submitted", "failed", "rehearsed", "awaiting_approval", "approved"])
    .describe(
      "submitted: sent to the chain, without a receipt yet; rehearsed: a dry run, nothing was moved; awaiting_approval: the owner was asked, nothing was moved; approved: the owner has approved it, and it is on its way",
    ),
  error: z.string().optional().describe("What it waits for, or what is wrong with its result"),
  approvalId: z.string().optional().describe("While it waits for its owner"),
  idempotencyKey: z.string().optional().describe("While it waits: repeat the request with it"),
  expiresAt: z.iso.datetime().optional().describe("Until when the owner can approve it"),
  repeated: z
    .literal(true)
    .optional()
    .describe("An earlier request with this idempotency key has done it: this is its outcome"),
  explorerUrl: z.string().optional().describe("The transaction on a block explorer"),
  rehearsal: z
    .object({
      refusal: z
        .object({ status: z.int(), error: z.string() })
        .nullable()
        .describe("The refusal that the order would get; null if there is none"),
      valueUsd: z.number().nullable().describe("Value of the sent or sold amount; null without a live price"),
      mostFeeEth: z.string().nullable().describe("The most that the network may take; null if not known"),
      costBps: z
        .number()
        .nullable()
        .describe(
          "How much less than the sold amount a swap's guaranteed minimum is worth by the price feeds, in basis points",
        ),
      leftUsd: z.number().describe("What is left of the narrowest limit that it counts against, before it"),
    })
    .optional()
    .describe("Only in a dry run"),
  ...weakId,
};

/** The answer to a caller whose order waits. */
function waitingBody({ status, approvalId, idempotencyKey, expiresAt }: Asked) {
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

/** @param order The order's own fields in each of its answers. */
async function answer<Order extends object>(ctx: ActionCtx, placed: Placed, dryRun: boolean, order: Order) {
  const shown = { ...order, ...warned(placed.call) };
  if (dryRun) return new Reply({ ...(await rehearse(ctx, placed)), ...shown }, {});
  const done = await carryOut(ctx, placed);
  if (done.waits !== null) return new Reply({ ...waitingBody(done.waits), ...shown }, {}, 202);
  const { terms, bought, approvalTxHash } = done.row;
  const approval = approvalTxHash === undefined ? {} : { approvalTxHash };
  const traded = bought === undefined ? {} : { buyAmount: bought };
  return new Reply({ ...shown, ...done.outcome, ...terms, ...traded, ...approval }, done.headers);
}

const send: MountedEndpoint = endpoint({
  ...ordering,
  path: "/mcp/defi/send",
  summary: "Sends ETH or a token from the user's custody wallet (or, with from: basic, the basic one).",
  needs: ["WALLET_ENCRYPTION_KEY"],
  description:
    "What the wallet lacks (balance, network fee) is a 400 that says so. `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Answers within about 25 seconds: `confirmed` when the receipt came in time, else `submitted`; follow it with GET /mcp/defi/transaction. Send an Idempotency-Key with everything that moves money.",
  errors: failures("The chain's RPC node failed or did not answer."),
  example: {
    input: { userId: EXAMPLE_USER, token: "USDC", amount: "25000000", toAddress: EXAMPLE_ADDRESS },
    output: {
      success: true,
      txHash: EXAMPLE_TX,
      status: "confirmed",
      token: "USDC",
      toAddress: EXAMPLE_ADDRESS,
      amount: "25000000",
      explorerUrl: EXPLORER + EXAMPLE_TX,
    },
  },
  input: closedInput({
    userId,
    toAddress: addressInput,
    token: swapToken,
    amount,
    from: walletChoice,
    dryRun,
    idempotencyKey,
  }),
  returns: z.object({
    ...orderFields,
    token: z.string(),
    toAddress: z.string(),
    amount: z.string().describe("In the token's smallest unit"),
  }),
  handler: async (ctx, { userId, toAddress, token, amount, from, dryRun }, call) => {
    const request = { kind: "send" as const, token, toAddress, amount };
    return answer(ctx, { userId, from, request, call }, dryRun, { token, toAddress, amount });
  },
});

const swap: MountedEndpoint = endpoint({
  ...ordering,
  path: "/mcp/defi/swap",
  summary: "Swaps one token for another in the user's custody wallet, through a Permit2 quote.",
  needs: ["WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"],
  description:
    "The quote is checked before anything is signed: it sells exactly what was asked, calls the provider's own contract, and that call guarantees this wallet the ordered token and a minimum, which may be worse than the price feeds by `slippageBps` and the operator's allowance (together 2 % by default). `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Without a live price the swap is refused unless `acceptUnpriced` is true. An approval, where one is needed, is sent first, for the exact amount. Send an Idempotency-Key with everything that moves money.",
  errors: failures("The swap provider or the chain's RPC node failed, or the quote was refused."),
  example: {
    input: {
      userId: EXAMPLE_USER,
      fromToken: "USDC",
      toToken: "WETH",
      amount: "100000000",
      slippageBps: 100,
    },
    output: {
      success: true,
      txHash: EXAMPLE_TX,
      status: "confirmed",
      fromToken: "USDC",
      toToken: "WETH",
      sellAmount: "100000000",
      buyAmount: "29324000000000000",
      minBuyAmount: "29030760000000000",
      priceChecked: true,
      explorerUrl: EXPLORER + EXAMPLE_TX,
    },
  },
  input: closedInput({
    userId,
    fromToken: swapToken,
    toToken: swapToken,
    amount,
    slippageBps,
    acceptUnpriced,
    dryRun,
    idempotencyKey,
  }).refine(({ fromToken, toToken }) => fromToken !== toToken, {
    path: ["toToken"],
    error: "must differ from fromToken",
  }),
  returns: z.object({
    ...orderFields,
    fromToken: z.string(),
    toToken: z.string(),
    sellAmount: z.string().describe("In fromToken's smallest unit"),
    buyAmount: z
      .string()
      .optional()
      .describe(
        "In toToken's smallest unit: what the receipt shows once confirmed, until then as quoted; like the next two, absent before there is a quote",
      ),
    minBuyAmount: z.string().optional().describe("Guaranteed by the contract's own call"),
    priceChecked: z.boolean().optional().describe("Whether the quote was checked against price feeds"),
    approvalTxHash: z.string().optional().describe("The approval before the swap, if one was needed"),
  }),
  handler: async (ctx, { userId, acceptUnpriced, dryRun, idempotencyKey: _, ...swap }, call) => {
    const { fromToken, toToken, amount: sellAmount } = swap;
    const request = { kind: "swap" as const, ...swap, ...(acceptUnpriced ? { acceptUnpriced } : {}) };
    const placed = { userId, from: "custody" as const, request, call };
    return answer(ctx, placed, dryRun, { fromToken, toToken, sellAmount });
  },
});

const NO_TRANSACTION = "This user has no transaction with this hash";

const transaction: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/transaction",
  summary: "The state of one of the user's transactions.",
  description:
    "For a send or swap that was answered as `submitted`: a scheduled check follows it until it is `confirmed` or `failed`.",
  access: "holdings",
  headers: USER_TOKEN,
  errors: {
    ...USER_TOKEN_ERRORS,
    not_found: `${NO_TRANSACTION}.`,
    rate_limited: "Too many questions about transactions that are not the user's.",
  },
  example: {
    input: { userId: EXAMPLE_USER, txHash: EXAMPLE_TX },
    output: { txHash: EXAMPLE_TX, status: "confirmed", kind: "send", explorerUrl: EXPLORER + EXAMPLE_TX },
  },
  input: z.object({ userId, txHash }),
  returns: z.object({
    txHash: z
      .string()
      .describe(
        "The hash that was mined: another than the asked one if its fees had to be raised, or if that was a swap's approval",
      ),
    status: z.enum(["confirmed", "submitted", "failed"]).describe("submitted: without a receipt yet"),
    kind: z.enum(["send", "swap"]),
    error: z.string().optional().describe("Why it failed, or what is wrong with its result"),
    buyAmount: z.string().optional().describe("Of a confirmed swap, in its token's smallest unit"),
    explorerUrl: z.string(),
    ...weakId,
  }),
  handler: async (ctx, { userId, txHash: asked }, call) => {
    await refuseGuessing(ctx, call.caller);
    const row = await ctx.runQuery(internal.wallets.orders.placing.byHash, { userId, txHash: asked });
    const kind = row?.request.kind;
    if (row === null || (kind !== "send" && kind !== "swap")) {
      await countGuess(ctx, call.caller);
      throw new AppError("not_found", NO_TRANSACTION);
    }
    const { txHash = asked, bought } = row;
    const error = faultOf(row);
    return {
      txHash,
      status: shownStatus(row),
      kind,
      ...(error === null ? {} : { error }),
      ...(bought === undefined ? {} : { buyAmount: bought }),
      explorerUrl: EXPLORER + txHash,
      ...warned(call),
    };
  },
});

export const transactionEndpoints: MountedEndpoint[] = [send, swap, transaction];
