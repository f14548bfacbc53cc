import type { FunctionArgs } from "convex/server";
import type { Address } from "viem";
import { internal } from "../../../_generated/api";
import type { Doc } from "../../../_generated/dataModel";
import type { ActionCtx } from "../../../_generated/server";
import { AppError } from "../../../lib/errors";
import { log } from "../../../lib/log";
import { UPSTREAM } from "../../../providers/chain/rpc/client";
import type { Preparation, Transaction } from "../../../providers/chain/preparation";
import { broadcast, saysAgain, type Broadcast } from "../../../providers/chain/transactions";
import { storedAddress } from "../../addresses";
import { signAsService, type Signed, type Unsigned as Bytes } from "../../custody/signatures";
import { serviceWalletId, type ServiceRole } from "../../custody/services";
import { permissionOf } from "../../permits";
import { bytesOf } from "../bytes";
import type { Job, Plan } from "../terms/plan";
import type { Term } from "./queue";
import { mendGap } from "./replacement";
import { signOrdered } from "../terms/signer";
import { nonceAfter } from "../states";

/** Signs with an account's next nonce, and sends stored bytes to the chain: every transaction passes here. */

/** A call, and everything it needs from the chain. */
type Unsigned = { address: Address; preparation: Preparation; gas: bigint; call: Transaction };

type Account = {
  walletId: string;
  next: number;
  /** Whether the account may have signed elsewhere: then the chain's count is believed after two equal answers. */
  isNew?: boolean;
  /** Whether its key may be in use elsewhere at all. A user's key is only here. */
  isShared: boolean;
  /** The message for an impossible nonce of the chain. */
  unlikely: string;
};

/**
 * Gives an account's call its next nonce, which is only taken when the bytes are stored. For actions.
 * @param next The next nonce, as far as this service has assigned them.
 * @throws AppError `upstream`; `paused` for a user's wallet of which the chain knows more transactions than this
 * service.
 */
async function nextBytes(
  ctx: ActionCtx,
  { address, preparation, gas, call }: Unsigned,
  { walletId, next, isNew = false, isShared, unlikely }: Account,
): Promise<Bytes> {
  const { mined, fees } = preparation;
  if (mined > next && !isShared) throw await aheadOf(address, mined, unlikely);
  const nonce = nonceAfter(mined, next) ?? (isNew && (await saysAgain(address, mined)) ? mined : null);
  if (nonce === null) throw new AppError("upstream", unlikely);
  // A transaction that was mined and is no longer would hold up all later ones.
  if (mined < nonce) await mendGap(ctx, { walletId, address, mined, only: "ended" });
  return { nonce, gas, fees, call };
}

/**
 * The chain knows transactions of a user's wallet that this service does not: it was restored from a backup, and its
 * orders and limits are too old to sign by.
 */
async function aheadOf(address: Address, mined: number, unlikely: string): Promise<AppError> {
  if (!(await saysAgain(address, mined))) return new AppError("upstream", unlikely);
  log.error("wallets.behind the chain", { address, mined });
  return new AppError(
    "paused",
    "The chain knows transactions of this wallet that this service does not: nothing is signed until the operator has read it back",
  );
}

/** Signs for a wallet's driver, under the order's permission: the order's own call, or the approval that it needs first. */
export async function signInTerm(ctx: ActionCtx, job: Job, plan: Plan): Promise<Signed & Term> {
  const { walletId, driver, transaction } = job;
  const { preparation, gas, mostFee, transaction: call } = plan;
  const address = storedAddress(transaction.address);
  const unlikely = `${UPSTREAM} reports transactions that this wallet has not made: nothing was signed`;
  const account = { walletId, next: plan.nextNonce ?? 0, isShared: false, unlikely };
  const unsigned = await nextBytes(ctx, { address, preparation, gas, call }, account);
  const least = plan.terms === undefined ? undefined : BigInt(plan.terms.minBuyAmount);
  const signed = await signOrdered(ctx, permissionOf(transaction), { address, unsigned, mostFee, least });
  return { walletId, driver, ...signed };
}

/** Signs for a service account, whose nonces several actions use in parallel. */
export async function signForService(ctx: ActionCtx, role: ServiceRole, unsigned: Unsigned): Promise<Signed> {
  const walletId = serviceWalletId(role, unsigned.address);
  const given = await ctx.runQuery(internal.wallets.transactions.progress.nonces.next, { walletId });
  const unlikely = `${UPSTREAM} reports transactions that the ${role} has not made: nothing was signed`;
  return signAsService(
    walletId,
    await nextBytes(ctx, unsigned, { walletId, ...given, isShared: true, unlikely }),
  );
}

type Outgoing = Pick<Doc<"transactions">, "_id" | "rawTransaction" | "replacement">;

/** The transaction's step after the chain's answer to sent bytes. */
export type Step = Omit<
  FunctionArgs<typeof internal.wallets.transactions.progress.outcome.advance>,
  "transactionId"
>;

/** Sends stored bytes to the chain and stores the outcome. Safe to repeat. @returns The node's answer. */
export async function handOut(ctx: ActionCtx, outgoing: Outgoing): Promise<Broadcast["kind"]> {
  const sent = await broadcastStored(outgoing);
  const transactionId = outgoing._id;
  await ctx.runMutation(internal.wallets.transactions.progress.outcome.advance, {
    transactionId,
    ...stepAfter(sent),
  });
  return sent.kind;
}

/** Sends stored bytes to the chain. @returns The outcome, which the caller has to store. */
export async function sendOut(outgoing: Outgoing): Promise<Step> {
  return stepAfter(await broadcastStored(outgoing));
}

function broadcastStored(outgoing: Outgoing): Promise<Broadcast> {
  const raw = bytesOf(outgoing);
  if (raw === null) throw new AppError("internal", "Nothing is signed");
  return broadcast(raw);
}

/**
 * A node that refuses the bytes may have passed them on, or be one of several behind one address: they have only failed
 * once the chain shows that another transaction has used their nonce (`outcome.ts`).
 */
function stepAfter(sent: Broadcast): Step {
  switch (sent.kind) {
    case "accepted":
      return { to: "broadcast" };
    case "nonce taken":
      return { to: "unknown", error: "The nonce is taken: the chain is asked by which transaction" };
    case "unknown":
    case "refused":
      return { to: "unknown", error: sent.reason };
  }
}
