import {
  BaseError,
  createClient,
  decodeErrorResult,
  defineChain,
  http,
  HttpRequestError,
  isHex,
  parseAbi,
  ResponseBodyTooLargeError,
  RpcRequestError,
  slice,
  type Client,
  type Hex,
  type HttpTransport,
} from "viem";
import * as z from "zod";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { CHAIN_ID } from "../../lib/money/base";
import { deadlines } from "../../lib/outside/deadlines";
import { noteCall } from "../../lib/outside/providerCalls";
import { sleep } from "../../lib/time";
import { isAbort, isOutage, noAnswer, unusableFailure } from "../call";

/** The chain's JSON-RPC, through viem: one function is one HTTP round trip, because viem batches its requests. The one door for what nodes say. */

export const UPSTREAM = "The chain RPC";

const chain = defineChain({
  id: CHAIN_ID,
  name: "Base",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: ["https://mainnet.base.org"] } },
});

export type ChainClient = Client<HttpTransport, typeof chain>;

/**
 * A client for one use: viem joins some requests of a client to those under way, and a shared one would let a request
 * that is never answered hold up every later caller.
 * @param timeoutMs Of one HTTP request.
 */
export function chainClient(timeoutMs = deadlines.chain): ChainClient {
  return createClient({ chain, cacheTime: 0, transport: transportFor(timeoutMs) });
}

/**
 * The same, with HTTP requests that it shares with no other client: for transactions that strangers may name. viem
 * refuses an answer above ten megabytes whole, so a giant receipt would fail all who share its request.
 */
export function clientApart(): ChainClient {
  const shared = transportFor(deadlines.chain);
  // viem joins the requests of one URL and one signal, whoever makes them.
  const { signal } = new AbortController();
  const transport: typeof shared = (given) => {
    const { request, ...rest } = shared(given);
    return { ...rest, request: (args, options) => request(args, { ...options, signal }) };
  };
  return createClient({ chain, cacheTime: 0, transport });
}

function transportFor(timeoutMs: number): HttpTransport {
  return http(setting("CHAIN_RPC_URL"), {
    batch: { wait: 0 },
    retryCount: 0,
    // The deadlines are our own, in real time: see `lib/outside/deadlines`.
    timeout: 0,
    fetchFn: (input, init) => answered(input, { ...init, signal: AbortSignal.timeout(timeoutMs) }),
  });
}

/** Pauses before what a node has throttled is asked again. */
const THROTTLED_PAUSES_MS = [200, 600];
const THROTTLED = /\b429\b|-32005\b|too many requests|rate.?limit/i;
/** Longer answers are none of a throttled node's. */
const MOST_READ = 100_000;

/**
 * Posts a batch. A node that takes no batch gets its requests one by one, and what it throttles is asked again: the
 * same bytes have one effect.
 */
async function answered(input: string | URL | Request, init: RequestInit): Promise<Response> {
  const post = (body: unknown) => counted(fetch(input, { ...init, body: JSON.stringify(body) }));
  const asked: unknown = typeof init.body === "string" ? JSON.parse(init.body) : null;
  let response = await counted(fetch(input, init));
  if (!Array.isArray(asked) || asked.length === 0) return response;
  for (const pause of THROTTLED_PAUSES_MS) {
    const trouble = await troubleIn(response);
    if (trouble === null) return response;
    if (trouble === "no batch") return (await oneByOne(asked, post)) ?? response;
    await sleep(pause);
    response = await post(asked);
  }
  return response;
}

/** `null` if a request has no answer alone either. */
async function oneByOne(
  asked: readonly unknown[],
  post: (body: unknown) => Promise<Response>,
): Promise<Response | null> {
  const answers: unknown[] = [];
  for (const one of asked) {
    const alone = await post([one]);
    const answer: unknown = alone.ok ? await alone.json() : null;
    if (!Array.isArray(answer) || answer.length === 0) return null;
    answers.push(answer[0]);
  }
  return Response.json(answers);
}

/** Whether an answer says that the node throttles, or that it refuses the batch as a whole. */
async function troubleIn(response: Response): Promise<"throttled" | "no batch" | null> {
  if (response.status === 429) return "throttled";
  if (!response.ok || Number(response.headers.get("content-length") ?? 0) > MOST_READ) return null;
  const text = await response.clone().text();
  if (text.length > MOST_READ || !text.includes('"error"')) return null;
  if (text.trimStart().startsWith("{")) return THROTTLED.test(text) ? "throttled" : "no batch";
  return THROTTLED.test(text) ? "throttled" : null;
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

/** The errors of the contracts that wallets here call: Permit2, 0x's settler, and tokens by ERC-6093. Sources: their ABIs. */
const KNOWN = parseAbi([
  "error InvalidNonce()",
  "error InvalidSigner()",
  "error InvalidSignature()",
  "error SignatureExpired(uint256 signatureDeadline)",
  "error InsufficientAllowance(uint256 amount)",
  "error TooMuchSlippage(address token, uint256 expected, uint256 actual)",
  "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
  "error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
]);

/** Why a call would fail. */
export type Revert = {
  /** A contract's or a node's own words in one line: to recognise known ones, never to be shown. */
  reason: string;
  /** For people: the result of `revertName`, or one of the usual messages of nodes. */
  name: string;
};

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

/**
 * `… with TooMuchSlippage`; `… with Error` for a text of the contract; the selector of an unknown error. A contract's own
 * words are never passed on: their author could address a person's assistant with them.
 */
function revertName(data: Hex): string {
  if (data === "0x") return "execution reverted";
  try {
    return `execution reverted with ${decodeErrorResult({ abi: KNOWN, data }).errorName}`;
  } catch {
    return `execution reverted with ${slice(data, 0, Math.min(4, (data.length - 2) / 2))}`;
  }
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

/** Whether an answer was longer than what is read. */
export function isTooLarge(error: unknown): boolean {
  return causeOf(error, ResponseBodyTooLargeError) !== null;
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
  if (isLate(error)) return noAnswer(UPSTREAM, "timeout");
  const transport = causeOf(error, HttpRequestError);
  if (transport !== null && transport.status === undefined) return noAnswer(UPSTREAM, "unreachable");
  if (transport !== null)
    return new AppError("upstream", `${UPSTREAM} answered with status ${transport.status}`);
  if (causeOf(error, RpcRequestError) !== null)
    return new AppError("upstream", `${UPSTREAM} refused a request`);
  return unusableFailure(UPSTREAM);
}

/** The parts of a node's answers; texts in lower case. */

export const quantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(Number);

/** A quantity that may be too large for a number. */
export const bigQuantity = z
  .string()
  .regex(/^0x[0-9a-f]+$/i)
  .transform(BigInt);

export const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .toLowerCase();

export const account = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i)
  .toLowerCase();

export const hexData = z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/i.test(value));

/** `Transfer(address,address,uint256)` of tokens. */
export const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** A number in the nodes' notation. */
export function toQuantity(value: number): Hex {
  return `0x${value.toString(16)}`;
}
