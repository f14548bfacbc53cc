import { isHex, keccak256, type Address, type Hex, type TypedDataDomain } from "viem";
import {
  generatePrivateKey,
  privateKeyToAccount,
  signTransaction as signTransactionWith,
  signTypedData as signTypedDataWith,
  type PrivateKeyAccount,
} from "viem/accounts";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { CHAIN_ID } from "../../lib/base";
import { optional, required } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { open, seal } from "../../lib/sealing";
import type { Fees } from "../../providers/chainFees";
import type { Transaction } from "../../providers/chainPreparation";
import { keySeal } from "./envelopes";
import { serviceAccountOf, type ServiceRole } from "./services";

/**
 * The custody provider: wallet id in, signature out. The only place where a key is ever in clear, for the moment of one
 * signature; a hosted provider with the same verbs can take its place. For actions.
 */

/** Whether this service can sign for an account: a service account's only while its key is the configured one. */
export function canSign(walletId: string): boolean {
  const account = serviceAccountOf(walletId);
  return account === null || account.address === serviceAddress(account.role);
}

/** A new wallet: its id, its address, and its key, sealed. Nothing is stored yet. */
export async function createWallet(): Promise<{ walletId: string; address: Address; sealedKey: string }> {
  const walletId = `wal_${crypto.randomUUID().replaceAll("-", "")}`;
  const key = generatePrivateKey();
  const { address } = privateKeyToAccount(key);
  return { walletId, address, sealedKey: await seal(key, keySeal(walletId)) };
}

export type Unsigned = { nonce: number; gas: bigint; fees: Fees; call: Transaction };

/** Bytes that take a nonce, and the hash under which they are mined. */
export type Signed = { nonce: number; rawTransaction: Hex; txHash: Hex };

/** Signs a transaction. */
export async function signTransaction(
  ctx: ActionCtx,
  walletId: string,
  { nonce, gas, fees, call }: Unsigned,
): Promise<Signed> {
  const transaction = { type: "eip1559" as const, chainId: CHAIN_ID, nonce, gas, ...fees, ...call };
  const own = ownAccount(walletId);
  const rawTransaction =
    own === null
      ? await signTransactionWith({ privateKey: await openKey(ctx, walletId), transaction })
      : await own.signTransaction(transaction);
  return { nonce, rawTransaction, txHash: keccak256(rawTransaction) };
}

export type TypedData = {
  domain: TypedDataDomain;
  types: Record<string, { name: string; type: string }[]>;
  primaryType: string;
  message: Record<string, unknown>;
};

/** Signs EIP-712 typed data; returns the 65-byte signature. */
export async function signTypedData(ctx: ActionCtx, walletId: string, data: TypedData): Promise<Hex> {
  const own = ownAccount(walletId);
  if (own !== null) return own.signTypedData(data);
  return signTypedDataWith({ ...data, privateKey: await openKey(ctx, walletId) });
}

/** The service's own account, with its configured key; `null` for a wallet of a user's. */
function ownAccount(walletId: string): PrivateKeyAccount | null {
  const account = serviceAccountOf(walletId);
  if (account === null) return null;
  if (!canSign(walletId)) throw new AppError("internal", `The ${account.role}'s key has been changed since`);
  return serviceAccount(account.role);
}

/** No account is made of it: that takes its public key, which costs as much as a signature and is not needed for one. */
async function openKey(ctx: ActionCtx, walletId: string): Promise<Hex> {
  const sealedKey = await ctx.runQuery(internal.wallets.custody.envelopes.sealed, { walletId });
  const key = await open(sealedKey, keySeal(walletId));
  if (!isHex(key) || key.length !== 66) throw new AppError("internal", "A sealed secret is damaged");
  return key;
}

/**
 * Of the service's own accounts, which hold gas and nothing else. The relayer carries out signed payments: it can redirect
 * nothing, since who pays whom how much is signed by the payer. The anchor puts the signal record's head on the chain. This
 * is the only place where their keys are read.
 */
const KEYS = { relayer: "X402_RELAYER_PRIVATE_KEY", anchor: "ANCHOR_PRIVATE_KEY" } as const satisfies Record<
  ServiceRole,
  string
>;

/** @throws AppError `not_configured` without a usable key; its value is in no message. */
function serviceAccount(role: ServiceRole): PrivateKeyAccount {
  const key = required(KEYS[role]);
  try {
    if (isHex(key)) return privateKeyToAccount(key);
  } catch {
    // Zero, or above the curve's order: the thrown message may quote the key.
  }
  throw new AppError("not_configured", `${KEYS[role]} is not configured correctly`);
}

/** The address that pays the gas, checksummed; `null` without a key. */
export function serviceAddress(role: ServiceRole): Address | null {
  return optional(KEYS[role]) === undefined ? null : serviceAccount(role).address;
}
