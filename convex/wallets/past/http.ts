import * as z from "zod";
import { internal } from "../../_generated/api";
import { AppError } from "../../lib/errors";
import { formatUnits, toUsd } from "../../lib/money/amounts";
import { defined } from "../../lib/objects";
import { toIso } from "../../lib/time";
import { defineEndpoint, Reply, type MountedEndpoint } from "../../platform/http/endpoint";
import { charge } from "../../platform/limits/charges";
import {
  EXAMPLE_ADDRESS,
  EXAMPLE_TIME,
  EXAMPLE_TX,
  EXAMPLE_USER,
  numberInRange,
  optionalUnlessBlank,
  userId,
  wholeNumberWithDefault,
} from "../../platform/http/input";
import { buildWarning, markPaper, walletNotes } from "../inputs";
import { EXPLORER, linkTo, NO_WALLET } from "../model";
import type { NamedMove } from "../tables";
import { WALLET_TOKENS } from "../tokens";
import { describeMove } from "./moves";

/** A wallet's result and all its moves, for people's programs and tax returns. */

const usd = z.number().describe("USD");

export const resultShape = z.object({
  since: z.iso.datetime().nullable().describe("The first move; null before it"),
  paidInUsd: usd.describe("What came in by other hands, each at its worth then"),
  takenOutUsd: usd.describe("What was sent out, or was taken by other hands"),
  realisedUsd: usd.describe("By swaps: what was sold at its worth then, less its average cost"),
  unrealisedUsd: usd.describe("What is held at its worth now, less its average cost"),
  feesUsd: usd.describe("The network fees, each at its worth then"),
  totalUsd: usd.describe("realised + unrealised − fees"),
  percent: z.number().nullable().describe("Of what was paid in; null if that is nothing"),
  unpriced: z.array(z.string()).describe("Tokens without a live price, now or when they came in: left out"),
});

export const EXAMPLE_RESULT = {
  ...{ since: EXAMPLE_TIME, paidInUsd: 240, takenOutUsd: 0, realisedUsd: 0, unrealisedUsd: 10 },
  ...{ feesUsd: 0.007035, totalUsd: 9.992965, percent: 4.16, unpriced: [] },
};

const leg = z.object({
  token: z.string(),
  amount: z.string().describe("Exact decimal, in whole tokens"),
  raw: z.string().describe("Digits in the token's smallest unit"),
  valueUsd: z.number().nullable().describe("Its worth then; null without a live price"),
});

const moveShape = z.object({
  at: z.iso.datetime().describe("Of an order its transaction; of other hands the look that found it"),
  kind: z
    .enum(["swap", "send", "received", "taken", "fee"])
    .describe("received, taken: by other hands; fee: an order that moved nothing else"),
  out: leg.optional(),
  in: leg.optional(),
  feeEth: z.string().optional().describe("The order's network fees, beside `out` and `in`"),
  feeUsd: z.number().nullable().optional(),
  resultUsd: z.number().optional().describe("What a swap has realised, before its fees"),
  to: z.string().optional().describe("The recipient of a send"),
  by: z.string().describe("The credential of the order; others: it was none of this service's"),
  orderId: z.string().optional(),
  txHash: z.string().optional(),
  explorerUrl: z.string().optional(),
});

type StoredLeg = NonNullable<NamedMove["out"]>;

const formatLeg = ({ token, raw }: StoredLeg) => formatUnits(BigInt(raw), WALLET_TOKENS[token].decimals);
const readValue = ({ value }: StoredLeg) => (value === undefined ? null : toUsd(BigInt(value)));
const toPublicLeg = (leg: StoredLeg) => ({
  ...{ token: leg.token, amount: formatLeg(leg), raw: leg.raw, valueUsd: readValue(leg) },
});

function toPublicMove(move: NamedMove): z.output<typeof moveShape> {
  const { at, kind, out, in: into, fee, realised, to, by, orderId, txHash } = move;
  return {
    ...{ at: toIso(at), kind, by },
    ...defined({ out: out && toPublicLeg(out), in: into && toPublicLeg(into) }),
    ...(fee === undefined ? {} : { feeEth: formatLeg(fee), feeUsd: readValue(fee) }),
    ...(realised === undefined ? {} : { resultUsd: toUsd(BigInt(realised)) }),
    ...defined({ to, orderId, txHash }),
    ...linkTo(txHash),
  };
}

/** The columns of Koinly's universal form, which other programs read as well. */
const COLUMNS =
  "Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,Net Worth Amount,Net Worth Currency,Label,Description,TxHash";

