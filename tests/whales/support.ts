import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";

/** What the tests of whale alerts share. */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const BEGIN = internal.whales.alerts.startHour;

export const alert = (fields: Record<string, unknown> = {}) => ({
  token: "ETH",
  alertType: "cex_inflow",
  amount: 4_200_000,
  direction: "bearish",
  description: "A large deposit.",
  ...fields,
});
export const hash = (digit: string) => `0x${digit.repeat(64)}`;

/** The agent's next job answers this. */
export function agentSays(app: Pick<App, "standins">, answer: unknown): void {
  const content = typeof answer === "string" ? answer : JSON.stringify(answer);
  app.standins.fail("agent", { mode: "reply", content, times: 1 });
}

/** Runs this hour's watch to its end, its card's delivery included. */
export async function watchNow(app: Pick<App, "t" | "settle" | "rows">): Promise<void> {
  await app.t.mutation(BEGIN, {});
  for (let wait = 0; wait < 60; wait++) {
    await app.settle();
    const [progress] = await app.rows("whaleProgress");
    const cards = await app.rows("messages");
    const isOpen = (progress?.endedAt ?? 0) < (progress?.hour ?? 0);
    if (!isOpen && cards.every(({ state }) => state !== "queued" && state !== "sending")) return;
  }
}

/** Runs this hour's watch and the time to the next hour. */
export async function watchHour(app: App): Promise<void> {
  await watchNow(app);
  await app.pass(HOUR - (Date.now() % HOUR));
}

export function prompts(app: App) {
  return app.standins.sent("agent").filter(({ path }) => path === "/agent/prompt");
}
export function polls(app: App) {
  return app.standins.sent("agent").filter(({ method }) => method === "GET");
}
export function cancels(app: App) {
  return app.standins.sent("agent").filter(({ path }) => path.endsWith("/cancel"));
}
