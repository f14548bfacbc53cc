import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { readMode } from "../identity/model";
import { getSetting } from "../lib/env";
import { AppError } from "../lib/errors";
import { formatUnits } from "../lib/money/amounts";
import { defined, listKeys } from "../lib/objects";
import { findWallet } from "./model";
import { createPast, readSum, storeMoves, type Leg } from "./result";
import type { Balances, Book, Past, Payer } from "./tables";
import { findToken, WALLET_TOKENS, type Symbol, toUnits } from "./tokens";

/**
 * The book of a wallet on paper: a past that begins with the deployment's start, and whose moves are orders on paper. Plain
 * functions; those that write are steps of their caller's mutation.
 */

/** The deployment's start: `10000 USDC, 0.5 ETH`. */
export function getPaperStart(): Partial<Record<Symbol, bigint>> {
  const start: Partial<Record<Symbol, bigint>> = {};
  for (const part of getSetting("PAPER_START").split(",")) {
    const [decimal = "", name = ""] = part.trim().split(" ");
    const token = findToken(name);
    if (token !== null) start[token] = (start[token] ?? 0n) + toUnits(decimal, token);
  }
  return start;
}

/** A user's wallet as actions take it. A basic wallet has no book: on paper it moves nothing. */
export async function toPayer(ctx: QueryCtx, wallet: Doc<"wallets">): Promise<Payer> {
  const { walletId, address, kind, userId } = wallet;
  const isOnPaper = kind === "custody" && (await readMode(ctx, userId)) === true;
  return { walletId, address, ...(isOnPaper ? { book: getBook(wallet) } : {}) };
}

/** Ends the book of a user's custody wallet. */
export async function endBook(ctx: MutationCtx, userId: string): Promise<void> {
  const wallet = await findWallet(ctx, userId, "custody");
  if (wallet?.book !== undefined) await ctx.db.patch("wallets", wallet._id, { book: undefined });
}

/** Before it has begun a book holds the start, without a worth to compare with. */
function getBook({ walletId, book }: Doc<"wallets">): Pick<Book, "id" | "past"> {
  if (book !== undefined) return { id: book.id, past: book.past };
  const past = createPast();
  const start = getPaperStart();
  for (const token of listKeys(start)) {
    const raw = start[token] ?? 0n;
    const { feed } = WALLET_TOKENS[token];
    past.held[token] = String(raw);
    past.unpriced[feed] = String(readSum(past.unpriced, feed) + raw);
  }
  return { id: `paper_${walletId}`, past };
}

/**
 * Begins the book of a wallet, in place of an earlier one.
 * @param values What each token of the start is worth, in micro-USD; absent without a live price.
 */
export async function beginBook(
  ctx: MutationCtx,
  { _id, userId }: Doc<"wallets">,
  values: Balances,
  key?: string,
): Promise<Book> {
  const since = Date.now();
  const book: Book = { id: `paper_${crypto.randomUUID()}`, since, past: createPast(), ...defined({ key }) };
  const start = getPaperStart();
  const moves = listKeys(start).map((token) => {
    const worth = values[token];
    const value = worth === undefined ? null : BigInt(worth);
    return { kind: "received" as const, at: since, in: { token, raw: start[token] ?? 0n, value } };
  });
  await storeMoves(ctx, { walletId: book.id, userId }, book.past, moves);
  await ctx.db.patch("wallets", _id, { book });
  return book;
}

/** @throws AppError `invalid_request` if a book does not cover an order and its network fee. */
export function requireCovered({ held }: Past, out: Pick<Leg, "token" | "raw">, fee: bigint): void {
  const spend = (token: Symbol, raw: bigint, has: bigint, purpose = "") => {
    const format = (units: bigint) => formatUnits(units, WALLET_TOKENS[token].decimals);
    if (has >= raw) return;
    const what = `Insufficient ${token} on paper${purpose}: ${format(raw)} needed, the book holds ${format(has)}`;
    throw new AppError("invalid_request", `${what}: order less, or start the book again`);
  };
  const has = readSum(held, out.token);
  spend(out.token, out.raw, has);
  const ether = out.token === "ETH" ? has - out.raw : readSum(held, "ETH");
  spend("ETH", fee, ether, " for the network fee");
}
