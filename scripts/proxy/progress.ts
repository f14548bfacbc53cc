import type { Request } from "./rpc";

/** How a client that wants to hear of a call's progress is told. */
export type Listener = Pick<Request, "notify"> & { progressToken: string | number | undefined };

const INTERVAL_SECONDS = 2;

/** Tells the client, when it has asked for it, every two seconds that `work` is still under way. */
export async function withProgress<Result>(
  { notify, progressToken }: Listener,
  work: Promise<Result>,
): Promise<Result> {
  if (progressToken === undefined) return work;
  const tell = (message: string, progress: number) =>
    notify("notifications/progress", { progressToken, progress, message });
  tell("Asking the service", 0);
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += INTERVAL_SECONDS;
    tell(`Waiting for the service, ${seconds} s so far`, seconds);
  }, INTERVAL_SECONDS * 1_000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
