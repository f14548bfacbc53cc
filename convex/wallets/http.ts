import * as z from "zod";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { EXAMPLE_ADDRESS, EXAMPLE_TIME, EXAMPLE_TX, EXAMPLE_USER, userId } from "../platform/http/input";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { charge } from "../platform/limits/charges";
import { defined } from "../lib/objects";
import { toIso } from "../lib/time";
import { txHash, buildWarning, markPaper, walletNotes } from "./inputs";
import { EXPLORER, isUserRequest, linkTo, NO_WALLET, toPublicStatus } from "./model";
import { ensureWallet } from "./custody/wallets";
import { EXAMPLE_RESULT, historyEndpoints, resultShape } from "./past/http";
import type { Symbol } from "./tokens";

const NETWORK = "base";

const CHAIN_FAILED = "The chain's RPC node failed or did not answer.";

const network = z.string().describe("base: Base mainnet, chain id 8453");

const realValueUsd = z
  .number()
  .optional()
  .describe("On paper: what the address really holds, beside the book, if it is more than a dollar");

/** Wallet fields of responses. */
const owned = { address: z.string(), existing: z.boolean().describe("Whether the wallet was there before") };

const create: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/mcp/wallet/create",
  access: "shown",
  summary: "Creates the user's basic wallet, or returns the existing one.",
  description: "One per user; repeating the call changes nothing. No endpoint ever returns the private key.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  errors: { rate_limited: "This caller has created too many wallets." },
  example: {
    input: { userId: EXAMPLE_USER },
    output: { address: EXAMPLE_ADDRESS, existing: false },
  },
  input: z.object({ userId }),
  returns: z.object({ ...owned, ...walletNotes }),
  handler: async (ctx, { userId }, call) => {
    const { address, existing } = await ensureWallet(ctx, { userId, kind: "basic" }, call.caller);
    return { address, existing, ...buildWarning(call) };
  },
});

const balance: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/wallet/balance",
  summary: "ETH and USDC of the user's basic wallet, else of the custody wallet, as exact decimals.",
  description:
    "Read from the chain at every call. `kind` says which of the user's wallets it is about. Swaps and sends spend the custody wallet, whose balances /mcp/defi/portfolio shows; a send with `from: basic` spends the basic one.",
  limit: "chain",
  access: "holdings",
  errors: {
    not_found: "The user has no wallet: connect first.",
    upstream: CHAIN_FAILED,
  },
  example: {
    input: { userId: EXAMPLE_USER },
    output: { address: EXAMPLE_ADDRESS, eth: "0.0125", usdc: "250", network: NETWORK, kind: "basic" },
  },
  input: z.object({ userId }),
  returns: z.object({
    kind: z.enum(["basic", "custody"]),
    address: z.string(),
    eth: z.string().describe("Exact decimal, in ETH"),
    usdc: z.string().describe("Exact decimal, in USDC"),
    network,
    realValueUsd,
    ...walletNotes,
  }),
  handler: async (ctx, { userId }, call) => {
    const { readPortfolio } = await import("./holdings");
    for (const kind of ["basic", "custody"] as const) {
      const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, { userId, kind });
      if (wallet === null) continue;
      const { balances, ...beside } = await readPortfolio(ctx, wallet);
      const find = (symbol: Symbol) => balances.find(({ token }) => token === symbol)?.balance ?? "0";
      return {
        ...{ kind, address: wallet.address, eth: find("ETH"), usdc: find("USDC") },
        ...defined({ realValueUsd: beside.realValueUsd }),
        network: NETWORK,
        ...markPaper(wallet.book !== undefined),
        ...buildWarning(call),
      };
    }
    throw new AppError("not_found", NO_WALLET);
  },
});

const connect: MountedEndpoint = defineEndpoint({
  methods: ["GET", "POST"],
  path: "/mcp/defi/connect",
  access: "shown",
  summary: "Creates the user's custody wallet, or returns the existing one.",
  description:
    "The wallet that swaps and sends spend. One per user; repeating the call changes nothing. Give `ownerUrl` to the person whose money it is: it opens the service's bot, and the person who taps Own there then approves every move of the money by a tap.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  errors: { rate_limited: "This caller has created too many wallets." },
  example: {
    input: { userId: EXAMPLE_USER },
    output: { address: EXAMPLE_ADDRESS, walletId: "wal_4e9d1c7b5a3f", existing: false, network: NETWORK },
  },
  input: z.object({ userId }),
  returns: z.object({
    ...owned,
    walletId: z.string(),
    network,
    ownerUrl: z
      .string()
      .optional()
      .describe(
        "For a userId without an owner, if the operator has a bot: a link for the person whose wallet it is; it works for one owner and at least a day",
      ),
    ...walletNotes,
  }),
  handler: async (ctx, { userId }, call) => {
    const { book, ...wallet } = await ensureWallet(ctx, { userId, kind: "custody" }, call.caller);
    const ownerUrl = await ctx.runMutation(internal.identity.access.createOwnerLink, { userId });
    const notes = { ...markPaper(book !== undefined), ...buildWarning(call) };
    return { ...wallet, network: NETWORK, ...(ownerUrl === null ? {} : { ownerUrl }), ...notes };
  },
});

