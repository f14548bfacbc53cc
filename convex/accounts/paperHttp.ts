import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatUnits } from "../lib/money/amounts";
import { defined, listKeys } from "../lib/objects";
import { toIso } from "../lib/time";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { EXAMPLE_TIME, EXAMPLE_USER, IDEMPOTENCY_KEY, idempotencyKey, userId } from "../platform/http/input";
import type { Caller } from "../platform/limits/callers";
import { getPaperStart } from "../wallets/book";
import { ensureWallet } from "../wallets/custody/wallets";
import { optionalYesOrNo } from "../wallets/inputs";
import { WALLET_TOKENS } from "../wallets/tokens";
import type { PaperMode } from "./paper";

/** It loads viem, so the first request that needs it imports it. */
const loadHoldings = () => import("../wallets/holdings");

/** An account on paper, over HTTP and in the bot: what its book holds and has made, and its switch. For actions. */

const held = z.array(
  z.object({
    token: z.string(),
    balance: z.string().describe("Exact decimal, in whole tokens"),
    raw: z.string().describe("Digits in the token's smallest unit"),
    valueUsd: z.number().nullable().optional().describe("USD; null without a live price"),
  }),
);
const state = z.object({
  paper: z.boolean().describe("Whether orders of the account move its book, and nothing real"),
  since: z.iso.datetime().nullable(),
  liveFrom: z.iso.datetime().nullable().describe("From when it is live, once that was asked for"),
  balances: held.describe("The book; empty for a live account"),
  startedWith: held,
  resultUsd: z
    .number()
    .nullable()
    .describe(
      "What the book is worth and what was sent, less the worth of its start; null without live prices",
    ),
  resultPercent: z.number().nullable(),
  realValueUsd: z
    .number()
    .optional()
    .describe("What the address really holds beside it, if more than a dollar"),
});
type PaperState = z.infer<typeof state>;

/** The account's mode and book; a wallet is made for a book without one. @throws AppError `upstream` */
async function readPaperState(ctx: ActionCtx, userId: string, caller?: Caller): Promise<PaperState> {
  const mode: PaperMode = await ctx.runQuery(internal.accounts.paper.readPaperMode, { userId });
  const { isOnPaper, since, liveFrom } = mode;
  if (!isOnPaper)
    return {
      ...{ paper: false, since: null, liveFrom: null, balances: [], startedWith: [] },
      ...{ resultUsd: null, resultPercent: null },
    };
  const wallet = await ensureWallet(ctx, { userId, kind: "custody" }, caller);
  const { readPortfolio } = await loadHoldings();
  const { balances, result, realValueUsd } = await readPortfolio(ctx, wallet);
  const isKnown = result.since === null || result.unpriced.length === 0;
  const start = getPaperStart();
  return {
    paper: true,
    since: since === null ? null : toIso(since),
    liveFrom: liveFrom === null ? null : toIso(liveFrom),
    balances: balances.map(({ token, balance, raw, valueUsd }) => ({ token, balance, raw, valueUsd })),
    startedWith: listKeys(start).map((token) => {
      const raw = start[token] ?? 0n;
      return { token, balance: formatUnits(raw, WALLET_TOKENS[token].decimals), raw: raw.toString() };
    }),
    resultUsd: isKnown ? result.totalUsd : null,
    resultPercent: isKnown ? result.percent : null,
    ...defined({ realValueUsd }),
  };
}

type PaperChange = { on?: boolean | undefined; startAgain?: boolean | undefined };

/**
 * Changes the mode, or begins the book anew.
 * @param by The HTTP caller, or the chat that has tapped.
 * @throws AppError as `paper.changePaperMode`; `upstream`
 */
