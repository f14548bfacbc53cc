import {
  encodeFunctionData,
  isAddressEqual,
  parseAbi,
  parseErc6492Signature,
  recoverAddress,
  toEventSelector,
  type Address,
  type Hex,
} from "viem";
import {
  getBlock,
  getBlockNumber,
  getChainId,
  getCode,
  getLogs,
  readContract,
  verifyHash,
} from "viem/actions";
import { USDC } from "../../lib/money/base";
import { SECOND } from "../../lib/time";
import { unusableFailure } from "../call";
import { chainClient, clientApart, guarded, requireChain, UPSTREAM, type ChainClient } from "./rpc";
import { lookUp, transfersIn, type LoggedTransfer, type Receipt } from "./transactions";
import { inRanges, placeOf } from "./transfers";

/** USDC on Base from its payee's view: transfers in mined transactions, and EIP-3009 authorizations. */

/** How many blocks before its earliest time a search for a used authorization begins, and how many it asks for at once. */
const LOOK_BACK_BLOCKS = 2_000;
/** Blocks come every two seconds. */
const BLOCK_MS = 2_000;
/** A week. */
const DEEPEST = 302_400;

/** The end of a signature in a wrapper that would deploy its wallet first (ERC-6492). */
const WRAPPED = "6492".repeat(16);

/** EIP-3009, and what else is asked of USDC. */
const usdcAbi = parseAbi([
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function balanceOf(address account) view returns (uint256)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
]);
const [authorizationUsed] = usdcAbi;
const AUTHORIZATION_USED = toEventSelector(authorizationUsed);
const usdc = { address: USDC, abi: usdcAbi } as const;

type MinedPayment = {
  kind: "mined";
  succeeded: boolean;
  /** Seconds of the chain's time from its block to the newest one. */
  ageSeconds: number;
  /** Only of USDC, in the order of their logs. */
  transfers: PaidTransfer[];
};

export type PaidTransfer = LoggedTransfer & {
  /** The nonce of the sender's signed authorization (EIP-3009) that it executed. */
  authorization?: string;
};

/** `known`: a node has it, but it is not mined yet. */
type MissingPayment = { kind: "missing"; known: boolean };

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
    return {
      kind: "mined",
      succeeded: receipt.status === 1,
      ageSeconds: Math.max(0, Number(head.timestamp) - block.time / SECOND),
      transfers: transfersIn(receipt)
        .filter(({ token }) => token === USDC.toLowerCase())
        .map((transfer) => ({ ...transfer, ...authorizationBefore(receipt, transfer.logIndex) })),
    };
  });
}

/** The nonce of the authorization that the contract logs right before its transfer. */
function authorizationBefore({ logs }: Receipt, logIndex: number): { authorization?: string } {
  const at = logs.findIndex((one) => one.logIndex === logIndex);
  const [event, authorizer, nonce] = logs[at - 1]?.topics ?? [];
  const isOurs = logs[at - 1]?.address === USDC.toLowerCase() && event === AUTHORIZATION_USED;
  return isOurs && authorizer === logs[at]?.topics[1] && nonce !== undefined ? { authorization: nonce } : {};
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
  const data = encodeFunctionData({ abi: usdcAbi, functionName: "transferWithAuthorization", args });
  return { to: USDC, data, value: 0n };
}

/**
 * Whether an authorization was used or cancelled, its payer's balance, whether the payer is a contract, and the time of
 * the chain that says so, in epoch seconds.
 * @throws AppError `upstream`
 */
export async function readAuthorization(
  from: Address,
  nonce: Hex,
): Promise<{ used: boolean; balance: bigint; isContract: boolean; at: bigint }> {
  const client = chainClient();
  return guarded(async () => {
    // The block first: what is read after it is at least as new.
    const { timestamp: at } = await getBlock(client, { blockTag: "latest" });
    const [used, balance, code] = await Promise.all([
      readContract(client, { ...usdc, functionName: "authorizationState", args: [from, nonce] }),
      readContract(client, { ...usdc, functionName: "balanceOf", args: [from] }),
      getCode(client, { address: from }),
    ]);
    return { used, balance, isContract: code !== undefined, at };
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
  { sinceMs = Date.now() }: { sinceMs?: number } = {},
): Promise<Hex | null> {
  const client = chainClient();
  return guarded(async () => {
    const last = Number(await getBlockNumber(client));
    const age = Math.ceil(Math.max(0, Date.now() - sinceMs) / BLOCK_MS);
    const first = Math.max(0, last - Math.min(age + LOOK_BACK_BLOCKS, DEEPEST));
    const pieces = inRanges({ first, last, span: LOOK_BACK_BLOCKS }, (fromBlock, toBlock) =>
      getLogs(client, {
        address: USDC,
        event: authorizationUsed,
        args: { authorizer: from, nonce },
        fromBlock: BigInt(fromBlock),
        toBlock: BigInt(toBlock),
      }),
    );
    for await (const { value } of pieces) {
      const used = value.at(-1)?.transactionHash;
      if (used !== undefined) return used;
    }
    return null;
  });
}

/**
 * The signature in the wrapper of a wallet that was made after it was signed (ERC-6492); others are as they are. The
 * wrapper's own call is never made.
 */
export function unwrapped(signature: Hex): { signature: Hex; isWrapped: boolean } {
  const isWrapped = signature.toLowerCase().endsWith(WRAPPED);
  return { signature: isWrapped ? parseErc6492Signature(signature).signature : signature, isWrapped };
}

/**
 * Whether an address has signed a hash (EIP-191's of a text, EIP-712's of data): with a key, or by ERC-1271 as a
 * deployed contract.
 * @throws AppError `upstream`
 */
export async function signedBy(address: Address, hash: Hex, signature: Hex): Promise<boolean> {
  const signer = await recoverAddress({ hash, signature }).catch(() => null);
  if (signer !== null && isAddressEqual(signer, address)) return true;
  return guarded(async () => {
    const client: ChainClient = chainClient();
    if ((await getCode(client, { address })) === undefined) return false;
    return verifyHash(client, { address, hash, signature });
  });
}
