import { convexToJson, ConvexError, jsonToConvex, type JSONValue, type Value } from "convex/values";
import * as z from "zod";
import { parseJson } from "../json";
import type { ActionHost, Calls } from "../stack/application";
import type { Context, Contexts, Faults, SystemCall } from "./context";

/** Runs the stack's HTTP actions and actions in contexts of their own; queries and mutations run in the test library. */

const call = z.object({
  name: z.string().optional(),
  functionHandle: z.string().optional(),
  args: z.record(z.string(), z.json()).default({}),
  ts: z.number().default(0),
});
type Invoked = { invokeAction: (requestId: string, args: string) => Promise<string> };
const invoked = z.custom<Invoked>((value) => typeof value === "function" && "invokeAction" in value);
type Router = {
  lookup: (path: string, method: string) => unknown;
  runRequest: (request: string, route: string) => Promise<string>;
};
const routed = z.custom<Router>(
  (value) => typeof value === "object" && value !== null && "runRequest" in value,
);
const answered = z.object({
  status: z.number(),
  headerPairs: z.array(z.tuple([z.string(), z.string()])),
  streamId: z.string(),
});
const anyJson = z.custom<JSONValue>();

/** Methods whose requests have no body on the platform. */
const BODILESS = new Set(["GET", "HEAD", "OPTIONS"]);

/** @param onCall Called at the start of every call. */
export function createHost(contexts: Contexts, fault: Faults, onCall: () => void): ActionHost {
  const within = async <Answer>(what: string, calls: Calls, work: (context: Context) => Promise<Answer>) => {
    onCall();
    const context = contexts(
      what,
      fault,
      createSystemCalls(calls, (name) => fault(`${what}: an action makes the system call ${name}`)),
    );
    try {
      return await work(context);
    } catch (error) {
      throw toLocalError(error);
    } finally {
      context.cut();
    }
  };
  return {
    action: (name, args, calls) => {
      const [module = "", exported = "default"] = name.split(":");
      return within(name, calls, async (context) => {
        const registered: unknown = Reflect.get(await context.load(module), exported);
        const answer = await invoked.parse(registered).invokeAction("", JSON.stringify([convexToJson(args)]));
        return jsonToConvex(anyJson.parse(parseJson(answer)));
      });
    },
    fetch: (url, { method = "GET", headers, body }, calls) => {
      const { pathname } = new URL(url);
      return within(`${method} ${pathname}`, calls, async ({ load, streams }) => {
        const router = routed.parse(Reflect.get(await load("http"), "default"));
        if (router.lookup(pathname, method) === null)
          return new Response("No matching routes found", { status: 404 });
        const streamId = BODILESS.has(method) ? null : streams.create();
        if (streamId !== null)
          streams.extend(streamId, new Uint8Array(await new Response(body ?? null).arrayBuffer()), true);
        const request = {
          url,
          method,
          headerPairs: [...new Headers(headers)],
          streamId,
          signal: streams.create(),
        };
        const answer = await router.runRequest(JSON.stringify(request), pathname);
        const { status, headerPairs, streamId: out } = answered.parse(parseJson(answer));
        // The context has to live until the whole body is there.
        const whole = await streams.whole(out);
        const isEmpty = status === 204 || status === 304 || method === "HEAD";
        return new Response(isEmpty ? null : whole, {
          status,
          headers: headerPairs.filter(([name]) => name !== "content-length"),
        });
      });
    },
  };
}

/** The system calls of actions. */
function createSystemCalls(calls: Calls, unknown: (name: string) => void): SystemCall {
  return async (name, given) => {
    const toJson = (value: unknown) => JSON.stringify(value ?? null);
    if (name === "1.0/getUserIdentity") return toJson(await calls.identity());
    if (name === "1.0/getRequestMetadata") return toJson(await calls.metadata());
    const { name: path, functionHandle, args: json, ts } = call.parse(given);
    const args = Object.fromEntries(Object.entries(json).map(([key, value]) => [key, jsonToConvex(value)]));
    const target = path ?? functionHandle ?? "";
    // The test library's form.
    if (name === "1.0/createFunctionHandle") return toJson(`function://;${target}`);
    const value = (answer: Value | undefined) => JSON.stringify(convexToJson(answer ?? null));
    try {
      switch (name) {
        case "1.0/actions/query":
          return value(await calls.run("query", target, args));
        case "1.0/actions/mutation":
          return value(await calls.run("mutation", target, args));
        case "1.0/actions/action":
          return value(await calls.run("action", target, args));
        case "1.0/actions/schedule":
          return value(await calls.schedule(ts * 1_000, target, args));
      }
    } catch (error) {
      if (!(error instanceof ConvexError)) throw error;
      const data: unknown = error.data;
      throw Object.assign(new Error(error.message), {
        data: typeof data === "string" ? (parseJson(data) ?? data) : convexToJson(anyValue.parse(data)),
      });
    }
    unknown(name);
    throw new Error(`There is no system call ${name}`);
  };
}

const anyValue = z.custom<Value>();
const failure = z.object({ message: z.string(), stack: z.string().default(""), data: z.unknown() });

/** A context's error as one of this process. */
function toLocalError(error: unknown): Error {
  const { success, data: thrown } = failure.safeParse(error);
  if (!success) return new Error(String(error));
  const { message, stack } = thrown;
  if (thrown.data === undefined) return Object.assign(new Error(message), { stack });
  const data = typeof thrown.data === "string" ? parseJson(thrown.data) : thrown.data;
  return Object.assign(new ConvexError(jsonToConvex(anyJson.parse(data))), { message });
}
