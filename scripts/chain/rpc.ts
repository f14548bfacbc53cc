import * as z from "zod";
import { loopbackFetch } from "../sockets/loopback";

/** JSON-RPC to the local node, in real time whatever the application's clock shows. */

export type RpcCall = readonly [method: string, params?: readonly unknown[]];

export type Rpc = {
  /** @throws RpcError if the node refuses. */
  call(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** All in one request; the answers are in the order of the calls. @throws RpcError for the first refusal. */
  batch(calls: readonly RpcCall[]): Promise<unknown[]>;
};

export class RpcError extends Error {
  constructor(
    message: string,
    readonly code: number,
    /** The revert's bytes, for a call that reverted. */
    readonly data: unknown,
  ) {
    super(message);
  }
}

const answerShape = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

export function createRpc(url: string): Rpc {
  const batch = async (calls: readonly RpcCall[]) => {
    const requests = calls.map(([method, params = []], id) => ({ jsonrpc: "2.0", id, method, params }));
    const response = await loopbackFetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(requests),
    });
    const answers = z.array(answerShape).parse(await response.json());
    const byId = new Map(answers.map((answer) => [answer.id, answer]));
    return calls.map(([method], id) => {
      const answer = byId.get(id);
      if (answer === undefined) throw new Error(`The node did not answer ${method}`);
      if (answer.error === undefined) return answer.result;
      const { message, code, data } = answer.error;
      throw new RpcError(`${method}: ${printable(message)}`, code, data);
    });
  };
  return {
    batch,
    call: async (method, params = []) => {
      const [result] = await batch([[method, params]]);
      return result;
    },
  };
}

/** A message without the raw bytes of custom errors that the node puts into it. */
function printable(message: string): string {
  return message.replaceAll(/[^\x20-\x7e]+/g, "?");
}

/** A quantity or other bytes, as the node writes them. */
export const hexShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
