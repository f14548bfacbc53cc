import { AsyncLocalStorage } from "node:async_hooks";

/**
 * What a piece of work read and committed: documents, and index ranges (each query and each get is one); and the
 * modules (`market/snapshots`) whose functions ran in it, one entry per run.
 */
export type Usage = { read: number; written: number; ranges: number; modules: string[] };

const usages = new AsyncLocalStorage<Usage>();

/**
 * Runs `work` and returns what it read and wrote; functions that it only scheduled do not count, and queries run even where
 * an answer of theirs is kept.
 */
export async function measure<T>(work: () => Promise<T>): Promise<{ value: T; usage: Usage }> {
  const usage: Usage = { read: 0, written: 0, ranges: 0, modules: [] };
  const value = await usages.run(usage, work);
  return { value, usage: { ...usage, modules: [...usage.modules] } };
}

/** Adds to what is being measured, if anything is. */
export function note({ read = 0, written = 0, ranges = 0 }: Partial<Usage>): void {
  const usage = usages.getStore();
  if (usage === undefined) return;
  usage.read += read;
  usage.written += written;
  usage.ranges += ranges;
}

/** Records that a function ran, by its path as in `market/snapshots:current`. */
export function noteRun(udfPath: string): void {
  usages.getStore()?.modules.push(udfPath.replace(/(?:\.[jt]s)?:.*$/, ""));
}

export const isMeasured = (): boolean => usages.getStore() !== undefined;

/** Runs `work` unmeasured. */
export const unmeasured = <T>(work: () => T): T => usages.exit(work);
