import {
  AbiDecodingDataSizeTooSmallError,
  AbiDecodingZeroDataError,
  BaseError,
  CallExecutionError,
  createClient,
  decodeErrorResult,
  defineChain,
  http,
  HttpRequestError,
  isHex,
  parseAbi,
  RawContractError,
  ResponseBodyTooLargeError,
  RpcRequestError,
  slice,
  UnknownRpcError,
  withRetry,
  type Client,
  type Hex,
  type HttpTransport,
} from "viem";
import { getChainId } from "viem/actions";
import * as z from "zod";
import { getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { CHAIN_ID } from "../../lib/money/base";
import { deadlines } from "../../platform/outside/deadlines";
import { noteCall } from "../../platform/outside/calls";
import { getRefusing, isOutage, noAnswerError, toStatusError, unusableAnswerError } from "../call";
import { createPauses } from "../../lib/time";

/**
 * The chain's JSON-RPC, through viem. Concurrent requests of a client are batched into one HTTP request, and its
 * contract calls into one call of Multicall3. The only file that interprets nodes' errors.
 */

export const UPSTREAM = "The chain RPC";

export const MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11";

const chain = defineChain({
  id: CHAIN_ID,
  name: "Base",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: ["https://mainnet.base.org"] } },
  contracts: { multicall3: { address: MULTICALL } },
});

export type ChainClient = Client<HttpTransport, typeof chain>;

/** Calldata bytes per call of Multicall3. */
const TOGETHER = 100_000;
/**
 * Pauses before a throttled request, or one for a block that the node does not have yet, is repeated: requests are
 * idempotent.
 */
const PAUSES_MS = [200, 600];
const AGAIN = {
  retryCount: PAUSES_MS.length,
  delay: ({ count }: { count: number }) => PAUSES_MS[count] ?? 0,
  shouldRetry: ({ error }: { error: Error }) => isThrottled(error) || isBehind(error),
};

/**
 * A client for one use. It shares no request with another client: an unanswered request would hold up every later
 * caller, and an answer above ten megabytes, which viem rejects whole, would fail every caller of a shared request.
 * @param timeoutMs Timeout of one HTTP request.
 */
export function createChainClient(timeoutMs = deadlines.chain): ChainClient {
  const options = {
    retryCount: 0,
    // Timeouts are this service's own, in real time: see `platform/outside/deadlines`.
    timeout: 0,
    fetchFn: (input: string | URL | Request, init?: RequestInit) =>
      noteRequest(fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) })),
  };
  const url = getSetting("CHAIN_RPC_URL");
  const together = http(url, { ...options, batch: { wait: 0 } });
  const alone = http(url, options);
  // viem deduplicates requests with the same URL and signal, even across clients.
  const { signal } = new AbortController();
  const transport: HttpTransport = (given) => {
    const [batched, single] = [together(given), alone(given)];
    const ask: typeof batched.request = async (args, own) => {
      try {
        return await batched.request(args, { ...own, signal });
      } catch (error) {
        // The answer is no list: the node does not accept batches, or none of this length.
        if (error instanceof UnknownRpcError) return single.request(args, own);
        throw error;
      }
    };
    return { ...batched, request: (args, own) => withRetry(() => ask(args, own), AGAIN) };
  };
  const batch = { multicall: { batchSize: TOGETHER, wait: 0 } };
  return createClient({ chain, cacheTime: 0, batch, transport });
}

async function noteRequest(request: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await request;
  } catch (error) {
    noteCall("chain", true);
    throw error;
  }
  noteCall("chain", isOutage("chain", response.status), getRefusing(response.status));
  // A 429 applies to every request of the batch, whatever its body says.
  if (response.status === 429) throw new HttpRequestError({ status: 429, url: response.url });
  return response;
}

/** Rate-limit refusals, which a smaller request does not cure. */
const TOO_OFTEN = /too many requests|rate.?limit|\brate\b|per second|throughput|capacity|quota|daily/i;

export function isThrottled(error: unknown): boolean {
  const refused = findRefusal(error);
  if (refused === null) return findCause(error, HttpRequestError)?.status === 429;
  return refused.code === 429 || TOO_OFTEN.test(refused.details);
}

/** Nodes' messages for a missing block: another node behind the same address has it. */
const NO_BLOCK = /header not found|header for hash not found|unknown block|block not found/i;