export async function changePaper(
  ctx: ActionCtx,
  userId: string,
  { on, startAgain = false }: PaperChange,
  by: { keyHash?: string | undefined; messengerId?: string; key?: string | undefined; caller?: Caller },
): Promise<void> {
  const { caller, ...credential } = by;
  const mode: PaperMode = await ctx.runQuery(internal.accounts.paper.readPaperMode, { userId });
  const begins = (on === true && !mode.isOnPaper) || startAgain;
  if (begins) await ensureWallet(ctx, { userId, kind: "custody" }, caller);
  await ctx.runMutation(internal.accounts.paper.changePaperMode, {
    userId,
    startAgain,
    isEmpty: begins && mode.isFree && !mode.isOnPaper && (await isEmpty(ctx, userId)),
    startValues: begins ? await (await loadHoldings()).valuePaperStart() : {},
    ...defined({ on, ...credential }),
  });
}

/** In USD: wallets that hold less are empty. */
const EMPTY_USD = 1;

/** Whether all wallets of an id together hold less than a dollar on the chain. */
async function isEmpty(ctx: ActionCtx, userId: string): Promise<boolean> {
  const { readPortfolio } = await loadHoldings();
  let total = 0;
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, { userId, kind });
    if (wallet === null) continue;
    const { balances, totalValueUsd } = await readPortfolio(ctx, wallet);
    if (balances.some(({ raw, valueUsd }) => raw !== "0" && valueUsd === null)) return false;
    total += totalValueUsd;
  }
  return total < EMPTY_USD;
}

const CHAIN_FAILED = "The chain's RPC node failed or did not answer.";
const EXAMPLE_HELD = { token: "USDC", balance: "10000", raw: "10000000000" };
const described = {
  path: "/mcp/defi/paper",
  needs: ["WALLET_ENCRYPTION_KEY"],
  access: "holdings",
  returns: state,
} as const;
const output = {
  paper: true,
  since: EXAMPLE_TIME,
  liveFrom: null,
  balances: [{ ...EXAMPLE_HELD, valueUsd: 10000 }],
  startedWith: [EXAMPLE_HELD],
  resultUsd: 0,
  resultPercent: 0,
};

const show: MountedEndpoint = defineEndpoint({
  ...described,
  methods: ["GET"],
  summary: "Whether the account is on paper, where orders move nothing real; its book, and what it has made.",
  limit: "chain",
  errors: { upstream: CHAIN_FAILED },
  example: { input: { userId: EXAMPLE_USER }, output },
  input: z.object({ userId }),
  handler: async (ctx, { userId }, { caller }) => readPaperState(ctx, userId, caller),
});

const change: MountedEndpoint = defineEndpoint({
  ...described,
  methods: ["POST"],
  summary: "Puts the account on paper at once, makes it live two hours later, or begins its book anew.",
  description:
    "On paper the endpoints of orders answer as they do live, with the same limits, questions, quotes and checks, and `paper: true`; a book is moved, by the quote or the price feeds, whichever is less, and the network fee. Nothing is signed. Only the owner's token switches an owned account over HTTP, no key; a `userId` without an owner goes on paper only while it is unused and holds less than a dollar. `on: false` takes effect two hours later, unless the account is frozen before.",
  limit: "order",
  headers: IDEMPOTENCY_KEY,
  errors: {
    forbidden: "It has an owner, who did not ask for it; or it has none, and holds money or has moved some.",
    conflict: "The operator runs this deployment on paper.",
    paused: "The owner has frozen the account.",
    upstream: CHAIN_FAILED,
  },
  example: { input: { userId: EXAMPLE_USER, on: true }, output },
  input: z.strictObject({
    userId,
    on: optionalYesOrNo.describe("true: on paper at once; false: live two hours later."),
    startAgain: optionalYesOrNo.describe("Begins the book anew, with its start."),
    idempotencyKey,
  }),
  handler: async (ctx, { userId, on, startAgain }, { caller, idempotencyKey: key }) => {
    if (on !== undefined || startAgain === true)
      await changePaper(ctx, userId, { on, startAgain }, { keyHash: caller.keyHash, key, caller });
    return readPaperState(ctx, userId, caller);
  },
});

export const paperEndpoints: MountedEndpoint[] = [show, change];
