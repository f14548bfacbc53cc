import * as z from "zod";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { AppError } from "../../lib/errors";
import { EXAMPLE_ADDRESS, EXAMPLE_TX, EXAMPLE_USER } from "../../lib/http/examples";
import { IDEMPOTENCY_KEY, REPLAYED, USER_TOKEN, USER_TOKEN_ERRORS } from "../../lib/http/headers";
import { endpoint, Reply, type MountedEndpoint } from "../../lib/http/endpoint";
import { closedInput, idempotencyKey, userId } from "../../lib/http/input";
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
} from "../inputs";
import { assertMay } from "../../users/access";
import { warned, weakId } from "../warnings";
import { WAITING, waitingBody } from "./question";
import { carryOut, EXPLORER, rehearse, shownStatus } from "./execution";
import { explorerUrl, orderFields, status } from "./shapes";
import { shortfallOf } from "../transactions/states";

/** Failures of both calls that move funds. */
const moving = {
  ...USER_TOKEN_ERRORS,
  not_found: "The user has no such wallet: connect first.",
  conflict: "The idempotency key was used for another request.",
  paused: "The operator has paused sends and swaps.",
};

const send: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/defi/send",
  summary: "Sends ETH or a token from the user's custody wallet (or, with from: basic, the basic one).",
  needs: ["WALLET_ENCRYPTION_KEY"],
  description:
    "The transfer is simulated before it is signed; what it lacks (balance, network fee) is a 400 that says so. `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Answers within about 25 seconds: `confirmed` when the receipt came in time, else `submitted`; follow it with GET /mcp/defi/transaction. Send an Idempotency-Key with everything that moves money.",
  accepted: WAITING,
  limit: "transfer",
  access: "shown",
  errors: {
    ...moving,
    upstream: { when: "The chain's RPC node failed or did not answer.", headers: REPLAYED },
  },
  headers: { ...IDEMPOTENCY_KEY, ...USER_TOKEN },
  answerHeaders: REPLAYED,
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
    if (dryRun) {
      const { outcome } = await rehearse(ctx, { userId, from, request, call });
      return { ...outcome, token, toAddress, amount, ...warned(call.named) };
    }
    const done = await carryOut(ctx, { userId, from, request, call });
    const order = { token, toAddress, amount, ...warned(call.named, call.idempotencyKey) };
    if (done.waits !== null) return new Reply({ ...waitingBody(done.waits), ...order }, {}, 202);
    return new Reply({ ...done.outcome, ...order }, done.headers);
  },
});

const swap: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/defi/swap",
  summary: "Swaps one token for another in the user's custody wallet, through a Permit2 quote.",
  needs: ["WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"],
  description:
    "The quote is checked before anything is signed: it sells exactly what was asked, calls the provider's own contract, and that call guarantees this wallet the ordered token and a minimum, which may be worse than the price feeds by `slippageBps` and the operator's allowance (together 2 % by default). It is simulated first. `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Without a live price the swap is refused unless `acceptUnpriced` is true. An approval, where one is needed, is sent first, for the exact amount. Send an Idempotency-Key with everything that moves money.",
  accepted: WAITING,
  limit: "transfer",
  access: "shown",
  errors: {
    ...moving,
    upstream: {
      when: "The swap provider or the chain's RPC node failed, or the quote was refused.",
      headers: REPLAYED,
    },
  },
  headers: { ...IDEMPOTENCY_KEY, ...USER_TOKEN },
  answerHeaders: REPLAYED,
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
    const { fromToken, toToken, amount } = swap;
    const request = { kind: "swap" as const, ...swap, ...(acceptUnpriced ? { acceptUnpriced } : {}) };
    if (dryRun) {
      const { outcome, quoted } = await rehearse(ctx, { userId, from: "custody", request, call });
      return { ...outcome, fromToken, toToken, sellAmount: amount, ...quoted, ...warned(call.named) };
    }
    const done = await carryOut(ctx, { userId, from: "custody", request, call });
    const order = { fromToken, toToken, sellAmount: amount, ...warned(call.named, call.idempotencyKey) };
    if (done.waits !== null) return new Reply({ ...waitingBody(done.waits), ...order }, {}, 202);
    const { outcome, view } = done;
    if (view.terms === undefined) throw new Error("A signed swap has no terms");
    const approvalTxHash = view.approvalTxHash === undefined ? {} : { approvalTxHash: view.approvalTxHash };
    const amounts = { ...view.terms, ...view.traded, ...approvalTxHash };
    return new Reply({ ...outcome, ...order, ...amounts }, done.headers);
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
    txHash: z.string(),
    status,
    minedAs: z
      .string()
      .optional()
      .describe("The hash under which it was mined, if its fees had to be raised"),
    kind: z.enum(["send", "swap", "approve", "fill"]),
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
  handler: async (ctx, { userId, txHash }, { caller, named }) => {
    await refuseGuessing(ctx, "miss", caller, txHash);
    const view = await ctx.runQuery(internal.wallets.transactions.orders.byHash, { userId, txHash });
    if (view === null || view.request.kind === "settlement" || view.request.kind === "anchor") {
      await countGuess(ctx, "miss", caller, txHash);
      throw new AppError("not_found", "This user has no transaction with this hash");
    }
    const { state, traded, minedAs } = view;
    const error = faultOf(view);
    return {
      txHash,
      status: shownStatus(state),
      kind: view.request.kind,
      ...(error === null ? {} : { error }),
      ...traded,
      ...(minedAs === undefined ? {} : { minedAs }),
      explorerUrl: EXPLORER + (minedAs ?? txHash),
      ...warned(named),
    };
  },
});

/** The message about a transaction that did not do what was ordered. */
function faultOf(row: Doc<"transactions">): string | null {
  return row.state === "failed" ? (row.error ?? null) : shortfallOf(row);
}

export const transactionEndpoints: MountedEndpoint[] = [send, swap, transaction];
