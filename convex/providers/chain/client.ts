import {
  BaseError,
  createClient,
  defineChain,
  erc20Abi,
  HttpRequestError,
  http,
  isHex,
  multicall3Abi,
  parseAbi,
  RpcRequestError,
  type Address,
  type Client,
  type ContractFunctionParameters,
  type HttpTransport,
} from "viem";
import { getBalance, multicall, readContract } from "viem/actions";
import { CHAIN_ID } from "../../lib/money/base";
import { deadlines } from "../../lib/outside/deadlines";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { noteCall } from "../../lib/outside/notes";
import { isAbort, isOutage, timeoutFailure, unreachableFailure, unusableFailure } from "../call";
import { revertName, type Revert } from "./reverts";

/** The chain's JSON-RPC, through viem. One function is one HTTP round trip: viem batches its requests. */
export const UPSTREAM = "The chain RPC";

export const MULTICALL3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11";

const chain = defineChain({
  id: CHAIN_ID,
  name: "Base",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: ["https://mainnet.base.org"] } },
  contracts: { multicall3: { address: MULTICALL3 } },
});

const feedAbi = parseAbi([
  "function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)",
]);

export type ChainClient = Client<HttpTransport, typeof chain>;

/** @param timeoutMs Of one HTTP request. */
export function chainClient(timeoutMs = deadlines.chain): ChainClient {
  return createClient({
    chain,
    cacheTime: 0,
    transport: http(setting("CHAIN_RPC_URL"), {
      batch: { wait: 0 },
      retryCount: 0,
      // The deadlines are our own, in real time: see `lib/outside/deadlines`.
      timeout: 0,
      fetchFn: (input, init) => counted(fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) })),
    }),
  });
}

async function counted(request: Promise<Response>): Promise<Response> {
  try {
    const response = await request;
    noteCall("chain", isOutage("chain", response.status));
    return response;
  } catch (error) {
    noteCall("chain", true);
    throw error;
  }
}

/** Whether the contract at an address answers like a token. Without an answer it is not one: it may be a person's wallet. */
export async function isToken(address: Address): Promise<boolean> {
  return readContract(chainClient(), { address, abi: erc20Abi, functionName: "totalSupply" }).then(
    () => true,
    () => false,
  );
}

/** The balance of a token (its address, or `null` for the chain's own coin) in its smallest unit. */
export type Balances = { native: bigint; tokens: bigint[] };

export type Rounds = ({ answer: bigint; updatedAt: bigint; startedAt: bigint } | null)[];

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
  const contracts: ContractFunctionParameters[] = [
    { address: MULTICALL3, abi: multicall3Abi, functionName: "getEthBalance", args: [owner] },
    ...tokens.map((address) => ({ address, abi: erc20Abi, functionName: "balanceOf", args: [owner] })),
    ...feeds.map(latestRound),
  ];
  return guarded(async () => {
    const results = await manyCalls(client, contracts);
    const native = uint(results[0]) ?? (await getBalance(client, { address: owner }));
    const balances = tokens.map((_token, i) => uint(results[1 + i]));
    if (balances.some((balance) => balance === null)) throw unusableFailure(UPSTREAM);
    return {
      native,
      tokens: balances.flatMap((balance) => (balance === null ? [] : [balance])),
      rounds: feeds.map((_feed, i) => round(results[1 + tokens.length + i])),
    };
  });
}

/**
 * The allowance of `spender` for a token, in its smallest unit, as of the latest block.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function readAllowance(token: Address, owner: Address, spender: Address): Promise<bigint> {
  const call = { address: token, abi: erc20Abi, functionName: "allowance", args: [owner, spender] } as const;
  return guarded(() => readContract(chainClient(), call));
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
  const client = chainClient(timeoutMs);
  return guarded(async () => (await manyCalls(client, feeds.map(latestRound), blockNumber)).map(round));
}

function latestRound(address: Address): ContractFunctionParameters {
  return { address, abi: feedAbi, functionName: "latestRoundData" };
}

type Result = { status: "success"; result: unknown } | { status: "failure" };

/** Many calls through Multicall3; if the chain has none, through its code sent along. */
async function manyCalls(
  client: ChainClient,
  contracts: readonly ContractFunctionParameters[],
  blockNumber?: number,
): Promise<readonly Result[]> {
  const at = blockNumber === undefined ? {} : { blockNumber: BigInt(blockNumber) };
  const ask = async (deployless: boolean) => {
    const results = await multicall(client, {
      ...{ contracts, allowFailure: true, batchSize: 0, deployless },
      ...at,
    });
    // If the chain cannot be reached, viem reports that every call failed: that says nothing about any of them.
    for (const result of results) {
      if (result.status === "failure" && isTransport(result.error)) throw result.error;
    }
    return results;
  };
  const results = await ask(false);
  return results.every(({ status }) => status === "failure") ? ask(true) : results;
}

