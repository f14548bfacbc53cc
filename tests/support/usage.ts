import { billed, moved } from "../../scripts/stack/quicker";

/** What work takes of the platform: the calls that it bills, also by function, and the bytes that transactions read. */
export async function measure(work: () => Promise<unknown>) {
  const callsBefore = new Map(billed);
  const readBefore = moved.bytesRead;
  await work();
  const byFunction = new Map<string, number>();
  for (const [name, calls] of billed) {
    const made = calls - (callsBefore.get(name) ?? 0);
    if (made > 0) byFunction.set(name, made);
  }
  const calls = [...byFunction.values()].reduce((sum, one) => sum + one, 0);
  return { calls, byFunction, bytesRead: moved.bytesRead - readBefore };
}
