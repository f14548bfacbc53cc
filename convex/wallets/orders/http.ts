import type { FunctionReturnType } from "convex/server";
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
  idempotencyKey,
  optionalUnlessBlank,
  userId,
} from "../../platform/http/input";
import { defineEndpoint, Reply, type Call, type MountedEndpoint } from "../../platform/http/endpoint";
import { holdSlot } from "../../platform/limits/slots";
import { deadlines } from "../../platform/outside/deadlines";
import { defined } from "../../lib/objects";
import { SECOND } from "../../lib/time";
import {
  acceptUnpriced,
  addressInput,
  asksAsTool,
  dryRun,
  optionalAmount,
  readSize,
  size,
  slippageBps,
  swapToken,
  TOOL_CALL,
  walletChoice,
  buildWarning,
} from "../inputs";
import { EXPLORER, isUserRequest, type WalletKind } from "../model";
import type { UserRequest } from "../tables";
import { buildEndedFailure, buildOrderAnswer, orderFields, toRehearsalView } from "./answers";

/** Sends and swaps over HTTP: an order is opened and executed, put to its owner, or only rehearsed. */

/** These modules load viem, so the first request that needs them imports them. */
const loadExecution = () => import("./execution");
const loadEstimates = () => import("./estimates");

type Placed = { userId: string; kind: WalletKind; request: UserRequest; call: Call };
type PayingWalletChoice = FunctionReturnType<typeof internal.wallets.orders.placing.getPayingWallet>;

/**
 * The one handler of a send, a swap, a rehearsal and a repeat: returns the order's terms and status.
 * @param describe The order's own fields in each of its answers, by its exact amounts.
 * @throws AppError as `placing.getPayingWallet` and `placing.placeOrder`, `upstream`, and the failure of an order that
 * ended without a signature
 */
async function answer<Fields extends object>(
  ctx: ActionCtx,
  placed: Placed,
  isRehearsal: boolean,
  describe: (request: UserRequest) => Fields,
) {
  const startedAt = performance.now();
  const { userId, kind, request, call } = placed;
  const { caller } = call;
  if (isRehearsal) {
    const { rehearse } = await loadEstimates();
    const work = () => rehearse(ctx, { userId, kind, request }, caller);
    const { unitWarning, request: resolved, ...rehearsal } = await holdSlot(ctx, caller, work);
    const refusal =
      rehearsal.refusal ??
      (unitWarning !== null && asksAsTool(call) ? unitWarningError(unitWarning).data : null);
    const view = toRehearsalView(resolved, { ...rehearsal, refusal });
    return new Reply({ ...view, ...describe(resolved), ...buildWarning(call, unitWarning) }, {});
  }
  const isTool = asksAsTool(call);
  const orderArgs = { ...buildOrder(placed), kind, isTool, now: Date.now() };
  const wallet = await ctx.runQuery(internal.wallets.orders.placing.getPayingWallet, orderArgs);
  const executePlaced = async () => {
    // A repeat moves nothing new, and its outcome must not depend on a price.
    const { orderId, ...opened } =
      wallet.earlier === null
        ? await open(ctx, placed, wallet, isTool)
        : { orderId: wallet.earlier, isRepeat: true, unitWarning: null };
    const waitMs = Math.max(SECOND, Math.round(deadlines.transaction - (performance.now() - startedAt)));
    const { executeOrder } = await loadExecution();
    return { row: await executeOrder(ctx, orderId, waitMs), ...opened };
  };
  const { row, unitWarning, isRepeat } = await holdSlot(ctx, caller, executePlaced, { isOrder: true });
  const headers: Record<string, string> = isRepeat ? { "Idempotent-Replayed": "true" } : {};
  // A caller with an idempotency key knows what a repeat is.
  const note = isRepeat && call.idempotencyKey === undefined ? { repeatedNote: SAME_ORDER } : {};
  const exact = describe(isUserRequest(row.request) ? row.request : request);
  const order = { ...buildOrderAnswer(row, isRepeat), ...note, ...exact, ...buildWarning(call, unitWarning) };
  return new Reply(order, headers, row.txHash === undefined ? 202 : 200);
}

