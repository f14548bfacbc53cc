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
 * Contexts with nothing but Convex's own runtime, in which a bundle's modules run as on the platform: each call in a
 * fresh context, which is closed after its answer.
 */

/** Receives each difference from the platform. */
export type Faults = (what: string) => void;

/** The memory that the platform gives the WebAssembly of a call. */
const MOST_MEMORY = 64 * 1024 * 1024;

/** @returns The answer, as JSON. @throws `{ message, data? }` */
export type SystemCall = (name: string, given: unknown) => Promise<string>;

export type Context = {
  /** A module's exports. */
  load: (module: string) => Promise<object>;
  streams: Streams;
  hasGlobal: (name: string) => boolean;
  /**
   * Closes the context after its answer: it is unreachable from then on, and a call that is still running is a fault.
   * Work given up at a deadline would also be one, although a row and a cron resume it: the contract never exceeds such
   * a deadline.
   */
  cut: () => void;
};

const nothing = z.custom<vm.Context>();
const begins = z.custom<(outside: Outside) => void>((value) => typeof value === "function");
const fetchRequest = z.object({
  url: z.string(),
  method: z.string(),
  headerPairs: z.array(z.tuple([z.string(), z.string()])),
  streamId: z.string().nullable(),
  signal: z.string(),
});
const sleeping = z.tuple([z.string(), z.number()]);
const reading = z.tuple([z.string()]);

/** Outside of any function, because the test library has another `fetch` inside. */
const outsideOfAll = AsyncLocalStorage.snapshot();

/** @param script Of `runtimeScript`. */
export function createContexts(script: string, modules: readonly PushedModule[]) {
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
    /** While modules are evaluated, the platform refuses every call to the outside. */
    let evaluating = 0;
    let isCut = false;
    let calls = 0;
    const pending = new Set<string>();
    const endings = new Set<() => void>();
    const report = (more: string) => fault(`${what}: ${more}`);
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
      fetch: ([given]) => fetchFor(streams, endings, fetchRequest.parse(given)),
    };
    /** Whether an operation has to end before the answer. Timers and unread bodies need not. */
    const isAwaited = (name: string) => name !== "sleep" && name !== "stream/readPart";
    const runOperation = (
      name: string,
      work: () => Promise<unknown>,
      done: Parameters<Outside["asyncOp"]>[2],
      failed: Parameters<Outside["asyncOp"]>[3],
    ) => {
      if (isCut) return report(`${name} is called after the answer`);
      if (evaluating > 0) {
        report(`${name} is called while modules are evaluated`);
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
          report(`the platform ends it: ${String(given[0])}`);
          throw new Error(String(given[0]));
        }
        const operation = operations[name];
        if (operation === undefined) {
          report(`it asks for the operation ${name}, which scripts/runtime/operations.ts does not have`);
          throw new Error(`There is no operation ${name}`);
        }
        try {
          return operation(...given);
        } catch (error) {
          if (error instanceof z.ZodError)
            report(`it gives the operation ${name} what this check does not know: ${error.message}`);
          throw error;
        }
      },
      asyncOp: (name, given, done, failed) => {
        const operation = asynchronous[name];
        if (operation !== undefined) return runOperation(name, () => operation(given), done, failed);
        report(`it asks for the operation ${name}, which scripts/runtime/context.ts does not have`);
        failed(new Error(`There is no operation ${name}`));
      },
      asyncSyscall: (name, json, done, failed) =>
        runOperation(name, () => systemCall(name, JSON.parse(json)), done, failed),
      fault: report,
      grown: (memory) => void memories.push(memory),
    };
    begins.parse(runtime.runInContext(context))(outside);

    const made = new Map<string, vm.SourceTextModule>();
    const moduleAt = (name: string): vm.SourceTextModule => {
      const linked = made.get(name);
      if (linked !== undefined) return linked;
      const source = sources.get(name);
      if (source === undefined) {
        report(`it imports ${name}, which is not in the push`);
        throw new Error(`There is no module ${name}`);
      }
      const module = new vm.SourceTextModule(source, {
        context,
        identifier: name,
        importModuleDynamically: async (specifier: string) => {
          const target = moduleAt(path.join(path.dirname(name), specifier));
          await evaluate(target);
          return target;
        },
      });
      made.set(name, module);
      return module;
    };
    const evaluate = async (module: vm.SourceTextModule): Promise<void> => {
      if (module.status === "unlinked")
        await module.link((specifier, from) => moduleAt(path.join(path.dirname(from.identifier), specifier)));
      if (module.status !== "evaluated") await module.evaluate();
    };
    return {
      streams,
      hasGlobal: (name) => vm.runInContext(`${JSON.stringify(name)} in globalThis`, context) === true,
      load: async (name) => {
        evaluating++;
        try {
          const module = moduleAt(`${name}.js`);
          await evaluate(module);
          return module.namespace;
        } finally {
          evaluating--;
        }
      },
      cut: () => {
        isCut = true;
        for (const call of pending)
          report(`${call.split(" ")[0]} is under way when it has answered: the platform cuts it`);
        for (const end of endings) end();
        const bytes = memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
        if (bytes > MOST_MEMORY) report(`its WebAssembly takes ${bytes} bytes, more than ${MOST_MEMORY}`);
      },
    };
  };
}

export type Contexts = ReturnType<typeof createContexts>;

/** A call over the network. The runtime itself handles redirects, and signals: aborting ends the stream. */
async function fetchFor(
  streams: Streams,
  endings: Set<() => void>,
  { url, method, headerPairs, streamId, signal }: z.infer<typeof fetchRequest>,
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
