import * as z from "zod";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_TIME,
  EXAMPLE_TX,
  EXAMPLE_USER,
  IDEMPOTENCY_KEY,
  REPLAYED,
  USER_TOKEN,
  USER_TOKEN_ERRORS,
} from "../../lib/http/described";
import { endpoint, Reply, type MountedEndpoint } from "../../lib/http/endpoint";
import { closedInput, idempotencyKey, text, userId } from "../../lib/http/input";
import { iso } from "../../lib/time";
import { countGuess, refuseGuessing } from "../../lib/limits/charges";
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
import { assertMay } from "../../accounts/access";
import { carryOut, EXPLORER, rehearse, shownStatus, type Placed } from "./execution";
import { faultOf } from "./model";
import { explorerUrl, orderFields, status, WAITING, waitingBody } from "./shapes";

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

/** Failures of both calls that move funds. */
const moving = {
  ...USER_TOKEN_ERRORS,
  not_found: "The user has no such wallet: connect first.",
  conflict: "The idempotency key was used for another request.",
  invalid_request: ended(
    "The request, or the state of the wallet, does not allow it; the message says what.",
  ),
  forbidden: ended("The owner of this userId has not allowed this, or it is above a cap."),
  paused: ended("The operator has paused sends and swaps, or the owner has frozen the account."),
  internal: ended("The service failed."),
};

/** What both calls that move funds have in common. */
const ordering = {
  methods: ["POST"],
  accepted: WAITING,
  limit: "order",
  access: "shown",
  headers: { ...IDEMPOTENCY_KEY, ...USER_TOKEN },
  answerHeaders: REPLAYED,
} as const;

/** @param order The order's own fields in each of its answers. */
async function answer<Order extends object>(ctx: ActionCtx, placed: Placed, dryRun: boolean, order: Order) {
  const shown = { ...order, ...warned(placed.call) };
  if (dryRun) {
    const { outcome, quoted } = await rehearse(ctx, placed);
    return new Reply({ ...outcome, ...quoted, ...shown }, {});
  }
  const done = await carryOut(ctx, placed);
  if (done.waits !== null) return new Reply({ ...waitingBody(done.waits), ...shown }, {}, 202);
  const { terms, traded, approvalTxHash } = done.row;
  const approval = approvalTxHash === undefined ? {} : { approvalTxHash };
  return new Reply({ ...shown, ...done.outcome, ...terms, ...traded, ...approval }, done.headers);
}

const send: MountedEndpoint = endpoint({
  ...ordering,
  path: "/mcp/defi/send",
  summary: "Sends ETH or a token from the user's custody wallet (or, with from: basic, the basic one).",
  needs: ["WALLET_ENCRYPTION_KEY"],
  description:
    "What the wallet lacks (balance, network fee) is a 400 that says so. `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Answers within about 25 seconds: `confirmed` when the receipt came in time, else `submitted`; follow it with GET /mcp/defi/transaction. Send an Idempotency-Key with everything that moves money.",
  errors: {
    ...moving,
    upstream: ended("The chain's RPC node failed or did not answer.", REPLAYED),
  },
  example: {
    input: { userId: EXAMPLE_USER, token: "USDC", amount: "25000000", toAddress: EXAMPLE_ADDRESS },
    output: {
      success: true,
      txHash: EXAMPLE_TX,
      status: "confirmed",
      token: "USDC",
      toAddress: EXAMPLE_ADDRESS,
      amount: "25000000",
      maxFeeEth: "0.0000012",
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
    ...weakId,
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
  errors: {
    ...moving,
    upstream: ended("The swap provider or the chain's RPC node failed, or the quote was refused.", REPLAYED),
  },
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
      maxFeeEth: "0.0000045",
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
    sellAmount: z
      .string()
      .describe(
        "In fromToken's smallest unit: the sold amount of the receipt once confirmed, until then as ordered",
      ),
    buyAmount: z
      .string()
      .optional()
      .describe(
        "In toToken's smallest unit: the bought amount of the receipt once confirmed, until then as quoted; absent only in a rehearsal that is refused before there is a quote",
      ),
    minBuyAmount: z
      .string()
      .optional()
      .describe("In toToken's smallest unit, guaranteed by the contract's own call; as buyAmount"),
    approvalTxHash: z.string().optional().describe("The approval before the swap, if one was needed"),
    priceChecked: z
      .boolean()
      .optional()
      .describe("Whether the quote was checked against price feeds; absent as buyAmount"),
    ...weakId,
  }),
  handler: async (ctx, { userId, acceptUnpriced, dryRun, idempotencyKey: _, ...swap }, call) => {
    const { fromToken, toToken, amount: sellAmount } = swap;
    const request = { kind: "swap" as const, ...swap, ...(acceptUnpriced ? { acceptUnpriced } : {}) };
    const placed = { userId, from: "custody" as const, request, call };
    return answer(ctx, placed, dryRun, { fromToken, toToken, sellAmount });
  },
});

