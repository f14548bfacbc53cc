import { HttpRequestError, ResponseBodyTooLargeError } from "viem";
import { causeOf, refusal } from "./rpc/client";

/** Blocks in pieces that a node allows: nodes differ in how many they answer for at once. */

/** Refusals for asking too often, which asking for less does not cure. */
const TOO_OFTEN = /\brate\b|per second|throughput|capacity|credits|quota|daily/i;
/**
 * How nodes say that a range, or its content, is too large. Their words, from their issues and documents: "query
 * returned more than 10000 results", "range 1000000 exceeds limit of 10000" (Infura), "Log response size exceeded", "up
 * to a 500 block range" (Alchemy), "query exceeds max results 20000" and "query exceeds max block range 100000" (reth),
 * "eth_getLogs is limited to a 10,000 range" (QuickNode), "ranges over 10000 blocks are not supported" (dRPC), "range
 * is bigger than range limit" (Tenderly), "block range is larger than max block range", "range is too large", "query
 * timeout".
 */
const TOO_MUCH =
  /\branges?\b|more than \d|max(?:imum)? results|response size|too (?:many|large)|time(?:d )?out/i;

/**
 * Reads blocks `first` to `last`, both included, in pieces of at most `span`: half as many after a node refuses so many.
 * @throws what `read` throws for other reasons, or for a single block
 */
export async function* inRanges<Value>(
  { first, last, span }: { first: number; last: number; span: number },
  read: (first: number, last: number) => Promise<Value>,
): AsyncGenerator<{ last: number; value: Value }> {
  let size = span;
  for (let next = first; next <= last;) {
    const until = Math.min(next + size - 1, last);
    try {
      const value = await read(next, until);
      yield { last: until, value };
      next = until + 1;
    } catch (error) {
      if (until === next || !isTooMuch(error)) throw error;
      size = Math.floor((until - next + 1) / 2);
    }
  }
}

/** Whether a node refuses because of how much was asked for. */
function isTooMuch(error: unknown): boolean {
  if (causeOf(error, ResponseBodyTooLargeError) !== null) return true;
  const answered = causeOf(error, HttpRequestError);
  if (answered !== null) {
    return answered.status === 413 || (answered.status === 400 && saysTooMuch(answered.details));
  }
  const refused = refusal(error);
  return refused !== null && saysTooMuch(`${refused.details} ${JSON.stringify(refused.data ?? "")}`);
}

function saysTooMuch(words: string): boolean {
  return TOO_MUCH.test(words) && !TOO_OFTEN.test(words);
}