/** The order as mutations take it. */
function buildOrder({ userId, request, call: { caller, idempotencyKey } }: Placed) {
  return { userId, request, ...defined({ keyHash: caller.keyHash, idempotencyKey }) };
}

const SAME_ORDER =
  "The same order was made within the last ten minutes, and this is its outcome: nothing else was moved. To order it once more, pass an idempotencyKey of your own";

const unitWarningError = (unitWarning: string) =>
  new AppError("invalid_request", `${unitWarning}. Nothing was signed`);

/**
 * Opens an order, or puts it to its owner if the rules require approval.
 * @throws AppError `invalid_request` for a tool's amount that looks like whole tokens instead of smallest units.
 */
async function open(
  ctx: ActionCtx,
  placed: Placed,
  { isAsked, earlier: _, ...wallet }: PayingWalletChoice,
  isTool: boolean,
) {
  const { userId, call } = placed;
  const { estimateForApproval, resolveOrder } = await loadEstimates();
  const { unitWarning, ...resolved } = isAsked
    ? await estimateForApproval(ctx, { userId, ...wallet }, placed.request)
    : await resolveOrder(ctx, wallet, placed.request);
  if (unitWarning !== null && isTool) throw unitWarningError(unitWarning);
  const opened = await ctx.runMutation(internal.wallets.orders.placing.placeOrder, {
    ...{ ...buildOrder(placed), ...resolved, isTool },
    ...{ walletId: wallet.walletId, address: call.caller.address },
  });
  return { ...opened, unitWarning };
}

/** The shared definition of both endpoints that move funds. */
const ordering = {
  methods: ["POST"],
  accepted:
    "The owner of the `userId` was asked in their chat, and nothing is signed yet. Repeat the request with the `idempotencyKey` that the answer names to get its outcome.",
  limit: "order",
  access: "shown",
  headers: { ...IDEMPOTENCY_KEY, ...TOOL_CALL },
  answerHeaders: REPLAYED,
  errors: {
    not_found: "The user has no such wallet: connect first.",
    conflict: "The idempotency key was used for another request.",
    invalid_request: buildEndedFailure(
      "The request or the state of the wallet does not allow it; the message says what.",
    ),
    forbidden: buildEndedFailure("The owner of this userId has not allowed this, or it is above a cap."),
    overloaded: buildEndedFailure("The service has no ETH to give just now, or too many callers wait."),
    paused: buildEndedFailure(
      "The operator has paused sends and swaps, or the owner has frozen the account.",
    ),
    internal: buildEndedFailure("The service failed."),
    upstream: buildEndedFailure(
      "The chain's RPC node or the swap provider failed, or its quote was refused.",
    ),
  },
} as const;

const DONE = {
  success: true,
  txHash: EXAMPLE_TX,
  status: "confirmed",
  explorerUrl: EXPLORER + EXAMPLE_TX,
} as const;
const EXAMPLE_SEND = { token: "USDC", toAddress: EXAMPLE_ADDRESS, amount: "25000000" } as const;
const EXAMPLE_SIDES = { fromToken: "USDC", toToken: "WETH" } as const;

