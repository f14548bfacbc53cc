import type { Request } from "./rpc";

/** How a client that wants to hear of a call's progress is told. */
export type Listener = Pick<Request, "notify"> & { progressToken: string | number | undefined };

const INTERVAL_MS = 2_000;

/** Tells the client, when it has asked for it, every two seconds that `work` is still under way. */
export async function withProgress<Result>(
  { notify, progressToken }: Listener,
  work: Promise<Result>,
): Promise<Result> {
  if (progressToken === undefined) return work;
  const startedAt = performance.now();
  const tell = (message: string, progress: number) =>
    notify("notifications/progress", { progressToken, progress, message });
  tell("Asking the service", 0);
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    tell(`Waiting for the service, ${seconds} s so far`, seconds);
  }, INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
