import { toHex } from "viem";
import * as z from "zod";
import type { Random } from "../../scripts/standins/random";
import { chain } from "./chain/chain";
import { intercept } from "./outside";

/** Several nodes of one chain behind one address, of which one is some blocks behind. */

const callShape = z.looseObject({
  id: z.number(),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
});
type Call = z.infer<typeof callShape>;
const answersShape = z.array(z.looseObject({ id: z.number() }));
const placedShape = z.looseObject({ blockNumber: z.string().nullish() });
const filterShape = z.looseObject({ fromBlock: z.string().optional(), toBlock: z.string().optional() });

const TAGS: readonly unknown[] = ["latest", "pending", "safe", "finalized"];
/** At which place each names its block. */
const AT_BLOCK = new Set([
  "eth_getBalance",
  "eth_getTransactionCount",
  "eth_getCode",
  "eth_call",
  "eth_estimateGas",
]);
const UNKNOWN = { error: { code: -32_000, message: "header not found" } };

export type Lag = {
  /** Whether a request is answered by the late node. */
  isLate: (body: string) => boolean;
  /** How many blocks it is behind then. */
  behind: () => number;
};

/** Each request reaches one node or the other by chance; the late one is one to three blocks behind. */
export const byChance = (chance: Random): Lag => ({
  isLate: () => chance.between(0, 1) < 0.5,
  behind: () => chance.whole(1, 3),
});

/** @returns Ends that; and the methods of each request that the late node was asked. */
export function laggingNodes({ isLate, behind }: Lag): { end: () => void; late: readonly string[] } {
  const late: string[] = [];
  const end = intercept(async ({ body }, pass) => {
    if (!body.includes('"jsonrpc"') || !isLate(body)) return pass();
    const given: unknown = JSON.parse(body);
    const calls = z.array(callShape).parse(Array.isArray(given) ? given : [given]);
    late.push(calls.map(({ method }) => method).join(" "));
    const head = Math.max(0, Number(await chain.rpc("eth_blockNumber", [])) - behind());
    const seen = await Promise.all(calls.map((call) => seenAt(head, call)));
    const passed = seen.flatMap((one) => ("pass" in one ? [one.pass] : []));
    const made = calls.flatMap(({ id }, i) => {
      const one = seen[i];
      return one === undefined || "pass" in one ? [] : [{ jsonrpc: "2.0", id, ...one }];
    });
    const others =
      passed.length === 0 ? [] : answersShape.parse(await (await pass(JSON.stringify(passed))).json());
    const answers = [...others, ...made];
    return Response.json(Array.isArray(given) ? answers : answers[0]);
  });
  return { end, late };
}

/** What a node with this head answers: something of its own, or what another one is asked instead. */
async function seenAt(
  head: number,
  call: Call,
): Promise<{ pass: Call } | { result: unknown } | typeof UNKNOWN> {
  const { method, params } = call;
  const own = toHex(head);
  const isUnknown = (block: unknown) => typeof block === "string" && Number(block) > head;
  if (method === "eth_blockNumber") return { result: own };
  if (AT_BLOCK.has(method)) {
    const block = params[1];
    if (isUnknown(block)) return UNKNOWN;
    const isTag = block === undefined || TAGS.includes(block);
    return { pass: isTag ? { ...call, params: [params[0], own, ...params.slice(2)] } : call };
  }
  if (method === "eth_getBlockByNumber") {
    if (isUnknown(params[0])) return { result: null };
    return { pass: TAGS.includes(params[0]) ? { ...call, params: [own, ...params.slice(1)] } : call };
  }
  if (method === "eth_getLogs") {
    const filter = filterShape.parse(params[0]);
    if (isUnknown(filter.fromBlock)) return { result: [] };
    const isBeyond = isUnknown(filter.toBlock) || TAGS.includes(filter.toBlock ?? "latest");
    return { pass: isBeyond ? { ...call, params: [{ ...filter, toBlock: own }] } : call };
  }
  if (method !== "eth_getTransactionReceipt" && method !== "eth_getTransactionByHash") return { pass: call };
  const found = await chain.rpc(method, params);
  const placed = placedShape.safeParse(found).data;
  if (placed === undefined || !isUnknown(placed.blockNumber)) return { result: found };
  const pending = { ...placed, blockNumber: null, blockHash: null, transactionIndex: null };
  return { result: method === "eth_getTransactionReceipt" ? null : pending };
}
