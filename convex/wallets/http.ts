import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { AppError, isErrorCode } from "../lib/errors";
import { endpoint, type Call, type MountedEndpoint } from "../lib/http";
import { idempotencyKey, userId } from "../lib/input";
import { charge } from "../lib/limits";
import { iso } from "../lib/time";
import { assertMayMove } from "../users/access";
import { addressInput, amount, slippageBps, swapToken, txHash, walletChoice } from "./inputs";
import type { WalletKind } from "./model";
import type { View } from "./rows";
import type { TransactionRequest } from "./tables";
import { limitsApply } from "./transferLimits";

const NETWORK = "base";
const EXPLORER = "https://basescan.org/tx/";
const NO_WALLET = "No wallet was found for this user: connect first";

const status = z.enum(["confirmed", "submitted", "failed"]);

const create: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/wallet/create",
  summary: "Creates the user's basic wallet, or returns the existing one.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  input: z.object({ userId }),
  returns: z.object({ address: z.string(), existing: z.boolean() }),
  handler: async (ctx, { userId }, { caller }) => {
    const { address, existing } = await ensureWallet(ctx, userId, "basic", caller);
    return { address, existing };
  },
});

const balance: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/wallet/balance",
  summary: "ETH and USDC of the user's basic wallet, else of the custody wallet, as exact decimals.",
  needs: [],
  limit: "chain",
  input: z.object({ userId }),
  returns: z.object({ address: z.string(), eth: z.string(), usdc: z.string(), network: z.string() }),
  handler: async (ctx, { userId }) => {
    const find = (kind: WalletKind) => ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
    const wallet = (await find("basic")) ?? (await find("custody"));
    if (wallet === null) throw new AppError("not_found", NO_WALLET);
    const { address } = wallet;
    const held = await ctx.runAction(internal.wallets.accounts.balance, { address });
    return { address, ...held, network: NETWORK };
  },
});

const connect: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/defi/connect",
  summary: "Creates the user's custody wallet, or returns the existing one.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  input: z.object({ userId }),
  returns: z.object({
    address: z.string(),
    walletId: z.string(),
    existing: z.boolean(),
    network: z.string(),
  }),
  handler: async (ctx, { userId }, { caller }) => {
    const wallet = await ensureWallet(ctx, userId, "custody", caller);
    return { ...wallet, network: NETWORK };
  },
});

const portfolio: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/portfolio",
  summary:
    "Balances of all tokens of the custody wallet with live prices; the wallet is created when there is none.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  limit: "chain",
  input: z.object({ userId }),
  returns: z.object({
    address: z.string(),
    network: z.string(),
    balances: z.array(
      z.object({
        token: z.string(),
        balance: z.string(),
        raw: z.string(),
        decimals: z.number(),
        priceUsd: z.number().nullable(),
        priceSource: z.string().nullable(),
        valueUsd: z.number().nullable(),
      }),
    ),
    totalValueUsd: z.number(),
    pricedAt: z.iso.datetime(),
  }),
  handler: async (ctx, { userId }, { caller }) => {
    const { address } = await ensureWallet(ctx, userId, "custody", caller);
    const { balances, totalValueUsd, pricedAt } = await ctx.runAction(internal.wallets.accounts.portfolio, {
      address,
    });
    return { address, network: NETWORK, balances, totalValueUsd, pricedAt: iso(pricedAt) };
  },
});

const send: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/mcp/defi/send",
  summary: "Sends ETH or a token from the user's custody wallet (or, with from: basic, the basic one).",
  needs: ["WALLET_ENCRYPTION_KEY"],
  limit: "transfer",
  input: z.object({
    userId,
    toAddress: addressInput,
    token: swapToken,
    amount,
    from: walletChoice,
    idempotencyKey,
  }),
  returns: z.object({
    success: z.boolean(),
    txHash: z.string(),
    status,
    token: z.string(),
    toAddress: z.string(),
    amount: z.string(),
    explorerUrl: z.string(),
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
  limit: "transfer",
  input: z
    .object({ userId, fromToken: swapToken, toToken: swapToken, amount, slippageBps, idempotencyKey })
    .refine(({ fromToken, toToken }) => fromToken !== toToken, {
      path: ["toToken"],
      error: "must differ from fromToken",
    }),
  returns: z.object({
    success: z.boolean(),
    txHash: z.string(),
    status,
    fromToken: z.string(),
    toToken: z.string(),
    sellAmount: z.string(),
    buyAmount: z.string(),
    minBuyAmount: z.string(),
    approvalTxHash: z.string().optional(),
    priceChecked: z.boolean(),
    explorerUrl: z.string(),
  }),
  handler: async (ctx, { userId, fromToken, toToken, amount, slippageBps, idempotencyKey }, call) => {
    const request = { kind: "swap" as const, fromToken, toToken, amount, slippageBps };
    const carried = await carryOut(ctx, { userId, from: "custody", request, key: idempotencyKey, call });
    const { outcome, view } = carried;
    if (view.terms === undefined) throw new Error("A signed swap has its terms");
    const approvalTxHash = view.approvalTxHash === undefined ? {} : { approvalTxHash: view.approvalTxHash };
    return { ...outcome, fromToken, toToken, ...view.terms, ...approvalTxHash };
  },
});

