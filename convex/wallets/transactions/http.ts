import * as z from "zod";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { refuseCrowd, waitingAs } from "../../lib/crowd";
import { AppError, isErrorCode } from "../../lib/errors";
import { EXAMPLE_ADDRESS, EXAMPLE_TX, EXAMPLE_USER } from "../../lib/examples";
import { IDEMPOTENCY_KEY, USER_TOKEN, USER_TOKEN_ERRORS } from "../../lib/headers";
import { endpoint, type Call, type MountedEndpoint } from "../../lib/http";
import { idempotencyKey, userId } from "../../lib/input";
import { countGuess, refuseGuessing } from "../../lib/limits";
import { once } from "../../lib/once";
import {
  acceptUnpriced,
  addressInput,
  amount,
  slippageBps,
  swapToken,
  txHash,
  walletChoice,
} from "../inputs";
import { NO_WALLET, type WalletKind } from "../model";
import type { TransactionRequest, TransactionState } from "./tables";

/** Heavy with the chain's library: loaded by the first request that needs it. */
const orders = once(() => import("./orders"));

const EXPLORER = "https://basescan.org/tx/";

const status = z
  .enum(["confirmed", "submitted", "failed"])
  .describe("submitted: signed and handed to the chain, its receipt is still to come");

const explorerUrl = z.string().describe("The transaction on a block explorer");

/** What both calls that move funds can answer. */
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
    "The transfer is simulated before it is signed; what it lacks (balance, network fee) is a 400 that says so. Answers within about 25 seconds: `confirmed` when the receipt came in time, else `submitted`; follow it with GET /mcp/defi/transaction. Send an Idempotency-Key with everything that moves money.",
  limit: "transfer",
  errors: { ...moving, upstream: "The chain's RPC node failed or did not answer." },
  headers: { ...IDEMPOTENCY_KEY, ...USER_TOKEN },
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
  input: z.object({
    userId,
    toAddress: addressInput,
    token: swapToken,
    amount,
    from: walletChoice,
    idempotencyKey,
  }),
  returns: z.object({
    success: z.boolean().describe("false when the chain took the transaction and it failed there"),
    txHash: z.string(),
    status,
    token: z.string(),
    toAddress: z.string(),
    amount: z.string().describe("In the token's smallest unit"),
    explorerUrl,
  }),
  handler: async (ctx, { userId, toAddress, token, amount, from, idempotencyKey }, call) => {
    const request = { kind: "send" as const, token, toAddress, amount };
    const { outcome } = await carryOut(ctx, { userId, from, request, key: idempotencyKey, call });
    return { ...outcome, token, toAddress, amount };
  },
});

const swap: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/defi/swap",
  summary: "Swaps one token for another in the user's custody wallet, through a Permit2 quote.",
  needs: ["WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"],
  description:
    "The quote is checked before anything is signed: it must sell exactly what was asked, call the provider's own contract as its on-chain registry names it, and its guaranteed minimum may be worse than the price feeds by no more than `slippageBps` and the operator's allowance. The signed call is simulated first: it may sell no more than `amount`, must buy at least the minimum, and changes nothing else of the wallet. Without a live price the swap is refused unless `acceptUnpriced` is true. When an approval is needed it is sent first, for the exact amount. `fromToken` and `toToken` must differ. Send an Idempotency-Key with everything that moves money.",
  limit: "transfer",
  errors: {
    ...moving,
    upstream: "The swap provider or the chain's RPC node failed, or the quote was refused.",
  },
  headers: { ...IDEMPOTENCY_KEY, ...USER_TOKEN },
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
  input: z
    .object({
      userId,
      fromToken: swapToken,
      toToken: swapToken,
      amount,
      slippageBps,
      acceptUnpriced,
      idempotencyKey,
    })
    .refine(({ fromToken, toToken }) => fromToken !== toToken, {
      path: ["toToken"],
      error: "must differ from fromToken",
    }),
  returns: z.object({
    success: z.boolean().describe("false when the chain took the transaction and it failed there"),
    txHash: z.string(),
    status,
    fromToken: z.string(),
    toToken: z.string(),
    sellAmount: z
      .string()
      .describe("In fromToken's smallest unit: sold by the receipt once confirmed, until then as ordered"),
    buyAmount: z
      .string()
      .describe("In toToken's smallest unit: bought by the receipt once confirmed, until then as quoted"),
    minBuyAmount: z.string().describe("Guaranteed, in toToken's smallest unit"),
    approvalTxHash: z.string().optional().describe("The approval that went before, when one was needed"),
    priceChecked: z.boolean().describe("Whether price feeds were there to check the quote against"),
    explorerUrl,
  }),
  handler: async (ctx, { userId, acceptUnpriced, idempotencyKey, ...swap }, call) => {
    const { fromToken, toToken } = swap;
    const request = { kind: "swap" as const, ...swap, ...(acceptUnpriced ? { acceptUnpriced } : {}) };
    const carried = await carryOut(ctx, { userId, from: "custody", request, key: idempotencyKey, call });
    const { outcome, view } = carried;
    if (view.terms === undefined) throw new Error("A signed swap has its terms");
    const approvalTxHash = view.approvalTxHash === undefined ? {} : { approvalTxHash: view.approvalTxHash };
    return { ...outcome, fromToken, toToken, ...view.terms, ...view.traded, ...approvalTxHash };
  },
});

