import {
  encodeFunctionData,
  hashTypedData,
  isAddressEqual,
  parseAbi,
  parseAbiParameters,
  parseErc6492Signature,
  recoverAddress,
  toEventSelector,
  type Address,
  type Hex,
  type TypedDataDomain,
} from "viem";
import { call, getBlock, getBlockNumber, getLogs, readContract } from "viem/actions";
import { CHAIN_ID, USDC } from "../../lib/money/base";
import { readInRanges, type Log } from "./blocks";
import { withChainErrors, asHexText, orNullIfReverted } from "./rpc";

/** USDC on Base: signed payment authorizations (EIP-3009), and the verification of signatures. */

/** Blocks before its earliest time at which the search for a used authorization begins, and blocks per request. */
const LOOK_BACK_BLOCKS = 2_000;
/** Base's block time. */
const BLOCK_MS = 2_000;
/** The search depth: a week of blocks. */
const DEEPEST = 302_400;

/** The suffix of an ERC-6492 signature, whose wrapper would deploy its wallet first. */
const WRAPPED = "6492".repeat(16);

/** EIP-3009, and the other USDC functions in use. */
const usdcAbi = parseAbi([
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function balanceOf(address account) view returns (uint256)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
]);
const [authorizationUsed] = usdcAbi;
const AUTHORIZATION_USED = toEventSelector(authorizationUsed);
const usdc = { address: USDC, abi: usdcAbi } as const;

/** The authorization nonce of a transfer: the contract logs `AuthorizationUsed` right before it. */
export function findAuthorizationBefore(transfer: Log, before: Log | undefined): { authorization?: string } {
  const [event, authorizer, nonce] = before?.topics ?? [];
  const isOurs = before?.address === USDC.toLowerCase() && transfer.address === before.address;
  if (!isOurs || event !== AUTHORIZATION_USED || nonce === undefined) return {};
  return authorizer === transfer.topics[1] ? { authorization: nonce } : {};
}

/** A signed payment as x402 writes it: hex in lower case, and digits. */
export type SignedAuthorization = Record<
  "from" | "to" | "value" | "validAfter" | "validBefore" | "nonce" | "signature",
  string
>;
/** The identity of an authorization. */
type NamedAuthorization = Pick<SignedAuthorization, "from" | "nonce">;

/** Whether the payer has signed an authorization, even if other conditions prevent it. @throws AppError `upstream` */
export function isSignedByPayer(one: SignedAuthorization): Promise<boolean> {
  return isSignedBy(one.from, hashTypedData(buildAuthorizationData(one)), one.signature);
}

const SIGNED = parseAbiParameters(
  "address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce",
);

/** EIP-712 data to sign. */
export type TypedData = {
  domain: TypedDataDomain;
  types: Record<string, { name: string; type: string }[]>;
  primaryType: string;
  message: Record<string, unknown>;
};

/** What a payer signs, in the domain of USDC on Base. */
export function buildAuthorizationData(one: Omit<SignedAuthorization, "signature">): TypedData {
  return {
    domain: { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: USDC },
    types: { TransferWithAuthorization: [...SIGNED] },
    primaryType: "TransferWithAuthorization",
    message: parseTerms(one),
  };
}

function parseTerms(one: Omit<SignedAuthorization, "signature">) {
  return {
    from: asHexText(one.from),
    to: asHexText(one.to),
    value: BigInt(one.value),
    validAfter: BigInt(one.validAfter),
    validBefore: BigInt(one.validBefore),
    nonce: asHexText(one.nonce),
  };
}

/** The call that executes an authorization: the overload that also accepts contract wallets' signatures. */
export function buildAuthorizationCall(one: SignedAuthorization): { to: Address; data: Hex; value: bigint } {
  const { from, to, value, validAfter, validBefore, nonce } = parseTerms(one);
  const signature = unwrapSignature(one.signature);
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  const data = encodeFunctionData({ abi: usdcAbi, functionName: "transferWithAuthorization", args });
  return { to: USDC, data, value: 0n };
}

/**
 * An authorization's state (used or cancelled), its payer's balance, and the chain's time of both, in epoch seconds.
 * @throws AppError `upstream`
 */
export async function readAuthorization(
  one: NamedAuthorization,
): Promise<{ used: boolean; balance: bigint; at: bigint }> {
  const [from, nonce] = [asHexText(one.from), asHexText(one.nonce)];
  return withChainErrors(async (client) => {
    // Read all at one block: a lagging node behind the same address would report as unused an authorization that has
    // expired by that time.
    const { timestamp: at, number: blockNumber } = await getBlock(client, { blockTag: "latest" });
    const [used, balance] = await Promise.all([
      readContract(client, { ...usdc, blockNumber, functionName: "authorizationState", args: [from, nonce] }),
      readContract(client, { ...usdc, blockNumber, functionName: "balanceOf", args: [from] }),
    ]);
    return { used, balance, at };
  });
}

/**
 * The transaction that used an authorization, from any sender; `null` if there is no recent one.
 * @param sinceMs The earliest time of its use, epoch ms; the search goes back a week at most.
 * @throws AppError `upstream`
 */
export async function findAuthorizationUse(
  one: NamedAuthorization,
  sinceMs = Date.now(),
): Promise<Hex | null> {
  const args = { authorizer: asHexText(one.from), nonce: asHexText(one.nonce) };
  return withChainErrors(async (client) => {
    const last = Number(await getBlockNumber(client));
    const age = Math.ceil(Math.max(0, Date.now() - sinceMs) / BLOCK_MS);
    const first = Math.max(0, last - Math.min(age + LOOK_BACK_BLOCKS, DEEPEST));
    const pieces = readInRanges({ first, last, span: LOOK_BACK_BLOCKS }, (range) => {
      const [fromBlock, toBlock] = [BigInt(range.first), BigInt(range.last)];
      return getLogs(client, { address: USDC, event: authorizationUsed, args, fromBlock, toBlock });
    });
    for await (const { value } of pieces) {
      const used = value.at(-1)?.transactionHash;
      if (used !== undefined) return used;
    }
    return null;
  });
}

/** Removes the ERC-6492 wrapper of a wallet that was deployed after signing: the wrapper's own call is never made. */
function unwrapSignature(signature: string): Hex {
  const hex = asHexText(signature);
  return hex.endsWith(WRAPPED) ? parseErc6492Signature(hex).signature : hex;
}

const walletAbi = parseAbi([
  "function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4 magic)",
]);
const VALID = "0x1626ba7e";
/** A passkey's signature costs some 400,000; an endless external contract is stopped here. */
const VALIDATION_GAS = 1_000_000n;

/**
 * Whether an address has signed a hash (EIP-191's of a text, EIP-712's of data): with a key, or by ERC-1271 as a
 * deployed contract.
 * @throws AppError `upstream`: viem's own function would report an unanswered request as a wrong signature
 */
export async function isSignedBy(owner: string, hash: Hex, signed: string): Promise<boolean> {
  const [address, signature] = [asHexText(owner), unwrapSignature(signed)];
  const signer = await recoverAddress({ hash, signature }).catch(() => null);
  if (signer !== null && isAddressEqual(signer, address)) return true;
  const args = [hash, signature] as const;
  const data = encodeFunctionData({ abi: walletAbi, functionName: "isValidSignature", args });
  const asked = { to: address, data, gas: VALIDATION_GAS };
  const answer = await withChainErrors((client) => orNullIfReverted(call(client, asked)));
  return answer?.data?.length === 66 && answer.data.startsWith(VALID);
}