const transaction: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/transaction",
  summary: "Where one of the user's transactions stands.",
  needs: [],
  input: z.object({ userId, txHash }),
  returns: z.object({
    txHash: z.string(),
    status,
    kind: z.enum(["send", "swap", "approve"]),
    error: z.string().optional(),
    explorerUrl: z.string(),
  }),
  handler: async (ctx, { userId, txHash }) => {
    const view = await ctx.runQuery(internal.wallets.transactions.byHash, { userId, txHash });
    if (view === null) throw new AppError("not_found", "This user has no transaction with this hash");
    const { state, request, error } = view;
    return {
      txHash,
      status: shownStatus(state),
      kind: request.kind,
      ...(state === "failed" && error !== undefined ? { error } : {}),
      explorerUrl: EXPLORER + txHash,
    };
  },
});

type Order = {
  userId: string;
  from: WalletKind;
  request: Exclude<TransactionRequest, { kind: "approve" }>;
  key: string | undefined;
  call: Call;
};

/**
 * Opens a transaction and waits for its outcome.
 * @throws AppError `unauthorized` or `forbidden` when the userId is a signed-in user's and the token is not theirs;
 * `paused`, `not_found` without a wallet, and whatever ended the request before it was signed.
 */
async function carryOut(ctx: ActionCtx, { userId, from, request, key, call }: Order) {
  await assertMayMove(ctx, userId);
  const startedAt = performance.now();
  const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: from });
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  const { walletId, address } = wallet;
  const idempotencyKey = call.idempotencyKey ?? key;
  const valueMicroUsd = await valueForLimits(ctx, request, address, userId, idempotencyKey);
  const transactionId = await ctx.runMutation(internal.wallets.transactions.open, {
    userId,
    walletId,
    request,
    source: "web",
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(valueMicroUsd === null ? {} : { valueMicroUsd }),
  });
  const waitMs = Math.max(1, Math.round(deadlines.transaction - (performance.now() - startedAt)));
  const view: View = await ctx.runAction(internal.wallets.waiting.settle, { transactionId, waitMs });
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

/** What the transfer is worth, when a limit asks for it. */
async function valueForLimits(
  ctx: ActionCtx,
  request: Order["request"],
  address: string,
  userId: string,
  idempotencyKey: string | undefined,
): Promise<string | null> {
  if (!limitsApply()) return null;
  // A repeat moves nothing new, and its outcome must not depend on a price.
  if (idempotencyKey !== undefined) {
    const isRepeat = internal.wallets.transactions.isRepeat;
    if (await ctx.runQuery(isRepeat, { userId, idempotencyKey })) return null;
  }
  const token = request.kind === "send" ? request.token : request.fromToken;
  return ctx.runAction(internal.wallets.accounts.value, { token, amount: request.amount, address });
}

function shownStatus(state: View["state"]): "confirmed" | "submitted" | "failed" {
  return state === "confirmed" || state === "failed" ? state : "submitted";
}

async function ensureWallet(ctx: ActionCtx, userId: string, kind: WalletKind, caller: Call["caller"]) {
  const present = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
  if (present !== null) return { ...present, existing: true };
  await charge(ctx, "settings", caller);
  return ctx.runAction(internal.wallets.wallets.create, { userId, kind });
}

export const walletEndpoints: MountedEndpoint[] = [
  create,
  balance,
  connect,
  portfolio,
  send,
  swap,
  transaction,
];
