import { hashTypedData, isAddressEqual, parseAbiItem, recoverAddress, type Address, type Hex } from "viem";
import { getBlock, getBlockNumber, getChainId, getCode, getLogs, verifyHash } from "viem/actions";
import { CHAIN_ID, USDC } from "../../lib/money/base";
import { sha256Hex } from "../../lib/security/digests";
import { SECOND } from "../../lib/time";
import { unusableFailure } from "../call";
import { chainClient, clientApart, guarded, requireChain, UPSTREAM, type ChainClient } from "./rpc/client";
import { placeOf } from "./blocks";
import { answerOf, authorizations, dataOf, erc20 } from "./rpc/methods";
import { read } from "./rpc/reads";
import { lookUp, transfersIn, type LoggedTransfer } from "./receipts";

/** USDC on Base from its payee's view: transfers in mined transactions, and EIP-3009 authorizations. */

/** How many blocks one search for a used authorization covers; public nodes allow no more at once. */
const LOOK_BACK_BLOCKS = 2_000n;
/** Blocks come every two seconds. */
const BLOCK_MS = 2_000;
const MARGIN = 300n;
/** A week. */
const DEEPEST = 302_400n;

/** The end of a signature that would deploy its wallet first (ERC-6492): no call of a signer's choosing is ever made. */
export const UNDEPLOYED_SUFFIX = "6492649264926492649264926492649264926492649264926492649264926492";

const authorizationUsed = parseAbiItem(
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
);

export type MinedPayment = {
  kind: "mined";
  succeeded: boolean;
  /** The number of blocks from its own to the newest, both included. */
  confirmations: number;
  /** Seconds of the chain's time from its block to the newest one. */
  ageSeconds: number;
  sender: string;
  to: string | null;
  input: Hex;
  /** Only of USDC, in the order of their logs. */
  transfers: LoggedTransfer[];
};

/** `known`: a node has it, but it is not mined yet. */
export type MissingPayment = { kind: "missing"; known: boolean };

/**
 * A transaction with its USDC transfers, as the chain has it now.
 * @returns `missing` if no mined transaction has this hash.
 * @throws AppError `upstream`, also if the RPC serves another chain.
 */
export async function readPayment(hash: Hex): Promise<MinedPayment | MissingPayment> {
  const client = clientApart();
  return guarded(async () => {
    const [chainId, { receipt, transaction }, head] = await Promise.all([
      getChainId(client),
      lookUp(client, hash),
      getBlock(client, { blockTag: "latest" }),
    ]);
    requireChain(chainId);
    if (receipt === null || transaction === null) return { kind: "missing", known: transaction !== null };
    const block = await placeOf(client, receipt.blockNumber);
    if (block === null) throw unusableFailure(UPSTREAM);
    const { from: sender, to = null, input } = transaction;
    return {
      kind: "mined",
      succeeded: receipt.status === 1,
      // The head can be read a moment before the receipt.
      confirmations: Math.max(1, Number(head.number) - receipt.blockNumber + 1),
      ageSeconds: Math.max(0, Number(head.timestamp) - block.time / SECOND),
      ...{ sender, to, input },
      transfers: transfersIn(receipt).filter(({ token }) => token === USDC.toLowerCase()),
    };
  });
}

export type SignedAuthorization = {
  from: Address;
  to: Address;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
  signature: Hex;
};

/** The call that executes an authorization: the overload that also accepts contract wallets' signatures. */
export function authorizationCall(one: SignedAuthorization): { to: Address; data: Hex; value: bigint } {
  const terms = [one.from, one.to, one.value, one.validAfter, one.validBefore] as const;
  const args = [...terms, one.nonce, one.signature] as const;
  return { to: USDC, data: dataOf(authorizations.transfer, args), value: 0n };
}

/**
 * Whether an authorization was used or cancelled, its payer's balance, and the SHA-256 of the payer's code (`null` for
 * an account with a key).
 * @throws AppError `upstream`
 */
export async function readAuthorization(
  from: Address,
  nonce: Hex,
): Promise<{ used: boolean; balance: bigint; codeHash: string | null }> {
  const client = chainClient();
  return guarded(async () => {
    const [state, amount, code] = await Promise.all([
      read(client, { to: USDC, data: dataOf(authorizations.state, [from, nonce]) }),
      read(client, { to: USDC, data: dataOf(erc20.balanceOf, [from]) }),
      getCode(client, { address: from }),
    ]);
    const [used] = answerOf(authorizations.state, state);
    const [balance] = answerOf(erc20.balanceOf, amount);
    return { used, balance, codeHash: code === undefined ? null : sha256Hex(code) };
  });
}

/**
 * The transaction that used an authorization, whoever sent it; `null` if there was none lately.
 * @param sinceMs The earliest time of its use, epoch ms; the search goes back a week at most.
 * @throws AppError `upstream`
 */
export async function findAuthorizationUse(
  from: Address,
  nonce: Hex,
  { sinceMs }: { sinceMs?: number } = {},
): Promise<Hex | null> {
  const client = chainClient();
  return guarded(async () => {
    const head = await getBlockNumber(client);
    const age = sinceMs === undefined ? 0 : Math.max(0, Date.now() - sinceMs);
    const wanted = BigInt(Math.ceil(age / BLOCK_MS));
    const depth = wanted < LOOK_BACK_BLOCKS ? LOOK_BACK_BLOCKS : wanted > DEEPEST ? DEEPEST : wanted + MARGIN;
    const lowest = head > depth ? head - depth : 0n;
    // The newest first; nodes answer for a limited number of blocks per request.
    for (let toBlock = head; ; toBlock -= LOOK_BACK_BLOCKS + 1n) {
      const first = toBlock - LOOK_BACK_BLOCKS;
      const fromBlock = first > lowest ? first : lowest;
      const logs = await getLogs(client, {
        address: USDC,
        event: authorizationUsed,
        args: { authorizer: from, nonce },
        fromBlock,
        toBlock,
      });
      const used = logs.at(-1)?.transactionHash;
      if (used !== undefined) return used;
      if (fromBlock === lowest) return null;
    }
  });
}

const DOMAIN = { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: USDC } as const;
const uint256 = { type: "uint256" } as const;
const TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", ...uint256 },
    { name: "validAfter", ...uint256 },
    { name: "validBefore", ...uint256 },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

/** Whether the payer has signed an authorization, whatever the payer's balance. @throws AppError `upstream` */
export async function isSigned({ signature, ...message }: SignedAuthorization): Promise<boolean> {
  const typed = { domain: DOMAIN, types: TYPES, primaryType: "TransferWithAuthorization", message } as const;
  return signedBy(message.from, hashTypedData(typed), signature);
}

/**
 * Whether an address has signed a hash (EIP-191's of a text, EIP-712's of data): with a key, or by ERC-1271 as a
 * deployed contract.
 * @throws AppError `upstream`
 */
export async function signedBy(address: Address, hash: Hex, signature: Hex): Promise<boolean> {
  if (signature.toLowerCase().endsWith(UNDEPLOYED_SUFFIX)) return false;
  const signer = await recoverAddress({ hash, signature }).catch(() => null);
  if (signer !== null && isAddressEqual(signer, address)) return true;
  return guarded(async () => {
    const client: ChainClient = chainClient();
    if ((await getCode(client, { address })) === undefined) return false;
    return verifyHash(client, { address, hash, signature });
  });
}