const portfolio: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/defi/portfolio",
  summary:
    "Balances of all tokens of the custody wallet with live prices; the wallet is created if there is none.",
  description:
    "A token without a live price has `priceUsd: null` and is left out of `totalValueUsd`; `priceSource` names the source of a price.",
  needs: ["WALLET_ENCRYPTION_KEY"],
  limit: "chain",
  access: "holdings",
  errors: { upstream: CHAIN_FAILED },
  example: {
    input: { userId: EXAMPLE_USER },
    output: {
      address: EXAMPLE_ADDRESS,
      network: NETWORK,
      balances: [
        {
          token: "USDC",
          balance: "250",
          raw: "250000000",
          decimals: 6,
          priceUsd: 1,
          priceSource: "chainlink",
          valueUsd: 250,
          costUsd: 240,
          averageUsd: 0.96,
          unrealisedUsd: 10,
        },
      ],
      totalValueUsd: 250,
      pricedAt: EXAMPLE_TIME,
      result: EXAMPLE_RESULT,
    },
  },
  input: z.object({ userId }),
  returns: z.object({
    address: z.string(),
    network,
    balances: z.array(
      z.object({
        token: z.string(),
        balance: z.string().describe("Exact decimal, in whole tokens"),
        raw: z.string().describe("Digits in the token's smallest unit (wei for ETH)"),
        decimals: z.int(),
        priceUsd: z.number().nullable().describe("USD per token; null without a live price"),
        priceSource: z.string().nullable().describe("Where the price comes from"),
        valueUsd: z.number().nullable().describe("USD"),
        costUsd: z.number().optional().describe("Its average cost; absent before its first move"),
        averageUsd: z.number().nullable().optional().describe("The same for a whole token"),
        unrealisedUsd: z.number().nullable().optional().describe("Its worth less its cost"),
      }),
    ),
    totalValueUsd: z.number().describe("USD; tokens without a price are left out"),
    pricedAt: z.iso.datetime(),
    result: resultShape.describe("What the wallet has made (/mcp/defi/history)"),
    realValueUsd,
    ...walletNotes,
  }),
  handler: async (ctx, { userId }, call) => {
    const wallet = await ensureWallet(ctx, { userId, kind: "custody" }, call.caller);
    const { readPortfolio } = await import("./holdings");
    const { balances, totalValueUsd, pricedAt, result, realValueUsd } = await readPortfolio(ctx, wallet);
    return {
      address: wallet.address,
      network: NETWORK,
      balances,
      totalValueUsd,
      pricedAt: toIso(pricedAt),
      result,
      ...defined({ realValueUsd }),
      ...markPaper(wallet.book !== undefined),
      ...buildWarning(call),
    };
  },
});

const NO_TRANSACTION =
  "This user has no transaction with this hash: send the txHash that their send or swap answered";

const transaction: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/defi/transaction",
  summary: "The state of one of the user's transactions.",
  description:
    "For a send or swap that was answered as `submitted`: a scheduled check follows it until it is `confirmed` or `failed`.",
  access: "holdings",
  errors: {
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
      .describe("The hash that was mined: another than the asked one if fees had to be raised"),
    status: z.enum(["confirmed", "submitted", "failed"]).describe("submitted: without a receipt yet"),
    kind: z.enum(["send", "swap", "gas"]),
    error: z.string().optional().describe("Why it failed, or what is wrong with its result"),
    buyAmount: z.string().optional().describe("Of a confirmed swap, in its token's smallest unit"),
    explorerUrl: z.string().optional().describe("Absent on paper: no chain has it"),
    ...walletNotes,
  }),
  handler: async (ctx, { userId, txHash: requestedHash }, call) => {
    await charge(ctx, "lookUp", call.caller);
    const row = await ctx.runQuery(internal.wallets.orders.placing.findOrderByHash, {
      userId,
      txHash: requestedHash,
    });
    if (row === null || !isUserRequest(row.request)) throw new AppError("not_found", NO_TRANSACTION);
    const { txHash = requestedHash, bought, error } = row;
    return {
      txHash,
      status: toPublicStatus(row),
      kind: row.request.kind,
      ...defined({ error, buyAmount: bought }),
      ...{ ...linkTo(txHash), ...markPaper(row.paper === true) },
      ...buildWarning(call),
    };
  },
});

export const walletEndpoints: MountedEndpoint[] = [
  ...[create, balance, connect, portfolio],
  ...historyEndpoints,
  transaction,
];
