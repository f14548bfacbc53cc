import { vi } from "vitest";
import * as z from "zod";
import type { App } from "../support/app";

/** Users' webhooks, as they answer in tests. */

const added = z.object({ webhook: z.looseObject({ webhookId: z.string() }), secret: z.string() });

export type Posted = {
  url: string;
  headers: Headers;
  body: string;
  at: number;
  redirect: RequestRedirect;
  signal: AbortSignal;
};

/** Users' webhooks: they answer what a test says, and keep what they were sent. */
export function receiver(
  answer: (posted: Posted) => Response | Promise<Response> = () => new Response(),
): Posted[] {
  const others = globalThis.fetch;
  const posted: Posted[] = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init);
    if (!new URL(request.url).hostname.endsWith(".example.com")) return others(input, init);
    const { url, headers, redirect, signal } = request;
    const one = { url, headers, redirect, signal, body: await request.text(), at: Date.now() };
    posted.push(one);
    return answer(one);
  });
  return posted;
}

/** No answer, until who asked gives up. */
export function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => undefined, 3_600_000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new TypeError("aborted"));
    });
  });
}

export async function addWebhook(app: App, url = "https://hooks.example.com/", userId = "alice") {
  const { status, body } = await app.post("/webhooks", { userId, url }, { ip: `10.${userId.length}.1.1` });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { webhook, secret } = added.parse(body);
  return { webhookId: webhook.webhookId, secret };
}
