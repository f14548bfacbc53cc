import { AsyncLocalStorage } from "node:async_hooks";
import * as z from "zod";

/**
 * What a piece of work read and wrote: documents, and index ranges (each query and each get is one); and the modules
 * (`market/snapshots`) whose functions ran in it, one entry per run.
 */
export type Usage = { read: number; written: number; ranges: number; modules: string[] };

/** The system calls behind `ctx`, through which convex-test sends everything a function does. */
type SystemCalls = {
  syscall: (operation: string, args: string) => string;
  asyncSyscall: (operation: string, args: string) => Promise<string>;
  jsSyscall: (operation: string, args: Record<string, unknown>) => unknown;
};

const usages = new AsyncLocalStorage<Usage>();
let writes = 0;
let installed = false;

/** `insert` names the table; the others name a row, whose id ends with its table's name. */
const targetShape = z.object({ table: z.string().optional(), id: z.string().optional() });
const streamed = z.object({ done: z.boolean() });
const inserted = z.object({ _id: z.string() });
const paged = z.object({ page: z.array(z.unknown()) });
const WRITE = /^1\.0\/(?:insert|shallowMerge|replace|remove)$/;
const SCHEDULE = /^1\.0\/(?:schedule|cancel_job)$/;

/** Counts from now on what functions read and write. Needs convex-test's own calls in place. */
export function installMetering(): void {
  if (installed) return;
  Object.assign(globalThis, { Convex: counted(systemCalls()) });
  installed = true;
}

/**
 * Inserts a row of a system table, which `ctx.db` keeps functions from doing. Works inside a running mutation.
 * @param value Convex's JSON form.
 * @returns The row's id.
 */
export async function systemInsert(table: string, value: unknown): Promise<string> {
  const result = await systemCalls().asyncSyscall("1.0/insert", JSON.stringify({ table, value }));
  return inserted.parse(JSON.parse(result))._id;
}

/** Told whenever a function of the application's `module` is about to run: convex-test loads it anew for each. */
export function noteModule(module: string): void {
  usages.getStore()?.modules.push(module);
}

/** How many writes there have been in this process. A changed number means there is something to save. */
export function writeCount(): number {
  return writes;
}

/** Runs `work` and tells what it read and wrote; functions it only scheduled are not counted. */
export async function measure<T>(work: () => Promise<T>): Promise<{ value: T; usage: Usage }> {
  const usage: Usage = { read: 0, written: 0, ranges: 0, modules: [] };
  const value = await usages.run(usage, work);
  return { value, usage: { ...usage, modules: [...usage.modules] } };
}

/** Has every asynchronous system call made from now on go through `around`, which may make it or not. */
export function interceptSystemCalls(
  around: (operation: string, call: () => Promise<string>) => Promise<string>,
): void {
  const calls = systemCalls();
  const Convex: SystemCalls = {
    jsSyscall: (operation, args) => calls.jsSyscall(operation, args),
    syscall: (operation, args) => calls.syscall(operation, args),
    asyncSyscall: (operation, args) => around(operation, () => calls.asyncSyscall(operation, args)),
  };
  Object.assign(globalThis, { Convex });
}

function systemCalls(): SystemCalls {
  const calls: unknown = Reflect.get(globalThis, "Convex");
  if (!areSystemCalls(calls)) throw new Error("convex-test has not installed its system calls");
  return calls;
}

function areSystemCalls(value: unknown): value is SystemCalls {
  return typeof value === "object" && value !== null && "asyncSyscall" in value && "syscall" in value;
}

function counted(calls: SystemCalls): SystemCalls {
  return {
    jsSyscall: (operation, args) => calls.jsSyscall(operation, args),
    syscall: (operation, args) => {
      if (operation === "1.0/queryStream") count({ ranges: 1 });
      return calls.syscall(operation, args);
    },
    asyncSyscall: async (operation, args) => {
      if (SCHEDULE.test(operation)) {
        writes += 1;
        // The scheduled function would inherit the usage it is not part of.
        return usages.exit(() => calls.asyncSyscall(operation, args));
      }
      const result = await calls.asyncSyscall(operation, args);
      if (WRITE.test(operation)) {
        writes += 1;
        // What is measured is what the work changed, not the count that the service keeps of its providers' answers.
        if (tableOf(args) !== "providerCalls") count({ written: 1 });
      } else if (usages.getStore() !== undefined) {
        count(readBy(operation, result));
      }
      return result;
    },
  };
}

function tableOf(args: string): string {
  const { table, id = "" } = targetShape.parse(JSON.parse(args));
  return table ?? id.replace(/^[\d;]+/, "");
}

function readBy(operation: string, result: string): Partial<Usage> {
  switch (operation) {
    case "1.0/get":
      return { ranges: 1, read: result === "null" ? 0 : 1 };
    case "1.0/queryStreamNext":
      return { read: streamed.parse(JSON.parse(result)).done ? 0 : 1 };
    case "1.0/queryPage":
      return { ranges: 1, read: paged.parse(JSON.parse(result)).page.length };
    default:
      return {};
  }
}

function count({ read = 0, written = 0, ranges = 0 }: Partial<Usage>): void {
  const usage = usages.getStore();
  if (usage === undefined) return;
  usage.read += read;
  usage.written += written;
  usage.ranges += ranges;
}
