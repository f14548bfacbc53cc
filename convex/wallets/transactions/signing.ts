import type { FunctionArgs } from "convex/server";
import { keccak256, type Address } from "viem";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { UPSTREAM } from "../../providers/chain";
import type { Preparation, Transaction } from "../../providers/chainPreparation";
import { standing, broadcast } from "../../providers/chainTransactions";
import { asAddress } from "../addresses";
import { signTransaction, type Signed } from "../custody/signing";
import { serviceWalletId, type ServiceRole } from "../model";
import { bytesOf } from "./model";
import type { Job, Plan } from "./plan";
import type { Term } from "./queue";
import { mendGap } from "./replacement";
import { nonceAfter } from "./states";

/** Signing with an account's next nonce, and handing stored bytes to the chain: what every transaction goes through. */

/** A call, and everything it needs from the chain. */
type Unsigned = { address: Address; preparation: Preparation; gas: bigint; call: Transaction };

/**
 * Signs an account's call with its next nonce, which is only taken when the bytes are stored. For actions.
 * @param next The next nonce as far as this service has given them out; `null` when it has given out none.
 * @param unlikely What to say when the chain names a nonce that cannot be.
 * @throws AppError `upstream`
 */
async function signNext(
  ctx: ActionCtx,
  { address, preparation, gas, call }: Unsigned,
  { walletId, next, unlikely }: { walletId: string; next: number | null; unlikely: string },
): Promise<Signed> {
  const { mined, fees } = preparation;
  const nonce = nonceAfter(mined, next);
  if (nonce === null) throw new AppError("upstream", unlikely);
  // What was mined and is not any more would hold up all that comes behind it.
  if (mined < nonce) await mendGap(ctx, { walletId, address, mined, only: "ended" });
  return signTransaction(ctx, walletId, { nonce, gas, fees, call });
}

/** The same for a wallet's driver. */
export async function signInTerm(ctx: ActionCtx, job: Job, plan: Plan): Promise<Signed & Term> {
  const { walletId, driver, transaction } = job;
  const { preparation, gas, transaction: call } = plan;
  const address = asAddress(transaction.address);
  const unlikely = `${UPSTREAM} reports transactions that this wallet has not made: nothing was signed`;
  const account = { walletId, next: plan.nextNonce ?? 0, unlikely };
  return { walletId, driver, ...(await signNext(ctx, { address, preparation, gas, call }, account)) };
}

/** The same for a service account, whose nonces several take side by side. */
export async function signForService(ctx: ActionCtx, role: ServiceRole, unsigned: Unsigned): Promise<Signed> {
  const walletId = serviceWalletId(role, unsigned.address);
  const next = await ctx.runQuery(internal.wallets.transactions.replacement.next, { walletId });
  const unlikely = `${UPSTREAM} reports transactions that the ${role} has not made: nothing was signed`;
  return signNext(ctx, unsigned, { walletId, next, unlikely });
}

type Outgoing = Pick<Doc<"transactions">, "_id" | "address" | "nonce" | "rawTransaction" | "replacement">;

/** What the chain's word about handed out bytes makes of their transaction. */
export type Step = Omit<FunctionArgs<typeof internal.wallets.transactions.outcome.advance>, "transactionId">;

/** Whether bytes were stored just now, by who hands them out: then nobody outside can have had them before. */
type Times = { isFirst: boolean };

/** Hands stored bytes to the chain and marks what became of that. Safe to repeat. */
export async function handOut(ctx: ActionCtx, outgoing: Outgoing, times: Times): Promise<void> {
  const step = await sendOut(outgoing, times);
  const transactionId = outgoing._id;
  await ctx.runMutation(internal.wallets.transactions.outcome.advance, { transactionId, ...step });
}

/** Hands stored bytes to the chain. @returns What became of that, which the caller is to mark. */
export async function sendOut(outgoing: Outgoing, { isFirst }: Times): Promise<Step> {
  const { address, nonce } = outgoing;
  const raw = bytesOf(outgoing);
  if (nonce === undefined || raw === null) throw new AppError("internal", "Nothing is signed");
  const sent = await broadcast(raw);
  switch (sent.kind) {
    case "accepted":
      return { to: "broadcast" };
    case "unknown":
      return { to: "unknown", error: sent.reason };
    case "nonce taken":
      return { to: "unknown", error: "The nonce is taken: the chain is asked by which transaction" };
    case "refused": {
      // Bytes that were handed out before may be mined yet, so they never fail by a node's word; and only what the
      // chain has not seen either has failed.
      const gone =
        isFirst &&
        (await standing(asAddress(address), nonce, [keccak256(raw)]).catch(() => null))?.kind === "missing";
      if (!gone) return { to: "unknown", error: sent.reason };
      const error = `The chain refused the transaction: ${sent.reason}`;
      return { to: "failed", onlyFrom: "signed", error, errorCode: "upstream" };
    }
  }
}
