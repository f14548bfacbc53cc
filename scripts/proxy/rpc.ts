import type { Readable, Writable } from "node:stream";
import * as z from "zod/mini";

/**
 * JSON-RPC 2.0 over lines, the half of it that a server which asks nothing needs. It stands in for the SDK's server,
 * whose loading alone takes as long as Node's: an assistant waits for that at every start.
 */

/** One request under way. */
export type Request = {
  params: Record<string, unknown>;
  /** Fires when the client has lost interest: nothing is answered then. */
  signal: AbortSignal;
  notify: (method: string, params: Record<string, unknown>) => void;
};

/** What can be asked, by method. A method throws an `RpcError` for what is the caller's fault. */
export type Methods = ReadonlyMap<string, (request: Request) => object | Promise<object>>;

export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;

/** Longer than any message that makes sense. */
const MAX_LINE_CHARS = 10_000_000;

const requestId = z.union([z.string(), z.number()]);
const message = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.optional(requestId),
  method: z.string(),
  params: z.optional(z.record(z.string(), z.unknown())),
});
const cancellation = z.object({ requestId });

/**
 * Answers what arrives until the input ends. Lines that are no requests are passed over.
 * @param onOverlong Called, and nothing read any more, when a line does not end.
 */
export function serve(input: Readable, output: Writable, methods: Methods, onOverlong: () => void): void {
  const underWay = new Map<string | number, AbortController>();
  const write = (body: object) => output.write(`${JSON.stringify({ jsonrpc: "2.0", ...body })}\n`);
  const notify: Request["notify"] = (method, params) => write({ method, params });

  const answer = async (id: string | number, method: string, params: Record<string, unknown>) => {
    const controller = new AbortController();
    const { signal } = controller;
    underWay.set(id, controller);
    try {
      const handle = methods.get(method);
      if (handle === undefined) throw new RpcError(METHOD_NOT_FOUND, `There is no method ${method}`);
      const result = await handle({ params, signal, notify });
      if (!signal.aborted) write({ id, result });
    } catch (error) {
      if (!signal.aborted) write({ id, error: failureOf(error) });
    } finally {
      underWay.delete(id);
    }
  };

  const take = (line: string) => {
    const parsed = message.safeParse(jsonOf(line));
    if (!parsed.success) return;
    const { id, method, params = {} } = parsed.data;
    if (id !== undefined) void answer(id, method, params);
    else if (method === "notifications/cancelled") {
      const cancelled = cancellation.safeParse(params);
      if (cancelled.success) underWay.get(cancelled.data.requestId)?.abort();
    }
  };

  let rest = "";
  const read = (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(take);
    if (rest.length <= MAX_LINE_CHARS) return;
    input.off("data", read).pause();
    onOverlong();
  };
  input.setEncoding("utf8").on("data", read);
}

function failureOf(error: unknown): { code: number; message: string } {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  return { code: INTERNAL_ERROR, message: error instanceof Error ? error.message : "Internal error" };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
