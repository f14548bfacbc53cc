import { vi } from "vitest";
import * as z from "zod";

/** A node that answers some calls in a way of its own. */

const callShape = z.looseObject({
  id: z.number(),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
});
const answerShape = z.looseObject({ id: z.number() });

export type RpcAsked = z.infer<typeof callShape>;
export type RpcAnswer = { result: unknown } | { error: { code: number; message: string } };

/**
 * Answers calls of the node itself, where `answer` gives one; all others reach the node.
 * @returns What ends that.
 */
export function answering(answer: (asked: RpcAsked) => RpcAnswer | null): () => void {
  const inner = globalThis.fetch;
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const body = typeof init?.body === "string" ? init.body : "";
    if (!body.startsWith("[") || !body.includes('"jsonrpc"')) return inner(input, init);
    const asked = z.array(callShape).parse(JSON.parse(body));
    const own = new Map(asked.map((one) => [one.id, answer(one)]));
    const passed = asked.filter(({ id }) => own.get(id) === null);
    if (passed.length === asked.length) return inner(input, init);
    const answers =
      passed.length === 0
        ? []
        : z
            .array(answerShape)
            .parse(await (await inner(input, { ...init, body: JSON.stringify(passed) })).json());
    const made = asked.flatMap(({ id }) => {
      const mine = own.get(id);
      return mine === null || mine === undefined ? [] : [{ jsonrpc: "2.0", id, ...mine }];
    });
    return Response.json([...answers, ...made]);
  });
  return () => vi.stubGlobal("fetch", inner);
}