function toLine(move: NamedMove, isOnPaper: boolean): string {
  const { at, kind, out, in: into, fee, txHash = "" } = move;
  const columns = (leg: NamedMove["out"]) => (leg === undefined ? ["", ""] : [formatLeg(leg), leg.token]);
  // Such a program wants a row to have something sent or received.
  const [sent, paid] = kind === "fee" ? [fee, undefined] : [out, fee];
  const value = out?.value ?? into?.value ?? fee?.value;
  const worth = value === undefined ? ["", ""] : [formatUnits(BigInt(value), 6), "USD"];
  const date = `${toIso(at).slice(0, 16).replace("T", " ")} UTC`;
  const label = kind === "fee" ? "cost" : "";
  return [
    ...[date, ...columns(sent), ...columns(into), ...columns(paid), ...worth],
    ...[label, `${isOnPaper ? "paper: " : ""}${describeMove(move)}`, txHash],
  ].join();
}

/** Rows of a CSV, and of one query for it. */
const [MOST_ROWS, ROWS_AT_ONCE] = [5_000, 1_000];

const history: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: "/mcp/defi/history",
  summary: "Every move of the custody wallet, newest first, and what it has made.",
  description:
    "The service's own orders, and what came or went by other hands, which each look at the wallet finds by its balances (at a question about it, after an order, and daily); what strangers send for less than a cent waits until it is more. Amounts sum to the balances: `feeEth` is counted nowhere else. Results are by average cost, where ETH and WETH are one thing. On paper the moves are the book's, from its start on.",
  limit: "chain",
  access: "holdings",
  errors: {
    not_found: `${NO_WALLET}.`,
    upstream: "The chain's RPC node failed or did not answer.",
    rate_limited: "Too many tables of this user within an hour.",
  },
  textMedia: "text/csv",
  answerHeaders: { Link: 'Of a CSV with more rows: the address of the next part, `rel="next"`.' },
  example: {
    input: { userId: EXAMPLE_USER },
    output: {
      address: EXAMPLE_ADDRESS,
      network: "base",
      moves: [
        {
          at: EXAMPLE_TIME,
          kind: "swap",
          out: { token: "USDC", amount: "50", raw: "50000000", valueUsd: 50 },
          in: { token: "ETH", amount: "0.0149", raw: "14900000000000000", valueUsd: 49.9 },
          feeEth: "0.0000021",
          feeUsd: 0.007035,
          resultUsd: 0,
          by: "owner",
          txHash: EXAMPLE_TX,
          explorerUrl: EXPLORER + EXAMPLE_TX,
        },
      ],
      next: 12,
      result: EXAMPLE_RESULT,
    },
  },
  input: z.object({
    userId,
    limit: wholeNumberWithDefault(50, 1, 200).describe("Of JSON; a CSV has up to 5000 rows."),
    before: optionalUnlessBlank(numberInRange(1, Number.MAX_SAFE_INTEGER, "int")).describe(
      "The `next` of an earlier answer.",
    ),
    format: optionalUnlessBlank(z.enum(["json", "csv"], "must be json or csv")).describe(
      "csv: the columns of Koinly's universal form; ten an hour.",
    ),
  }),
  returns: z.object({
    address: z.string(),
    network: z.string().describe("base: Base mainnet, chain id 8453"),
    moves: z.array(moveShape),
    next: z.int().nullable().describe("Give it as `before` for older moves; null if there are none"),
    result: resultShape,
    ...walletNotes,
  }),
  handler: async (ctx, { userId, limit, before, format }, call) => {
    if (format === "csv") await charge(ctx, "table", call.caller, "user");
    const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, {
      userId,
      kind: "custody",
    });
    if (wallet === null) throw new AppError("not_found", NO_WALLET);
    const { readPortfolio } = await import("../holdings");
    const { result } = await readPortfolio(ctx, wallet);
    const isOnPaper = wallet.book !== undefined;
    const moves: NamedMove[] = [];
    const most = format === "csv" ? MOST_ROWS : limit;
    let next = before ?? Number.MAX_SAFE_INTEGER;
    while (moves.length < most && next > 1) {
      const page = {
        walletId: wallet.book?.id ?? wallet.walletId,
        before: next,
        limit: Math.min(most - moves.length, ROWS_AT_ONCE),
      };
      const found: NamedMove[] = await ctx.runQuery(internal.wallets.past.looks.listMoves, page);
      moves.push(...found);
      next = found.at(-1)?.n ?? 1;
    }
    if (format !== "csv")
      return {
        ...{ address: wallet.address, network: "base", moves: moves.map(toPublicMove) },
        ...{ next: next > 1 ? next : null, result, ...markPaper(isOnPaper), ...buildWarning(call) },
      };
    const on = `/mcp/defi/history?userId=${encodeURIComponent(call.requestedId ?? userId)}&format=csv&before=${next}`;
    const headers: Record<string, string> = next > 1 ? { Link: `<${on}>; rel="next"` } : {};
    return new Reply([COLUMNS, ...moves.map((move) => toLine(move, isOnPaper)), ""].join("\r\n"), headers);
  },
});

export const historyEndpoints: MountedEndpoint[] = [history];