const transaction: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/transaction",
  summary: "Where one of the user's transactions stands.",
  description:
    "For a send or swap that was answered as `submitted`: a scheduled check follows it until it is `confirmed` or `failed`.",
  needs: [],
  errors: {
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
      .describe("The hash under which it was mined, where its fees had to be raised on the way"),
    kind: z.enum(["send", "swap", "approve", "fill"]),
    error: z.string().optional().describe("Why it failed"),
    sellAmount: z.string().optional().describe("What a confirmed swap has sold, in its smallest unit"),
    buyAmount: z.string().optional().describe("What a confirmed swap has bought, in its smallest unit"),
    explorerUrl,
  }),
  handler: async (ctx, { userId, txHash }, { caller }) => {
    await refuseGuessing(ctx, "miss", caller, txHash);
    const view = await ctx.runQuery(internal.wallets.transactions.orders.byHash, { userId, txHash });
    if (view === null || view.request.kind === "settlement" || view.request.kind === "anchor") {
      await countGuess(ctx, "miss", caller, txHash);
      throw new AppError("not_found", "This user has no transaction with this hash");
    }
    const { state, error, traded, minedAs } = view;
    return {
      txHash,
      status: shownStatus(state),
      kind: view.request.kind,
      ...(state === "failed" && error !== undefined ? { error } : {}),
      ...traded,
      ...(minedAs === undefined ? {} : { minedAs }),
      explorerUrl: EXPLORER + (minedAs ?? txHash),
    };
  },
});

type Order = {
  userId: string;
  from: WalletKind;
  request: Extract<TransactionRequest, { kind: "send" | "swap" }>;
  key: string | undefined;
  call: Call;
};

/**
 * Opens a transaction and waits for its outcome.
 * @throws AppError `unauthorized` or `forbidden` when the userId is a signed-in user's and the token is not theirs;
 * `paused`, `not_found` without a wallet, and whatever ended the request before it was signed.
 */
async function carryOut(ctx: ActionCtx, { userId, from, request, key, call }: Order) {
  const startedAt = performance.now();
  const idempotencyKey = call.idempotencyKey ?? key;
  const wallet = await ctx.runQuery(internal.wallets.transactions.orders.wallet, {
    ...{ userId, kind: from },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  const { walletId, isRepeat } = wallet;
  const order = { userId, walletId, request, idempotencyKey, isRepeat };
  const view = await waitingAs(
    ctx,
    call.caller,
    async () => {
      const { seeThrough } = await orders();
      return seeThrough(ctx, { ...order, requestId: call.requestId, startedAt });
    },
    refuseCrowd,
    "moving",
  );
  if (view.txHash === undefined) {
    const code = view.errorCode ?? "internal";
    throw new AppError(
      isErrorCode(code) ? code : "internal",
      view.error ?? "The transaction could not be sent",
    );
  }
  const shown = shownStatus(view.state);
  const { txHash } = view;
  const outcome = { success: shown !== "failed", txHash, status: shown, explorerUrl: EXPLORER + txHash };
  return { view, outcome };
}

function shownStatus(state: TransactionState): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}

export const transactionEndpoints: MountedEndpoint[] = [send, swap, transaction];