function isBehind(error: unknown): boolean {
  return NO_BLOCK.test(findRefusal(error)?.details ?? "");
}

/** A node's refusal of a request; `null` if it was not reached or did not answer. Its text is never shown to users. */
export function findRefusal(error: unknown): RpcRequestError | null {
  return findCause(error, RpcRequestError);
}

/** The error of a class in viem's chain of causes; `null` if there is none. */
export function findCause<Cause extends Error>(
  error: unknown,
  type: abstract new (...args: never[]) => Cause,
): Cause | null {
  const found = error instanceof BaseError ? error.walk((inner) => inner instanceof type) : null;
  return found instanceof type ? found : null;
}

/** Whether an answer exceeded the size limit. */
export function isTooLarge(error: unknown): boolean {
  return findCause(error, ResponseBodyTooLargeError) !== null;
}

/**
 * A failure that a retry may cure: a single read of a node is never final before a deadline, because other nodes behind the
 * same address may be blocks ahead. A balance or an allowance that looks short, a call that would revert and a node's
 * failure are not known yet, both before and after money moves. Across `ctx.run*` it is a plain `AppError`.
 */
export class NotKnownYet extends AppError {}

/** The pause before the first retry, in ms; each further pause is three times as long, up to a second. */
const FIRST_PAUSE_MS = 200;

/**
 * Retries a read until its result is known.
 * @param read Throws `NotKnownYet` for a failure that the next attempt may cure.
 * @param isFinal Whether a failure is final after this many attempts.
 * @throws any other error of `read`, and a final failure
 */
export async function untilKnown<Value>(
  read: () => Promise<Value>,
  isFinal: (failure: NotKnownYet, attempts: number) => boolean,
): Promise<Value> {
  const pause = createPauses(FIRST_PAUSE_MS, 3);
  for (let attempts = 1; ; attempts++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof NotKnownYet) || isFinal(error, attempts)) throw error;
    }
    await pause();
  }
}

/** Asks the chain with a client of its own, and maps every failure of the node to `AppError("upstream")`: a retry may succeed. */
export async function withChainErrors<Value>(
  work: (client: ChainClient) => Promise<Value>,
  timeoutMs?: number,
): Promise<Value> {
  try {
    return await work(createChainClient(timeoutMs));
  } catch (error) {
    throw toChainError(error);
  }
}

export function toChainError(error: unknown): AppError {
  return error instanceof AppError ? error : new NotKnownYet("upstream", classifyTrouble(error).message);
}

/** The platform reports an expired `AbortSignal.timeout` as AbortError, other runtimes as TimeoutError. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
}

function classifyTrouble(error: unknown): AppError {
  if (isAbort(error) || (error instanceof BaseError && error.walk(isAbort) !== null))
    return noAnswerError(UPSTREAM, "timeout");
  const transport = findCause(error, HttpRequestError);
  if (transport !== null)
    return transport.status === undefined
      ? noAnswerError(UPSTREAM, "unreachable")
      : toStatusError(UPSTREAM, transport.status);
  return findRefusal(error) === null ? unusableAnswerError(UPSTREAM) : nodeRefusalError();
}

/** The error for a node's unexplained refusal of a request. */
export function nodeRefusalError(): AppError {
  return new AppError("upstream", `${UPSTREAM} refused a request`);
}

/**
 * Requires that the node serves this service's chain.
 * @param consequence The consequence for the caller's request if it does not.
 * @throws AppError `upstream` if the node serves another chain.
 */
export async function requireChain(client: ChainClient, consequence = ""): Promise<void> {
  const chainId = await getChainId(client);
  if (chainId === CHAIN_ID) return;
  throw new AppError("upstream", `${UPSTREAM} serves chain ${chainId} rather than ${CHAIN_ID}${consequence}`);
}

/** The errors of the contracts that wallets here call: Permit2 and 0x's settler. Sources: their ABIs. */
const KNOWN = parseAbi([
  "error InvalidNonce()",
  "error InvalidSigner()",
  "error InvalidSignature()",
  "error SignatureExpired(uint256 signatureDeadline)",
  "error InsufficientAllowance(uint256 amount)",
  "error TooMuchSlippage(address token, uint256 expected, uint256 actual)",
]);

