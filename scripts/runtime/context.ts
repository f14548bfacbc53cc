import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path/posix";
import vm from "node:vm";
import * as z from "zod";
import type { PushedModule } from "../push";
import { real } from "../real";
import type { Outside } from "./inside";
import { createOperations } from "./operations";
import { createStreams, type Streams } from "./streams";

/**
 * Contexts that hold Convex's own runtime and nothing else, in which the modules of a push run as on the platform: each
 * call in a fresh one, which is cut when it has answered.
 */

/** What the platform would not have done. */
export type Faults = (what: string) => void;

/** Of a context's programs in WebAssembly: what the platform gives a call in all. */
const MOST_MEMORY = 64 * 1024 * 1024;

/** @returns The answer, as JSON. @throws `{ message, data? }` */
export type SystemCall = (name: string, given: unknown) => Promise<string>;

export type Context = {
  /** A module's exports. */
  load: (module: string) => Promise<object>;
  streams: Streams;
  hasGlobal: (name: string) => boolean;
  /**
   * It has answered: nothing reaches it any more, and what is still under way is a fault. What a deadline gives up would
   * be one, too, though a row and a cron take it up: in the contract no such deadline passes.
   */
  cut: () => void;
};

const nothing = z.custom<vm.Context>();
const begins = z.custom<(outside: Outside) => void>((value) => typeof value === "function");
const asked = z.object({
  url: z.string(),
  method: z.string(),
  headerPairs: z.array(z.tuple([z.string(), z.string()])),
  streamId: z.string().nullable(),
  signal: z.string(),
});
const sleeping = z.tuple([z.string(), z.number()]);
const reading = z.tuple([z.string()]);

/** Outside of any function: the test library has another `fetch` inside. */
const outsideOfAll = AsyncLocalStorage.snapshot();

