import { vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import type { CallInit } from "../support/world";

/** What the tests of alerts share. */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type Source = "coinbase" | "chainlink" | "coingecko";

/** A proposal as the service answers it. */
export const proposed = z.object({
  alert: z.looseObject({ alertId: z.string(), state: z.string(), words: z.string() }),
  now: z.object({ at: z.string(), value: z.number(), source: z.string() }).nullable(),
  holdsNow: z.boolean(),
});

/** A price as a source tells it at a moment, which time goes on to. */
export async function priced(
  app: App,
  at: number,
  priceUsd: number,
  { source = "coinbase", token = "BTC" }: { source?: Source; token?: string } = {},
): Promise<void> {
  if (Date.now() < at) vi.setSystemTime(at);
  await app.t.mutation(internal.market.samples.storeSample, { token, priceUsd, source, observedAt: at });
}

/** What the cron does every minute, with what follows from it. */
export async function tick(app: App): Promise<void> {
  await app.t.mutation(internal.alerts.watch.checkAlerts, {});
  const posts = await app.rows("webhookPosts");
  if (posts.some(({ state, dueAt }) => /due|retrying/.test(state) && dueAt <= Date.now()))
    await app.t.mutation(internal.messenger.webhooks.events.startPosting, {});
  await app.settle(1);
}

export async function ask(app: App, text: string, userId = "alice", init: CallInit = {}) {
  return app.post("/alerts", { userId, text }, init);
}

/** An alert that its user has said yes to. @returns Its id. */
export async function setAlert(
  app: App,
  text: string,
  userId = "alice",
  init: CallInit = {},
): Promise<string> {
  const { status, body } = await ask(app, text, userId, init);
  if (status !== 200) throw new Error(`${text}: ${JSON.stringify(body)}`);
  const { alertId } = proposed.parse(body).alert;
  await app.post("/alerts/confirm", { userId, alertId }, init);
  return alertId;
}