/** The reason why a call would fail. */
export type Revert = {
  /** The contract's or the node's own text: for recognising known errors, never for display. */
  reason: string;
  /** For display: the result of `describeRevert`, or one of the usual messages of nodes. */
  name: string;
};

/** Nodes' messages for a reverting call; code 3 is usual, but some send only a text. */
const REVERTED =
  /revert|out ?of ?gas|gas required exceeds|invalid opcode|insufficient funds|exceeds (?:balance|allowance)/i;

/** The reason why a call would fail; `null` if the failure is not the call's (a limit, a bad method, …). */
export function findRevert(error: unknown): Revert | null {
  const { code, details, data } = findRefusal(error) ?? findCause(error, RawContractError) ?? {};
  const [word] = REVERTED.exec(details ?? "") ?? [];
  if (code !== 3 && word === undefined) return null;
  const plain = word === undefined || /^revert$/i.test(word) ? describeRevert("0x") : word.toLowerCase();
  const name = isHex(data) && data.length % 2 === 0 ? describeRevert(data) : plain;
  return { reason: details ?? "", name: findKnownMeaning(data, details ?? "") ?? name };
}

/**
 * Known error texts of contracts, and their meaning for users. Sources: Circle's FiatToken, Tether's, OpenZeppelin's
 * and solmate's.
 */
const KNOWN_WORDS: readonly [words: RegExp, meaning: string][] = [
  [
    /blacklist|blocklist|denylist|black-listed|is blocked/i,
    "the token's issuer has blocked an address of it",
  ],
  [/paused/i, "the token is paused by its issuer"],
  [/exceeds allowance|insufficient.allowance/i, "the token's allowance is too small"],
  [/exceeds balance|insufficient.balance|dai\/insufficient/i, "the wallet holds too little of the token"],
  [/TRANSFER_FROM_FAILED|transfer failed/i, "the token refuses the transfer"],
];

/** The meaning of a contract's error text; `null` for an unknown one. */
function findKnownMeaning(data: unknown, details: string): string | null {
  let words = details;
  try {
    if (isHex(data)) words += ` ${String(decodeErrorResult({ abi: KNOWN, data }).args?.[0])}`;
  } catch {
    // The data is no known error of a contract.
  }
  return KNOWN_WORDS.find(([known]) => known.test(words))?.[1] ?? null;
}

/**
 * `… with TooMuchSlippage`; `… with Error` for a contract's text; the selector of an unknown error. A contract's own
 * text is never passed on: its author could address the user's assistant with it (prompt injection).
 */
function describeRevert(data: Hex): string {
  if (data === "0x") return "execution reverted";
  try {
    return `execution reverted with ${decodeErrorResult({ abi: KNOWN, data }).errorName}`;
  } catch {
    return `execution reverted with ${slice(data, 0, Math.min(4, (data.length - 2) / 2))}`;
  }
}

/** A contract's answer; `null` if its code reverts. @throws viem's error otherwise */
export async function orNullIfReverted<Value>(answer: Promise<Value>): Promise<Value | null> {
  return answer.catch((error: unknown) => {
    if (findRevert(error) === null) throw error;
    return null;
  });
}

/** A contract's answer; `null` if it reverts or is no valid answer, as from an address without code. */
export async function orNullIfNoAnswer<Value>(answer: Promise<Value>): Promise<Value | null> {
  return orNullIfReverted(answer).catch((error: unknown) => {
    const isBlank =
      findCause(error, AbiDecodingZeroDataError) ?? findCause(error, AbiDecodingDataSizeTooSmallError);
    // A blank answer to the call itself is the node's failure, not the contract's.
    if (isBlank === null || findCause(error, CallExecutionError) !== null) throw error;
    return null;
  });
}

/** Types a text that is known to be hex as viem's `Hex`. */
export function asHexText(text: string): Hex {
  return `0x${text.slice(2)}`;
}

/** Schemas of the parts of nodes' answers; texts in lower case. */
const hex = (digits: string) =>
  z
    .string()
    .toLowerCase()
    .regex(new RegExp(`^0x[0-9a-f]${digits}$`));
export const quantity = hex("+").transform(Number);
/** A quantity that may be too large for a number. */
export const bigQuantity = hex("+").transform(BigInt);
export const hash = hex("{64}");
export const account = hex("{40}");
export const bytes = hex("*");
