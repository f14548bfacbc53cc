import {
  decodeAbiParameters,
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  isAddressEqual,
  multicall3Abi,
  parseAbi,
  type AbiParameter,
  type Address,
  type Hex,
} from "viem";
import { call, getBalance, getCode, readContract } from "viem/actions";
import { unusableFailure } from "../call";
import { chainClient, guarded, revertOf, UPSTREAM, type ChainClient } from "./rpc";

/** What contracts and accounts tell, by calls that change nothing: balances, price feeds, the swap provider's registry. */

const MULTICALL3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** What is sent to a contract: `data` is the ABI's encoding of a call. */
export type Read = { to: Address; data: Hex };

/** The bytes that a call returned; `null` if it reverted. */
export type Outcome = Hex | null;

/** The block to read at; by default the newest one that is mined. */
type At = { blockTag: "pending" } | { blockNumber: bigint };

const AMOUNT = [{ type: "uint256" }] as const;

/** What an address holds of the chain's own coin, as Multicall3 tells it beside other reads. */
export function etherOf(owner: Address): Read {
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: "getEthBalance", args: [owner] });
  return { to: MULTICALL3, data };
}

/**
 * Many calls through Multicall3, in one; if the chain has none, each for itself. viem's own function takes a node that
 * does not answer for calls that revert.
 * @returns The bytes of each answer; of an address without code `0x`; `null` for a call that reverts.
 * @throws viem's error if nobody answers
 */
export async function readMany(client: ChainClient, reads: readonly Read[], at?: At): Promise<Outcome[]> {
  const calls = reads.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }));
  const aggregate = { abi: multicall3Abi, functionName: "aggregate3" } as const;
  const all = { to: MULTICALL3, data: encodeFunctionData({ ...aggregate, args: [calls] }) };
  const { data } = await call(client, { ...all, ...at });
  if (data === undefined) {
    const alone = async (one: Read) => {
      const answer = await call(client, { ...one, ...at }).catch((error: unknown) => {
        if (revertOf(error) === null) throw error;
        return null;
      });
      return answer === null ? null : (answer.data ?? "0x");
    };
    return Promise.all(reads.map(alone));
  }
  const results = decodeFunctionResult({ ...aggregate, data });
  if (results.length !== reads.length) throw unusableFailure(UPSTREAM);
  return results.map(({ success, returnData }) => (success ? returnData : null));
}

/** A call's answer; `null` if the call reverted, or for bytes that are no answer, as of an address without code. */
function answerIn<const Outputs extends readonly AbiParameter[]>(
  outputs: Outputs,
  data: Outcome | undefined,
): ReturnType<typeof decodeAbiParameters<Outputs>> | null {
  if (data === null || data === undefined || data === "0x") return null;
  try {
    return decodeAbiParameters(outputs, data);
  } catch {
    return null;
  }
}

/** An amount that has to be there. @throws AppError `upstream` */
export function amountIn(data: Outcome | undefined): bigint {
  const [amount] = answerIn(AMOUNT, data) ?? [];
  if (amount === undefined) throw unusableFailure(UPSTREAM);
  return amount;
}

/** The balance of a token (its address, or `null` for the chain's own coin) in its smallest unit. */
export type Balances = { native: bigint; tokens: bigint[] };

type Rounds = ({ answer: bigint; updatedAt: bigint; startedAt: bigint } | null)[];

/**
 * Balances of an address and latest rounds of feeds, in one call.
 * @throws AppError `upstream` if the chain cannot be reached or a balance cannot be read; a feed without an answer is
 * `null`.
 */
export async function readAccount(
  owner: Address,
  tokens: readonly Address[],
  feeds: readonly Address[],
): Promise<Balances & { rounds: Rounds }> {
  const client = chainClient();
  const reads: Read[] = [...tokens.map((to) => balanceRead(to, owner)), ...feeds.map(latestRound)];
  return guarded(async () => {
    const [native, results] = await Promise.all([
      getBalance(client, { address: owner }),
      readMany(client, reads),
    ]);
    return {
      native,
      tokens: tokens.map((_token, i) => amountIn(results[i])),
      rounds: feeds.map((_feed, i) => roundIn(results[tokens.length + i])),
    };
  });
}

