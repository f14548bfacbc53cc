import { isHex, keccak256, type Address, type Hex } from "viem";
import {
  generatePrivateKey,
  privateKeyToAccount,
  signTransaction as signTransactionWith,
  signTypedData as signTypedDataWith,
} from "viem/accounts";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { CHAIN_ID } from "../../lib/money/base";
import { getOptional, getRequired } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { openSeal, requireSeal, seal } from "../../lib/seals";
import type { Fees, Transaction } from "../../providers/chain/accounts";
import type { TypedData } from "../../providers/chain/usdc";
import { getKeySeal } from "./tables";
import { type LiveOrder } from "../model";
import { parseServiceWalletId, type ServiceRole } from "../service";

/**
 * The custody provider: takes an order's id, returns a signature. This is the only file that unseals a key, for the
 * moment of one signature; a hosted provider with the same interface can replace it. For actions.
 */

/** Whether this service can sign for an account. A service account needs its key to be the configured one. */
export function canSign(walletId: string): boolean {
  const account = parseServiceWalletId(walletId);
  return account === null || account.address === getServiceAddress(account.role);
}

/** Generates a wallet: its id, its address and its sealed key. Nothing is stored yet. */
export async function createWallet(): Promise<{ walletId: string; address: Address; sealedKey: string }> {
  const walletId = `wal_${crypto.randomUUID().replaceAll("-", "")}`;
  const key = generatePrivateKey();
  const { address } = privateKeyToAccount(key);
  return { walletId, address, sealedKey: await seal(key, getKeySeal(walletId)) };
}

/**
 * Requires that this service could sign for a user's wallet, without opening its key: for rehearsals.
 * @throws AppError `internal` if not.
 */
export async function requireKey(ctx: ActionCtx, walletId: string): Promise<void> {
  const envelope = await ctx.runQuery(internal.wallets.custody.wallets.envelope, { walletId });
  requireSeal(envelope, getKeySeal(walletId));
}

export type Unsigned = { nonce: number; gas: bigint; fees: Fees; call: Transaction };

/** Signed bytes, their nonce and their transaction hash. */
type Signed = { nonce: number; raw: Hex; hash: Hex };

/** The order to sign for, and whether the transaction moves nothing. No key opens without an order. */
type Under = { order: LiveOrder; isEmpty: boolean };

/** Signs a transaction of an account. Only for `wallets/orders/signer`, which checks it against the order. */
export async function signTransaction(ctx: ActionCtx, under: Under, unsigned: Unsigned): Promise<Signed> {
  const { nonce, gas, fees, call } = unsigned;
  const transaction = { type: "eip1559" as const, chainId: CHAIN_ID, nonce, gas, ...fees, ...call };
  const raw = await signTransactionWith({ privateKey: await openKey(ctx, under), transaction });
  return { nonce, raw, hash: keccak256(raw) };
}

/** Signs EIP-712 typed data for a user's wallet; returns the 65-byte signature. For the signer alone. */
export async function signTypedData(ctx: ActionCtx, under: Under, data: TypedData): Promise<Hex> {
  return signTypedDataWith({ ...data, privateKey: await openKey(ctx, under) });
}

/**
 * Returns the key alone, not a viem account: deriving the public key costs as much as a signature, which does not need
 * it.
 */
async function openKey(ctx: ActionCtx, { order: { _id: orderId, walletId }, isEmpty }: Under): Promise<Hex> {
  const account = parseServiceWalletId(walletId);
  if (account !== null) {
    if (canSign(walletId)) return getServiceKey(account.role);
    throw new AppError("internal", `The ${account.role}'s key has been changed since`);
  }
  const envelope = await ctx.runQuery(internal.wallets.custody.wallets.getSealedKey, {
    orderId,
    isEmpty,
    now: Date.now(),
  });
  const key = await openSeal(envelope, getKeySeal(walletId));
  if (!isHex(key) || key.length !== 66) throw new AppError("internal", "A sealed secret is damaged");
  return key;
}

/**
 * Private keys of the service's own accounts, which hold only gas. The relayer executes signed payments and can
 * redirect none, because the payer's signature covers payee and amount. The anchor writes the signal record's head to
 * the chain. This is the only file that reads these keys.
 */
const KEYS = { relayer: "X402_RELAYER_PRIVATE_KEY", anchor: "ANCHOR_PRIVATE_KEY" } as const satisfies Record<
  ServiceRole,
  string
>;

/** @throws AppError `not_configured` without a usable key; no message contains its value. */
function getServiceKey(role: ServiceRole): Hex {
  const key = getRequired(KEYS[role]);
  try {
    if (isHex(key) && privateKeyToAccount(key)) return key;
  } catch {
    // The key is zero or above the curve's order. The original error may quote the key, so it is dropped.
  }
  throw new AppError("not_configured", `${KEYS[role]} is not configured correctly`);
}

/** The checksummed address that pays the gas; `null` without a key. */
export function getServiceAddress(role: ServiceRole): Address | null {
  return getOptional(KEYS[role]) === undefined ? null : privateKeyToAccount(getServiceKey(role)).address;
}