/** @param script Of `runtimeScript`. */
export function contextsOf(script: string, modules: readonly PushedModule[]) {
  const runtime = new vm.Script(script, { filename: "convex-runtime.js" });
  const sources = new Map(modules.map(({ path: name, source }) => [name, source]));
  return (what: string, fault: Faults, systemCall: SystemCall): Context => {
    const context = vm.createContext(nothing.parse(Object.create(null)), {
      codeGeneration: { strings: false, wasm: true },
    });
    const streams = createStreams();
    const operations = createOperations(streams, (level, line) => {
      if (level === "ERROR") console.log(`${what} says ${line}`);
    });
    /** While modules are evaluated the platform refuses all that is not computed. */
    let evaluating = 0;
    let isCut = false;
    let calls = 0;
    const pending = new Set<string>();
    const endings = new Set<() => void>();
    const told = (more: string) => fault(`${what}: ${more}`);
    const memories: WebAssembly.Memory[] = [];

    const asynchronous: Readonly<Record<string, (given: readonly unknown[]) => Promise<unknown>>> = {
      sleep: (given) => {
        const [, ms] = sleeping.parse(given);
        return new Promise((wake) => {
          const timer = real.setTimeout(wake, ms);
          endings.add(() => real.clearTimeout(timer));
        });
      },
      "stream/readPart": (given) => streams.read(reading.parse(given)[0]),
      fetch: ([given]) => fetchFor(streams, endings, asked.parse(given)),
    };
    /** What has to have ended when the call has answered: no timers, and no bodies that nobody reads to their end. */
    const isAwaited = (name: string) => name !== "sleep" && name !== "stream/readPart";
    const carried = (
      name: string,
      work: () => Promise<unknown>,
      done: Parameters<Outside["asyncOp"]>[2],
      failed: Parameters<Outside["asyncOp"]>[3],
    ) => {
      if (isCut) return told(`${name} is called after the answer`);
      if (evaluating > 0) {
        told(`${name} is called while modules are evaluated`);
        return failed(new Error(`${name} is not allowed while modules are evaluated`));
      }
      const call = `${name} ${++calls}`;
      if (isAwaited(name)) pending.add(call);
      const over = (deliver: () => void) => {
        pending.delete(call);
        if (!isCut) deliver();
      };
      work().then(
        (value) => over(() => done(value)),
        (error: unknown) => over(() => failed(shownError(error))),
      );
    };
    const outside: Outside = {
      op: (name, given) => {
        if (name === "throwUncatchableDeveloperError") {
          told(`the platform ends it: ${String(given[0])}`);
          throw new Error(String(given[0]));
        }
        const operation = operations[name];
        if (operation === undefined) {
          told(`it asks for the operation ${name}, which scripts/runtime/operations.ts does not have`);
          throw new Error(`There is no operation ${name}`);
        }
        try {
          return operation(...given);
        } catch (error) {
          if (error instanceof z.ZodError)
            told(`it gives the operation ${name} what this check does not know: ${error.message}`);
          throw error;
        }
      },
      asyncOp: (name, given, done, failed) => {
        const operation = asynchronous[name];
        if (operation !== undefined) return carried(name, () => operation(given), done, failed);
        told(`it asks for the operation ${name}, which scripts/runtime/context.ts does not have`);
        failed(new Error(`There is no operation ${name}`));
      },
      asyncSyscall: (name, json, done, failed) =>
        carried(name, () => systemCall(name, JSON.parse(json)), done, failed),
      fault: told,
      grown: (memory) => void memories.push(memory),
    };
    begins.parse(runtime.runInContext(context))(outside);

    const made = new Map<string, vm.SourceTextModule>();
    const moduleAt = (name: string): vm.SourceTextModule => {
      const known = made.get(name);
      if (known !== undefined) return known;
      const source = sources.get(name);
      if (source === undefined) {
        told(`it imports ${name}, which is not in the push`);
        throw new Error(`There is no module ${name}`);
      }
      const module = new vm.SourceTextModule(source, {
        context,
        identifier: name,
        importModuleDynamically: async (specifier: string) => {
          const target = moduleAt(path.join(path.dirname(name), specifier));
          await evaluated(target);
          return target;
        },
      });
      made.set(name, module);
      return module;
    };
    const evaluated = async (module: vm.SourceTextModule): Promise<void> => {
      if (module.status === "unlinked")
        await module.link((specifier, from) => moduleAt(path.join(path.dirname(from.identifier), specifier)));
      if (module.status !== "evaluated") await module.evaluate();
    };
    return {
      streams,
      hasGlobal: (name) => name in context,
      load: async (name) => {
        evaluating++;
        try {
          const module = moduleAt(`${name}.js`);
          await evaluated(module);
          return module.namespace;
        } finally {
          evaluating--;
        }
      },
      cut: () => {
        isCut = true;
        for (const call of pending)
          told(`${call.split(" ")[0]} is under way when it has answered: the platform cuts it`);
        for (const end of endings) end();
        const bytes = memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
        if (bytes > MOST_MEMORY) told(`its WebAssembly takes ${bytes} bytes, more than ${MOST_MEMORY}`);
      },
    };
  };
}

export type Contexts = ReturnType<typeof contextsOf>;

/** A call over the network. A redirect is the runtime's own matter, and so is a signal: aborting ends its stream. */
async function fetchFor(
  streams: Streams,
  endings: Set<() => void>,
  { url, method, headerPairs, streamId, signal }: z.infer<typeof asked>,
): Promise<object> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  endings.add(abort);
  void streams.read(signal).then(abort, abort);
  const headers = new Headers(headerPairs);
  headers.delete("content-length");
  const body = streamId === null ? {} : { body: await streams.whole(streamId) };
  const init: RequestInit = { method, headers, ...body, redirect: "manual", signal: controller.signal };
  const response = await outsideOfAll(() => real.fetch(url, init));
  const { status, statusText, body: answer } = response;
  const answerId = answer === null ? null : streams.adopt(answer);
  return { streamId: answerId, status, statusText, headerPairs: [...response.headers], url };
}

function shownError(error: unknown): { name: string; message: string; data?: unknown } {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message } = error;
  return "data" in error ? { name, message, data: error.data } : { name, message };
}
