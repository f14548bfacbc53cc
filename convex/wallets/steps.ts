import { type Address, type Hex, keccak256 } from "viem";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { CHAIN_ID } from "../lib/base";
import { AppError } from "../lib/errors";
import { UPSTREAM } from "../providers/chain";
import { type Preparation, prepareTransaction, type Transaction } from "../providers/chainPreparation";
import { broadcast, standing } from "../providers/chainTransactions";
import { asAddress, asHex } from "./addresses";
import { signTransaction } from "./custody/signing";
import { otherWalletHint } from "./hints";
import { nonceAfter } from "./machine";
import { gasOf, insufficient, shortfall, withGas } from "./plans";
import { mendGap } from "./replacing";
import type { Work } from "./rows";
import type { SwapTerms } from "./tables";
import { type Symbol, TOKENS } from "./tokens";

/** The steps that every transaction takes: it is affordable, it is signed, it is handed out. */

export type Job = Work & { walletId: string; driver: number };

/** Ready to be signed. */
export type Plan = {
  transaction: Transaction;
  preparation: Preparation;
  gas: bigint;
  /** As far as this service knows; the chain may know of more. */
  nextNonce: number | null;
  terms?: SwapTerms;
};

/**
 * Everything the transaction needs from the chain, once the wallet is known to hold what it takes.
 * @param wantedGas What a quote says the call takes, if more than the chain estimates.
 */
export async function affordable(
  ctx: ActionCtx,
  job: Job,
  from: Address,
  transaction: Transaction,
  spent: { token: Symbol; amount: bigint },
  wantedGas = 0n,
): Promise<Plan> {
  const preparation = withGas(
    await prepareTransaction(from, transaction, TOKENS[spent.token].address),
    wantedGas,
  );
  const short = shortfall(spent, preparation);
  if (short !== null) {
    const hint = await otherWalletHint(ctx, job.userId, job.walletId, short.token, spent.amount);
    throw new AppError("invalid_request", `${short.missing}${hint}`);
  }
  return { transaction, preparation, gas: gasOf(preparation), nextNonce: job.nextNonce };
}

/**
 * Ends a request for which the wallet holds too little.
 * @throws AppError `invalid_request`, always.
 */
export async function refuseFor(
  ctx: ActionCtx,
  job: Job,
  token: Symbol,
  needed: bigint,
  held: bigint,
): Promise<never> {
  const hint = await otherWalletHint(ctx, job.userId, job.walletId, token, needed);
  throw new AppError("invalid_request", `${insufficient(token, needed, held)}${hint}`);
}

export type Signed = { walletId: string; driver: number; nonce: number; rawTransaction: Hex; txHash: Hex };

/**
 * Signs with the wallet's next nonce; the nonce is only taken when the bytes are stored.
 * @throws AppError `upstream` when the chain names a nonce that cannot be.
 */
export async function sign(ctx: ActionCtx, job: Job, plan: Plan): Promise<Signed> {
  const { preparation, transaction, gas, nextNonce } = plan;
  const { mined } = preparation;
  const nonce = nonceAfter(mined, nextNonce ?? 0);
  if (nonce === null) {
    throw new AppError(
      "upstream",
      `${UPSTREAM} tells of transactions that this wallet has not made: nothing was signed`,
    );
  }
  // What was mined and is not any more would hold up all that comes behind it.
  if (mined < nonce) {
    const address = asAddress(job.transaction.address);
    await mendGap(ctx, { walletId: job.walletId, address, mined, only: "ended" });
  }
  const rawTransaction = await signTransaction(ctx, job.walletId, {
    type: "eip1559",
    chainId: CHAIN_ID,
    nonce,
    gas,
    ...preparation.fees,
    ...transaction,
  });
  const { walletId, driver } = job;
  return { walletId, driver, nonce, rawTransaction, txHash: keccak256(rawTransaction) };
}

type Outgoing = Pick<Work["transaction"], "_id" | "address" | "nonce" | "rawTransaction" | "replacement">;

/** Hands stored bytes to the chain and marks what became of that. Safe to repeat. */
export async function handOut(
  ctx: ActionCtx,
  { _id, address, nonce, rawTransaction, replacement }: Outgoing,
): Promise<void> {
  const bytes = replacement?.rawTransaction ?? rawTransaction;
  if (nonce === undefined || bytes === undefined) throw new AppError("internal", "Nothing is signed");
  const raw = asHex(bytes);
  const first = await ctx.runMutation(internal.wallets.transactions.beginHandOut, { transactionId: _id });
  const outcome = await broadcast(raw);
  const advance = (to: "broadcast" | "unknown", error?: string) =>
    ctx.runMutation(internal.wallets.transactions.advance, {
      transactionId: _id,
      to,
      ...(error === undefined ? {} : { error }),
    });
  switch (outcome.kind) {
    case "accepted":
      await advance("broadcast");
      return;
    case "unknown":
      await advance("unknown", outcome.reason);
      return;
    case "nonce taken":
      await advance("unknown", "The nonce is taken: the chain is asked by whom");
      return;
    case "refused": {
      // Bytes that were handed out before may be mined yet, so they never fail by a node's word; and only what the
      // chain has not seen either has failed.
      const gone =
        first &&
        (await standing(asAddress(address), nonce, [keccak256(raw)]).catch(() => null))?.kind === "missing";
      if (!gone) return void (await advance("unknown", outcome.reason));
      await ctx.runMutation(internal.wallets.transactions.advance, {
        transactionId: _id,
        to: "failed",
        onlyFrom: "signed",
        error: `The chain refused the transaction: ${outcome.reason}`,
        errorCode: "upstream",
      });
    }
  }
}
