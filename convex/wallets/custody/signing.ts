import {
  isHex,
  type Address,
  type Hex,
  type TransactionSerializableEIP1559,
  type TypedDataDomain,
} from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { open, seal } from "../../lib/sealing";
import { serviceAccountOf } from "../rows";
import { keySeal } from "./seals";
import { serviceAccount, serviceAddress } from "./serviceKeys";

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

/** Signs a transaction; returns its serialised bytes. */
export async function signTransaction(
  ctx: ActionCtx,
  walletId: string,
  transaction: TransactionSerializableEIP1559,
): Promise<Hex> {
  const account = await openAccount(ctx, walletId);
  return account.signTransaction(transaction);
}

export type TypedData = {
  domain: TypedDataDomain;
  types: Record<string, { name: string; type: string }[]>;
  primaryType: string;
  message: Record<string, unknown>;
};

/** Signs EIP-712 typed data; returns the 65-byte signature. */
export async function signTypedData(ctx: ActionCtx, walletId: string, data: TypedData): Promise<Hex> {
  const account = await openAccount(ctx, walletId);
  return account.signTypedData(data);
}

async function openAccount(ctx: ActionCtx, walletId: string): Promise<PrivateKeyAccount> {
  const account = serviceAccountOf(walletId);
  if (account !== null) {
    if (!canSign(walletId)) throw new AppError("internal", `The ${account.role}'s key is another one by now`);
    return serviceAccount(account.role);
  }
  const sealedKey = await ctx.runQuery(internal.wallets.custody.keys.sealed, { walletId });
  const key = await open(sealedKey, keySeal(walletId));
  if (!isHex(key) || key.length !== 66) throw new AppError("internal", "A sealed secret is damaged");
  return privateKeyToAccount(key);
}
