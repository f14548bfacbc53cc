import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { endStandingOrders } from "../alerts/model";
import { CHANGED_MODE } from "../alerts/standing";
import { authorize, requireAllowed } from "../identity/access";
import {
  changeRules,
  findAccount,
  getMode,
  RELAXATION_MS,
  requireUnfrozenRules,
  saveAccount,
  type Account,
} from "../identity/model";
import { isPaperDeployment } from "../lib/env";
import { AppError } from "../lib/errors";
import { defined } from "../lib/objects";
import { formatDateTime } from "../lib/time";
import { findApprovingLink } from "../messenger/model";
import { defineMutation } from "../platform/changes";
import { charge } from "../platform/limits/charges";
import { beginBook, endBook } from "../wallets/book";
import { findWallet } from "../wallets/model";
import { vBalances } from "../wallets/tables";
import { announce, NOT_YOU } from "./freeze";

/**
 * The mode of an account: live, or on paper, where orders only move a book. Paper starts at once; going live takes two
 * hours, of which every channel is notified, and a freeze cancels it. Only the owner changes the mode: a stolen key
 * must not switch off a protection that the owner relies on.
 */

const vMode = v.object({
  isOnPaper: v.boolean(),
  isFree: v.boolean(),
  /** Epoch ms; `null` for an account without a switch of its own. */
  since: v.union(v.number(), v.null()),
  liveFrom: v.union(v.number(), v.null()),
});
export type PaperMode = Infer<typeof vMode>;

export const readPaperMode = internalQuery({
  args: { userId: v.string() },
  returns: vMode,
  handler: async (ctx, { userId }): Promise<PaperMode> => {
    const row = await findAccount(ctx, userId);
    const book = (await findWallet(ctx, userId, "custody"))?.book;
    return {
      isOnPaper: getMode(row) === true,
      isFree: row?.login === undefined,
      since: row?.paper?.since ?? book?.since ?? null,
      liveFrom: row?.paper?.liveFrom ?? null,
    };
  },
});

const ONLY_OWNER =
  "Only its owner makes this account live or puts it on paper: by /paper in the bot's chat, or with the owner's token (Authorization: Bearer <token>)";
const IN_USE =
  "This userId holds money or has moved some, so only an owner puts it on paper: own it by the ownerUrl that /mcp/defi/connect answers, or use a new userId";
const OPERATOR_DECIDES = "Every account of this deployment is on paper: only its operator can change that";
const NO_BOOK = "This account is live, and has no book: put it on paper with on: true";

/**
 * Changes the mode, or begins the book anew; a repetition changes nothing.
 * @param args.messengerId The chat that has tapped; absent for a request over HTTP.
 * @param args.isEmpty Whether the id's wallets hold less than a dollar; only for a switch of a free id.
 * @param args.startValues As `beginBook`.
 * @throws AppError `unauthorized`; `forbidden` for all but the owner, or a free id that is in use; `paused` while frozen;
 * `conflict` if the operator decides; `invalid_request`; `rate_limited`.
 */
export const changePaperMode = internalMutation({
  args: {
    userId: v.string(),
    on: v.optional(v.boolean()),
    startAgain: v.boolean(),
    messengerId: v.optional(v.string()),
    keyHash: v.optional(v.string()),
    isEmpty: v.boolean(),
    startValues: vBalances,
    key: v.optional(v.string()),
  },
  returns: v.null(),
  handler: async (ctx, { userId, on, startAgain, isEmpty, startValues, key, ...by }) => {
    await requireOwner(ctx, userId, by);
    await charge(ctx, "settings", { userId, address: null });
    await requireUnfrozenRules(ctx, userId);
    const row = await findAccount(ctx, userId);
    const isOnPaper = getMode(row) === true;
    if (on === false && isPaperDeployment()) throw new AppError("conflict", OPERATOR_DECIDES);
    if (startAgain && !isOnPaper && on !== true) throw new AppError("invalid_request", NO_BOOK);
    const now = Date.now();
    const wallet = await findWallet(ctx, userId, "custody");
    const begin = async () => wallet && (await beginBook(ctx, wallet, startValues, key));
    const isRepeat = key !== undefined && wallet?.book?.key === key;
    if (!isOnPaper && on === true) {
      const isUnused = row?.login !== undefined || (isEmpty && !(await hasMoved(ctx, userId)));
      if (!isUnused) throw new AppError("forbidden", IN_USE);
      await switchMode(ctx, userId, { since: now });
      await begin();
      await announce(ctx, userId, [
        "📝 Paper · your account is on paper",
        "From now on its orders move a book, and nothing real. What its wallet holds stays where it is. It is live again two hours after its owner asks for that.",
      ]);
    } else if (startAgain && !isRepeat) await begin();
    if (row?.paper !== undefined && on !== undefined)
      await setEnd(ctx, row, on ? undefined : now + RELAXATION_MS);
    return null;
  },
});