/**
 * The allowance of `spender` for a token, in its smallest unit, as of the latest block.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function readAllowance(token: Address, owner: Address, spender: Address): Promise<bigint> {
  const allowance = { abi: erc20Abi, functionName: "allowance", args: [owner, spender] } as const;
  return guarded(() => readContract(chainClient(), { address: token, ...allowance }));
}

/**
 * Whether an address is a person's account with a delegate (EIP-7702), whose code answers every call.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function isDelegated(address: Address): Promise<boolean> {
  return guarded(async () => (await getCode(chainClient(), { address }))?.startsWith("0xef0100") === true);
}

/**
 * Latest rounds of feeds, in one call.
 * @param blockNumber The block to read at; by default the newest. Old ones need a node that keeps them.
 * @throws AppError `upstream` if the chain cannot be reached; a feed without an answer is `null`.
 */
export async function readRounds(
  feeds: readonly Address[],
  timeoutMs: number,
  blockNumber?: number,
): Promise<Rounds> {
  const at = blockNumber === undefined ? undefined : { blockNumber: BigInt(blockNumber) };
  return guarded(async () => {
    const results = await readMany(chainClient(timeoutMs), feeds.map(latestRound), at);
    return results.map(roundIn);
  });
}

/** What an address holds of a token. */
export function balanceRead(token: Address, owner: Address): Read {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [owner] });
  return { to: token, data };
}

/** `latestRoundData()` of Chainlink's AggregatorV3Interface. */
const LATEST_ROUND = "0xfeaf968c";
const ROUND = [
  { name: "roundId", type: "uint80" },
  { name: "answer", type: "int256" },
  { name: "startedAt", type: "uint256" },
  { name: "updatedAt", type: "uint256" },
  { name: "answeredInRound", type: "uint80" },
] as const;

function latestRound(to: Address): Read {
  return { to, data: LATEST_ROUND };
}

function roundIn(data: Outcome | undefined): Rounds[number] {
  const [, answer, startedAt, updatedAt] = answerIn(ROUND, data) ?? [];
  if (answer === undefined || startedAt === undefined || updatedAt === undefined) return null;
  return { answer, startedAt, updatedAt };
}

/**
 * The swap provider's genuine settler contract. Source: the README of 0x-settler, "How do I find the most recent
 * deployment?": the registry has the same address on every chain, and a call of it that reverts means "paused".
 */
const REGISTRY: Address = "0x00000000000004533Fe15556B1E086BB1A72cEae";
const registryAbi = parseAbi([
  "function ownerOf(uint256 feature) view returns (address)",
  "function prev(uint128 feature) view returns (address)",
]);
/** The feature of swaps that their taker submits. */
const TAKER_SUBMITTED = 2n;

/** The current settler, and the one before. */
const settlers = (): Read[] =>
  (["ownerOf", "prev"] as const).map((functionName) => {
    const data = encodeFunctionData({ abi: registryAbi, functionName, args: [TAKER_SUBMITTED] });
    return { to: REGISTRY, data };
  });

type Genuineness = "genuine" | "counterfeit" | "paused";

/**
 * Whether a settler is the current one, or the previous one, which quotes still name for a while after a deployment.
 * @throws AppError `upstream` if the chain cannot be reached, or has no registry.
 */
export async function judgeSettler(settler: Address): Promise<Genuineness> {
  return guarded(async () => judged(settler, await readMany(chainClient(), settlers())));
}

/** The calls whose answers `lossIn` reads. */
export function lossReads(address: Address): Read[] {
  return [
    ...settlers(),
    { to: address, data: encodeFunctionData({ abi: erc20Abi, functionName: "totalSupply" }) },
  ];
}

/**
 * What money that is sent to an address would be lost to: the swap provider's contract, which anybody may empty, or a
 * token's; `null` for any other. A contract is a token if it tells its supply.
 * @throws AppError `upstream` if the chain has no registry.
 */
export function lossIn(
  address: Address,
  [current, previous, total]: readonly Outcome[],
): "settler" | "token" | null {
  if (judged(address, [current, previous]) === "genuine") return "settler";
  return answerIn(AMOUNT, total) === null ? null : "token";
}

function judged(settler: Address, [current, previous]: readonly (Outcome | undefined)[]): Genuineness {
  const now = settlerIn(current);
  if (now === null) return "paused";
  const before = settlerIn(previous);
  return [now, before].some((one) => one !== null && isAddressEqual(one, settler))
    ? "genuine"
    : "counterfeit";
}

/** The settler that the registry names; `null` if it reverts. @throws AppError `upstream` if there is no registry. */
function settlerIn(data: Outcome | undefined): Address | null {
  if (data === null || data === undefined) return null;
  const [settler] = answerIn([{ type: "address" }], data) ?? [];
  if (settler === undefined) throw unusableFailure(UPSTREAM);
  return settler;
}
