import * as z from "zod";
import { USDC } from "../../lib/money/base";
import { SECOND } from "../../lib/time";

/** What a chain's node allows: blocks in one search for logs, requests in one batch, requests at once. */

const RANGES = [10_000, 2_000, 500, 100, 10];
const BATCHES = [100, 30, 10, 3];
const AT_ONCE = 20;

const answer = z.object({ result: z.unknown().optional(), error: z.unknown().optional() });
type Asked = { jsonrpc: "2.0"; id: number; method: string; params: readonly unknown[] };

const asked = (method: string, params: readonly unknown[] = [], id = 1): Asked => ({
  ...{ jsonrpc: "2.0", id, method, params },
});

/** `null` where the node does not answer so. */
async function post<Shape extends z.ZodType>(
  url: string,
  body: unknown,
  shape: Shape,
): Promise<z.output<Shape> | null> {
  try {
    const init = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10 * SECOND) });
    const parsed = shape.safeParse(response.ok ? await response.json() : null);
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** One sentence about the node at `url`. It is asked some thirty times. */
export async function probeNode(url: string): Promise<string> {
  const head = z.object({ result: z.string().transform(Number) });
  const height = (await post(url, asked("eth_blockNumber"), head))?.result;
  if (height === undefined) return "the node was not reached";
  const range = await largest(RANGES, async (blocks) => {
    const filter = { address: USDC, topics: [TRANSFER, null, NOBODY], ...range16(height, blocks) };
    const got = await post(url, asked("eth_getLogs", [filter]), answer);
    return got !== null && got.error === undefined;
  });
  const batch = await largest(BATCHES, async (size) => {
    const questions = Array.from({ length: size }, (_, id) => asked("eth_chainId", [], id));
    const got = await post(url, questions, z.array(answer));
    return got !== null && got.length === size && got.every(({ error }) => error === undefined);
  });
  const together = await Promise.all(
    Array.from({ length: AT_ONCE }, () => post(url, asked("eth_chainId"), answer)),
  );
  const served = together.filter((one) => one !== null && one.error === undefined).length;
  return `logs over ${range} blocks at once, batches of ${batch}, ${served} of ${AT_ONCE} requests at once`;
}

/** `Transfer(address,address,uint256)`, to an address that nobody pays. */
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const NOBODY = `0x${"0".repeat(24)}00000000000000000000000000000000d0c70b00`;

function range16(height: number, blocks: number): { fromBlock: string; toBlock: string } {
  const from = Math.max(0, height - blocks + 1);
  return { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${height.toString(16)}` };
}

/** The first of falling sizes that is answered, "no more than 10" and the like as a word. */
async function largest(
  sizes: readonly number[],
  isAnswered: (size: number) => Promise<boolean>,
): Promise<string> {
  for (const size of sizes)
    if (await isAnswered(size)) return size === sizes[0] ? `${size} or more` : String(size);
  return `fewer than ${sizes.at(-1)}`;
}
