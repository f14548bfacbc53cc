import * as z from "zod";
import { USDC } from "../../lib/money/base";
import { SECOND } from "../../lib/time";
import { TRANSFER } from "./blocks";

/** Probes the limits of a chain's node: blocks per log search, requests per batch, concurrent requests. */

const RANGES = [10_000, 2_000, 500, 100, 10];
const BATCHES = [100, 30, 10, 3];
const AT_ONCE = 20;
/** An address without transfers, so that the search result is empty. */
const NOBODY = `0x${"0".repeat(24)}00000000000000000000000000000000d0c70b00`;

const buildCall = (method: string, params: readonly unknown[] = []) => {
  return { jsonrpc: "2.0", id: 1, method, params };
};
const answer = z.object({ result: z.json() });

/** One sentence about the limits of the node at `url`, after some thirty requests. */
export async function probeNode(url: string): Promise<string> {
  async function post<Shape extends z.ZodType>(body: object, shape: Shape) {
    const headers = { "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(10 * SECOND);
    try {
      const response = await fetch(url, { method: "POST", headers, signal, body: JSON.stringify(body) });
      return shape.safeParse(response.ok ? await response.json() : null).data ?? null;
    } catch {
      return null;
    }
  }
  const head = await post(buildCall("eth_blockNumber"), z.object({ result: z.string().transform(Number) }));
  if (head === null) return "the node was not reached";
  const hex = (block: number) => `0x${Math.max(0, block).toString(16)}`;
  const range = await findLargest(RANGES, (blocks) => {
    const range = { fromBlock: hex(head.result - blocks + 1), toBlock: hex(head.result) };
    const filter = { address: USDC, topics: [TRANSFER, null, NOBODY], ...range };
    return post(buildCall("eth_getLogs", [filter]), answer);
  });
  const batch = await findLargest(BATCHES, (size) => {
    const questions = Array.from({ length: size }, (_, id) => ({ ...buildCall("eth_chainId"), id }));
    return post(questions, z.array(answer).length(size));
  });
  const together = Array.from({ length: AT_ONCE }, () => post(buildCall("eth_chainId"), answer));
  const served = (await Promise.all(together)).filter((one) => one !== null).length;
  return `logs over ${range} blocks at once, batches of ${batch}, ${served} of ${AT_ONCE} requests at once`;
}

/** The first accepted size of a descending list, in words ("fewer than 10" and the like). */
async function findLargest(
  sizes: readonly number[],
  ask: (size: number) => Promise<unknown>,
): Promise<string> {
  for (const size of sizes)
    if ((await ask(size)) !== null) return size === sizes[0] ? `${size} or more` : String(size);
  return `fewer than ${sizes.at(-1)}`;
}
