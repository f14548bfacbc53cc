import { toHex } from "viem";
import * as z from "zod";
import { intercept } from "../outside";

/** A node that answers some calls differently. */

const callShape = z.looseObject({
  id: z.number(),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
});
const answerShape = z.looseObject({ id: z.number() });

export type RpcAsked = z.infer<typeof callShape>;
export type RpcAnswer = { result: unknown } | { error: { code: number; message: string } };

/** Answers the calls to the node for which `answer` returns something; all others reach the node. @returns Stops that. */
export function answering(answer: (asked: RpcAsked) => RpcAnswer | null): () => void {
  return intercept(async ({ body }, pass) => {
    if (!body.startsWith("[") || !body.includes('"jsonrpc"')) return pass();
    const asked = z.array(callShape).parse(JSON.parse(body));
    const own = new Map(asked.map((one) => [one.id, answer(one)]));
    const passed = asked.filter(({ id }) => own.get(id) === null);
    if (passed.length === asked.length) return pass();
    const answers =
      passed.length === 0
        ? []
        : z.array(answerShape).parse(await (await pass(JSON.stringify(passed))).json());
    const made = asked.flatMap(({ id }) => {
      const mine = own.get(id);
      return mine === null || mine === undefined ? [] : [{ jsonrpc: "2.0", id, ...mine }];
    });
    return Response.json([...answers, ...made]);
  });
}

/**
 * The node makes up how many transactions an account has made.
 * @param count By the question's number, from 1, and the block it asks about; `null` is the truth.
 */
export function miscounting(count: (asked: number, block: unknown) => number | null): () => void {
  let asked = 0;
  return answering(({ method, params }) => {
    if (method !== "eth_getTransactionCount") return null;
    const made = count(++asked, params[1]);
    return made === null ? null : { result: toHex(made) };
  });
}
