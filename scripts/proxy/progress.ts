import type { Request } from "./rpc";

/** What is needed to send a client the progress that it asked for. */
export type Listener = Pick<Request, "notify"> & { progressToken: string | number | undefined };

const INTERVAL_SECONDS = 2;

/** Notifies the client every two seconds, if it has asked for it, that `work` is still running. */
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
