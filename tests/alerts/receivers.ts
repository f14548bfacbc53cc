import { vi } from "vitest";
import * as z from "zod";
import { START, type App } from "../support/app";
import { HOUR, MINUTE, priced, setAlert, tick } from "./support";

/** Users' webhooks, as they answer in tests. */

export const URL_ = "https://hooks.example.com/alerts";
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
export function receiver(answer: (posted: Posted) => Response | Promise<Response>): Posted[] {
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
    const timer = setTimeout(() => undefined, HOUR);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new TypeError("aborted"));
    });
  });
}

export async function addWebhook(app: App, url = URL_, userId = "alice") {
  const { status, body } = await app.post("/webhooks", { userId, url });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { webhook, secret } = added.parse(body);
  return { webhookId: webhook.webhookId, secret };
}

/** An alert of Alice's fires, and a tick has had its webhooks posted to. */
export async function fired(app: App): Promise<void> {
  await setAlert(app, "BTC above 110");
  await priced(app, START + MINUTE, 100);
  await priced(app, START + 3 * MINUTE, 120);
  await tick(app);
  await tick(app);
}

export const deliveries = async (app: App) =>
  (await app.rows("webhookPosts")).map(({ state, tries, outcome }) => [state, tries, outcome]);

/** Time goes on, a tick a step. */
export async function pass(app: App, ms: number, step: number): Promise<void> {
  for (const end = Date.now() + ms; Date.now() < end;) {
    vi.setSystemTime(Date.now() + step);
    await tick(app);
  }
}
