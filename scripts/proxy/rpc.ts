import type { Readable, Writable } from "node:stream";
import * as z from "zod/mini";

/**
 * JSON-RPC 2.0 over lines, as far as a server that asks nothing needs it. It replaces the SDK's server, whose loading
 * alone takes as long as Node's, at every start of an assistant.
 */

/** One request under way. */
export type Request = {
  params: Record<string, unknown>;
  /** Fires when the client has cancelled the request: then there is no answer. */
  signal: AbortSignal;
  notify: (method: string, params: Record<string, unknown>) => void;
};

/** Answers one request. It throws an `RpcError` for mistakes of the caller. */
export type Handler = (method: string, request: Request) => object | Promise<object>;

export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: object,
  ) {
    super(message);
  }
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;

/** Longer than any message that makes sense. */
const MAX_LINE_CHARS = 10_000_000;

const BYTE_ORDER_MARK = /^\ufeff/;

/** JavaScript would round a larger number, and the answer would have another id. */
const requestId = z.union([z.string(), z.int()]);
type Id = z.output<typeof requestId>;

const message = z.record(z.string(), z.unknown());
const call = z.object({ jsonrpc: z.literal("2.0"), method: z.string() });
const params = z.optional(z.record(z.string(), z.unknown()));
const cancellation = z.object({
  method: z.literal("notifications/cancelled"),
  params: z.object({ requestId }),
});

/** A response, written or pending; `null` if there is none: for notifications, and after a cancellation. */
type Response = object | null;

/**
 * Answers the input until it ends: each request of a line, or of a batch, gets a response.
 * @returns Ends the running requests, each with an error, when nobody can wait for them any more.
 */
export function serve(input: Readable, output: Writable, handle: Handler): (reason: RpcError) => void {
  const underWay = new Map<Id, AbortController>();
  const write = (body: object) => void output.write(`${JSON.stringify(body)}\n`);
  const notify: Request["notify"] = (method, given) => write({ jsonrpc: "2.0", method, params: given });

  const answered = async (id: Id, given: Record<string, unknown>): Promise<Response> => {
    const controller = new AbortController();
    const { signal } = controller;
    underWay.set(id, controller);
    try {
      const asked = call.safeParse(given);
      if (!asked.success) throw new RpcError(INVALID_REQUEST, "This is no JSON-RPC 2.0 request");
      const named = params.safeParse(given.params);
      if (!named.success) throw new RpcError(INVALID_PARAMS, "params must be an object");
      const result = await handle(asked.data.method, { params: named.data ?? {}, signal, notify });
      return isCancelled(signal) ? null : { jsonrpc: "2.0", id, result };
    } catch (error) {
      return isCancelled(signal) ? null : { jsonrpc: "2.0", id, error: failureOf(error) };
    } finally {
      underWay.delete(id);
    }
  };

  const responseTo = async (given: unknown): Promise<Response> => {
    const parsed = message.safeParse(given);
    if (!parsed.success) return unidentified(INVALID_REQUEST, "A message is an object");
    const { id, method, result, error } = parsed.data;
    // A server that asks nothing expects no responses.
    if (method === undefined && (result !== undefined || error !== undefined)) return null;
    const identified = requestId.safeParse(id);
    if (identified.success) return answered(identified.data, parsed.data);
    if (id !== undefined || method === undefined) {
      return unidentified(INVALID_REQUEST, "A request has a method, and a string or a whole number as id");
    }
    const cancelled = cancellation.safeParse(parsed.data);
    if (cancelled.success) underWay.get(cancelled.data.params.requestId)?.abort();
    return null;
  };

  const take = async (line: string) => {
    const given = jsonOf(line);
    if (!Array.isArray(given) || given.length === 0) {
      const response =
        given === undefined ? unidentified(PARSE_ERROR, "This is not JSON") : await responseTo(given);
      if (response !== null) write(response);
      return;
    }
    const responses = (await Promise.all(given.map(responseTo))).filter((one) => one !== null);
    if (responses.length > 0) write(responses);
  };

  let rest = "";
  /** Nothing of an overlong line is kept. */
  let isOverlong = false;
  const finish = (line: string) => {
    if (isOverlong)
      write(unidentified(INVALID_REQUEST, `A message has at most ${MAX_LINE_CHARS} characters`));
    else if (line.trim() !== "") void take(line);
    isOverlong = false;
  };
  const read = (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) finish(line);
    isOverlong ||= rest.length > MAX_LINE_CHARS;
    if (isOverlong) rest = "";
  };
  input
    .setEncoding("utf8")
    .on("data", read)
    .once("end", () => finish(rest));
  return (reason) => underWay.forEach((controller) => controller.abort(reason));
}

/** Whether its client has cancelled it, and expects no response. */
function isCancelled(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof RpcError);
}

/** An answer to a message without a readable id. The protocol leaves out the id, where JSON-RPC has `null`, which clients refuse. */
function unidentified(code: number, text: string): object {
  return { jsonrpc: "2.0", error: { code, message: text } };
}

function failureOf(error: unknown): { code: number; message: string; data?: object } {
  if (!(error instanceof RpcError)) {
    return { code: INTERNAL_ERROR, message: error instanceof Error ? error.message : "Internal error" };
  }
  const { code, message: text, data } = error;
  return { code, message: text, ...(data === undefined ? {} : { data }) };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line.replace(BYTE_ORDER_MARK, ""));
  } catch {
    return undefined;
  }
}
