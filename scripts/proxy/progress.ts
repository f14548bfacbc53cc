import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";

/** What the SDK tells of a request besides its parameters. */
export type RequestExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const INTERVAL_MS = 2_000;

/** Tells the client, when it has asked for it, every two seconds that `work` is still under way. */
export async function withProgress<Result>(extra: RequestExtra, work: Promise<Result>): Promise<Result> {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return work;
  const startedAt = performance.now();
  const tell = (message: string, seconds: number) => {
    const params = { progressToken, progress: seconds, message };
    // A client that is gone hears nothing more; the call itself finds that out.
    extra.sendNotification({ method: "notifications/progress", params }).catch(() => {});
  };
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