const send: MountedEndpoint = defineEndpoint({
  ...ordering,
  path: "/mcp/defi/send",
  summary: "Sends ETH or a token from the user's custody wallet (or, with from: basic, the basic one).",
  needs: ["WALLET_ENCRYPTION_KEY"],
  description:
    "What the wallet lacks (balance, network fee) is a 400 that says so. `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Answers within about 25 seconds: `confirmed` when the receipt came in time, else `submitted`; follow it with GET /mcp/defi/transaction. Send an Idempotency-Key with everything that moves money.",
  example: {
    input: { userId: EXAMPLE_USER, ...EXAMPLE_SEND },
    output: { ...DONE, ...EXAMPLE_SEND },
  },
  input: z.strictObject({
    userId,
    toAddress: addressInput,
    token: swapToken,
    amount: optionalAmount,
    size,
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
  handler: async (ctx, { userId, toAddress, token, from, dryRun, ...given }, call) => {
    const request = { kind: "send" as const, token, toAddress, ...readSize(given, token) };
    const placed = { userId, kind: from, request, call };
    return answer(ctx, placed, dryRun, ({ amount }) => ({ token, toAddress, amount }));
  },
});

const swap: MountedEndpoint = defineEndpoint({
  ...ordering,
  path: "/mcp/defi/swap",
  summary: "Swaps one token for another in the user's custody wallet, through a Permit2 quote.",
  needs: ["WALLET_ENCRYPTION_KEY", "SWAP_API_KEY"],
  description:
    "The quote is checked before anything is signed: it sells exactly what was asked, calls the provider's own contract, and that call guarantees this wallet the ordered token and a minimum, which may be worse than the price feeds by `slippageBps` and the operator's allowance (together 2 % by default). `dryRun: true` answers what it would come to and moves nothing; a field that is not listed here is a 400. Without a live price the swap is refused unless `acceptUnpriced` is true. An approval, where one is needed, is sent first, for the exact amount. Send an Idempotency-Key with everything that moves money.",
  example: {
    input: { userId: EXAMPLE_USER, ...EXAMPLE_SIDES, amount: "100000000", slippageBps: 100 },
    output: {
      ...DONE,
      ...EXAMPLE_SIDES,
      sellAmount: "100000000",
      buyAmount: "29324000000000000",
      minBuyAmount: "29030760000000000",
      priceChecked: true,
    },
  },
  input: z
    .strictObject({
      userId,
      fromToken: swapToken,
      toToken: swapToken,
      amount: optionalAmount,
      size,
      slippageBps,
      acceptUnpriced,
      dryRun,
      idempotencyKey,
    })
    .refine(({ fromToken, toToken }) => fromToken !== toToken, {
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
  handler: async (
    ctx,
    { userId, fromToken, toToken, slippageBps, acceptUnpriced, dryRun, ...given },
    call,
  ) => {
    const terms = { fromToken, toToken, slippageBps, ...(acceptUnpriced ? { acceptUnpriced } : {}) };
    const request = { kind: "swap" as const, ...terms, ...readSize(given, fromToken) };
    const placed = { userId, kind: "custody" as const, request, call };
    return answer(ctx, placed, dryRun, ({ amount }) => ({ fromToken, toToken, sellAmount: amount }));
  },
});

const usdc = optionalUnlessBlank(
  z
    .string("must be a string")
    .trim()
    .regex(/^(?:[1-4]\d{6}|5000000)$/, "must be digits from 1000000 to 5000000, in USDC's smallest unit"),
).describe("USDC to pay, in its smallest unit, 1000000 to 5000000; what suffices for a swap when left out.");

const gas: MountedEndpoint = defineEndpoint({
  ...ordering,
  path: "/mcp/defi/gas",
  summary: "Gets ETH for network fees with the custody wallet's USDC, for a wallet that holds no ETH.",
  needs: ["WALLET_ENCRYPTION_KEY", "X402_RELAYER_PRIVATE_KEY"],
  description:
    "One transaction of the service takes the USDC and gives ETH of its worth, less 2 % and the network fee of the exchange, or does neither. At most three times in 24 hours.",
  example: {
    input: { userId: EXAMPLE_USER, usdc: "2000000" },
    output: { ...DONE, paidUsdc: "2000000", gotEth: "540000000000000" },
  },
  input: z.strictObject({ userId, usdc, idempotencyKey }),
  returns: z.object({
    ...orderFields,
    paidUsdc: z.string().describe("In USDC's smallest unit"),
    gotEth: z.string().describe("In wei"),
  }),
  handler: async (ctx, { userId, usdc: size = "enough" }, call) => {
    const request = { kind: "gas" as const, amount: "0", ether: "0", cost: "0", size };
    const placed = { userId, kind: "custody" as const, request, call };
    return answer(ctx, placed, false, (paid) => ({
      paidUsdc: paid.amount,
      gotEth: paid.kind === "gas" ? paid.ether : "0",
    }));
  },
});

export const orderEndpoints: MountedEndpoint[] = [send, swap, gas];