/** @throws AppError `forbidden`, and as `authorize` */
async function requireOwner(
  ctx: QueryCtx,
  userId: string,
  { messengerId, keyHash }: { messengerId?: string | undefined; keyHash?: string | undefined },
): Promise<void> {
  const now = Date.now();
  if (messengerId === undefined) {
    const decision = await authorize(ctx, userId, "holdings", now, keyHash);
    requireAllowed(decision);
    const isOwners = decision.kind === "allowed" && (decision.by === "owner" || decision.by === "unclaimed");
    if (!isOwners) throw new AppError("forbidden", ONLY_OWNER);
  } else if ((await findApprovingLink(ctx, userId, now))?.messengerId !== messengerId)
    throw new AppError(
      "forbidden",
      "This chat may not change that account's mode: link it in private first, and a newly linked chat waits two hours",
    );
}

/** Whether an order of the id has moved something real. Hashes of orders on paper lie beside each other. */
async function hasMoved(ctx: QueryCtx, userId: string): Promise<boolean> {
  const rows = () =>
    ctx.db.query("orders").withIndex("by_userId_and_txHash", (q) => q.eq("userId", userId).gt("txHash", ""));
  const ends = [await rows().first(), await rows().order("desc").first()];
  const wallets = [await findWallet(ctx, userId, "basic"), await findWallet(ctx, userId, "custody")];
  const hasSigned = wallets.some((wallet) => wallet?.nextNonce !== undefined);
  return hasSigned || ends.some((row) => row !== null && row.paper === undefined);
}

/** Switches the mode: open questions and orders that are not carried out yet are void. */
async function switchMode(ctx: MutationCtx, userId: string, paper: Account["paper"]): Promise<void> {
  await endStandingOrders(ctx, userId, CHANGED_MODE);
  await changeRules(ctx, userId, { paper });
}

/** Sets or takes back the time from which an account on paper is live; a pending one is kept. */
async function setEnd(ctx: MutationCtx, row: Account, liveFrom: number | undefined): Promise<void> {
  const { userId, paper } = row;
  if (paper === undefined || (paper.liveFrom === undefined) === (liveFrom === undefined)) return;
  const { since } = paper;
  await saveAccount(ctx, userId, { paper: { since, ...defined({ liveFrom }) } });
  if (liveFrom === undefined)
    return announce(ctx, userId, [
      "📝 Paper · your account stays on paper",
      "It was to be live, and will not be.",
    ]);
  await ctx.scheduler.runAt(liveFrom, internal.accounts.paper.makeLive, { userId });
  await announce(ctx, userId, [
    "📝 Paper · your account will be live",
    `From ${formatDateTime(liveFrom)} on its orders move real money, and its book is closed.`,
    NOT_YOU,
  ]);
}

/** Makes an account live whose time has come. */
export const makeLive = defineMutation({ userId: v.string() }, async (ctx, { userId }) => {
  const liveFrom = (await findAccount(ctx, userId))?.paper?.liveFrom;
  if (liveFrom === undefined || liveFrom > Date.now()) return;
  await switchMode(ctx, userId, undefined);
  await endBook(ctx, userId);
  await announce(ctx, userId, ["💵 Your account is live", "From now on its orders move real money."]);
});