/** How nodes say that the call itself fails; code 3 is usual, some send only words. */
const REVERTED =
  /revert|out of gas|gas required exceeds|invalid opcode|insufficient funds|exceeds (?:balance|allowance)/i;

/** Why a call would fail; `null` if the failure is not the call's (a limit, a bad method, …). */
export function revertOf(error: unknown): Revert | null {
  const refused = refusal(error);
  if (refused === null) return null;
  const [word] = REVERTED.exec(refused.details) ?? [];
  if (refused.code !== 3 && word === undefined) return null;
  const { data } = refused;
  const plain = word === undefined || /^revert$/i.test(word) ? revertName("0x") : word.toLowerCase();
  const name = isHex(data) && data.length % 2 === 0 ? revertName(data) : plain;
  return { reason: printable(refused.details), name };
}

/** The message of a node that refused a request; `null` if it was not reached or did not answer. */
export function refusalText(error: unknown): string | null {
  const refused = refusal(error);
  return refused === null ? null : printable(refused.details);
}

/**
 * @param consequence What that means for the request, if the caller needs to know.
 * @throws AppError `upstream` if the RPC serves another chain.
 */
export function requireChain(chainId: number, consequence = ""): void {
  if (chainId === CHAIN_ID) return;
  throw new AppError("upstream", `${UPSTREAM} serves chain ${chainId} rather than ${CHAIN_ID}${consequence}`);
}

/** A node's refusal of a request; `null` if it was not reached or did not answer. */
export function refusal(error: unknown): RpcRequestError | null {
  return isTransport(error) ? null : causeOf(error, RpcRequestError);
}

/** The error of a class in viem's chain of causes; `null` if there is none. */
export function causeOf<Cause extends Error>(
  error: unknown,
  type: abstract new (...args: never[]) => Cause,
): Cause | null {
  const found = error instanceof BaseError ? error.walk((inner) => inner instanceof type) : null;
  return found instanceof type ? found : null;
}

/** The chain could not be reached, or not in time. */
function isTransport(error: unknown): boolean {
  return isLate(error) || causeOf(error, HttpRequestError) !== null;
}

function isLate(error: unknown): boolean {
  return isAbort(error) || (error instanceof BaseError && error.walk(isAbort) !== null);
}

/** The text without raw revert bytes, which nodes print into their messages. */
function printable(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim()
    .slice(0, 200);
}

/** Maps every transport failure to `AppError("upstream")`. */
export async function guarded<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw chainFailure(error);
  }
}

export function chainFailure(error: unknown): AppError {
  if (isLate(error)) return timeoutFailure(UPSTREAM);
  const transport = causeOf(error, HttpRequestError);
  if (transport !== null && transport.status === undefined) return unreachableFailure(UPSTREAM);
  if (transport !== null)
    return new AppError("upstream", `${UPSTREAM} answered with status ${transport.status}`);
  if (causeOf(error, RpcRequestError) !== null)
    return new AppError("upstream", `${UPSTREAM} refused a request`);
  return unusableFailure(UPSTREAM);
}

function uint(result: Result | undefined): bigint | null {
  return result?.status === "success" && typeof result.result === "bigint" ? result.result : null;
}

function round(result: Result | undefined): Rounds[number] {
  if (result?.status !== "success" || !Array.isArray(result.result)) return null;
  const [, answer, startedAt, updatedAt] = result.result as unknown[];
  if (typeof answer !== "bigint" || typeof startedAt !== "bigint" || typeof updatedAt !== "bigint")
    return null;
  return { answer, startedAt, updatedAt };
}
