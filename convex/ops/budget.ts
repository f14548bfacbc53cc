import type { Billed } from "../lib/budget/classes";
import { NEARLY_USED, spentToday } from "../lib/budget/usage";
import { cron } from "../lib/cronRuns";
import { takeOne } from "../lib/limits/shares";
import { log } from "../lib/log";
import { DAY, dateTime } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";

/** Warns the operator in time that the day's budget is running out. */

const NAMES: Record<Billed, string> = {
  llm: "LLM gateway",
  sentiment: "Sentiment model",
  agentApi: "Agent API",
};

/** One a UTC day. */
const WARNINGS = { name: "budget warning", most: 1, windowMs: DAY };

/** One card a day, once four fifths of a share or of a whole budget are spent. For the cron. */
export const watch = cron("watch the budget", async (ctx) => {
  const now = Date.now();
  const { used, providers, resetsAt } = await spentToday(ctx, now);
  const fullest = Math.max(...used.map(({ part }) => part));
  if (fullest < NEARLY_USED) return;
  if ((await takeOne(ctx, WARNINGS, [])) !== "taken") return;
  log.warn("budget.nearly used up", { part: Math.round(fullest * 100) / 100 });
  const lines = (["llm", "sentiment", "agentApi"] as const).map(
    (name) =>
      `${NAMES[name]}: ${providers[name].spentUsd.toFixed(2)} of ${providers[name].limitUsd.toFixed(2)} USD`,
  );
  await enqueueServiceCard(ctx, {
    kind: "budget",
    paragraphs: [
      [{ bold: "Today's budget is nearly used up" }],
      [lines.join("\n")],
      [
        `Callers whose share is used up are refused until ${dateTime(resetsAt)}. Signals, alerts, running shifts and paid reports continue. DAILY_BUDGET_USD sets the amount.`,
      ],
    ],
  });
});