const transaction: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/transaction",
  summary: "The state of one of the user's transactions.",
  description:
    "For a send or swap that was answered as `submitted`: a scheduled check follows it until it is `confirmed` or `failed`.",
  access: (ctx, { userId }, caller) => assertMay(ctx, userId, "holdings", caller),
  headers: USER_TOKEN,
  errors: {
    ...USER_TOKEN_ERRORS,
    not_found: "This user has no transaction with this hash.",
    rate_limited: "Too many questions about transactions that are not the user's.",
  },
  example: {
    input: { userId: EXAMPLE_USER, txHash: EXAMPLE_TX },
    output: {
      txHash: EXAMPLE_TX,
      status: "confirmed",
      kind: "send",
      explorerUrl: EXPLORER + EXAMPLE_TX,
    },
  },
  input: z.object({ userId, txHash }),
  returns: z.object({
    txHash: z
      .string()
      .describe("The hash that was mined: another than the asked one, if its fees had to be raised"),
    status,
    kind: z.enum(["send", "swap", "approve"]),
    error: z.string().optional().describe("Why it failed, or what is wrong with its result"),
    sellAmount: z
      .string()
      .optional()
      .describe("The sold amount of a confirmed swap, in its token's smallest unit"),
    buyAmount: z
      .string()
      .optional()
      .describe("The bought amount of a confirmed swap, in its token's smallest unit"),
    explorerUrl,
    ...weakId,
  }),
  handler: async (ctx, { userId, txHash: asked }, call) => {
    await refuseGuessing(ctx, call.caller);
    const row = await ctx.runQuery(internal.wallets.orders.placing.byHash, { userId, txHash: asked });
    const kind = row?.request.kind;
    if (row === null || (kind !== "send" && kind !== "swap")) {
      await countGuess(ctx, call.caller);
      throw new AppError("not_found", "This user has no transaction with this hash");
    }
    if (asked === row.approvalTxHash) {
      const explorerUrl = EXPLORER + asked;
      return {
        txHash: asked,
        status: "confirmed" as const,
        kind: "approve" as const,
        explorerUrl,
        ...warned(call),
      };
    }
    const { txHash = asked, traded } = row;
    const error = faultOf(row);
    return {
      txHash,
      status: shownStatus(row),
      kind,
      ...(error === null ? {} : { error }),
      ...traded,
      explorerUrl: EXPLORER + txHash,
      ...warned(call),
    };
  },
});

/** The state of an order that waits for its owner. */
const approval: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/approval",
  summary: "The state of a request that waits for its owner's approval.",
  description:
    "For an order that was answered with 202. The call only reads; to wait for the owner, repeat the request with its idempotency key.",
  limit: "settings",
  access: (ctx, { userId }, caller) => assertMay(ctx, userId, "holdings", caller),
  headers: USER_TOKEN,
  errors: { ...USER_TOKEN_ERRORS, not_found: "This user has no question with this id." },
  example: {
    input: { userId: EXAMPLE_USER, approvalId: "k57d0c2v6s3m8q4x9z1b7n5t2h6j8w3y" },
    output: {
      approvalId: "k57d0c2v6s3m8q4x9z1b7n5t2h6j8w3y",
      status: "approved",
      kind: "send",
      expiresAt: EXAMPLE_TIME,
      txHash: EXAMPLE_TX,
      transaction: "confirmed",
    },
  },
  input: z.object({ userId, approvalId: text(64).describe("The id from the answer.") }),
  returns: z.object({
    approvalId: z.string(),
    status: z
      .enum(["awaiting_approval", "approved", "refused", "failed", "expired", "void"])
      .describe(
        "failed: approved, but it could not be started; expired: not answered within 10 minutes; void: the owner's rules or link have changed since",
      ),
    kind: z.enum(["send", "swap"]),
    expiresAt: z.iso.datetime(),
    txHash: z.string().optional().describe("Once the approved transaction is signed"),
    transaction: status.optional(),
    error: z.string().optional().describe("Why it failed"),
  }),
  handler: async (ctx, { userId, approvalId }) => {
    const asked = await ctx.runQuery(internal.wallets.orders.placing.question, {
      userId,
      approvalId,
      now: Date.now(),
    });
    if (asked === null) throw new AppError("not_found", "This user has no question with this id");
    const { order, status, kind, expiresAt } = asked;
    const error = order.state === "asked" ? null : faultOf(order);
    return {
      approvalId: asked.approvalId,
      status,
      kind,
      expiresAt: iso(expiresAt),
      ...(order.txHash === undefined ? {} : { txHash: order.txHash, transaction: shownStatus(order) }),
      ...(error === null ? {} : { error }),
    };
  },
});

export const transactionEndpoints: MountedEndpoint[] = [send, swap, transaction, approval];
