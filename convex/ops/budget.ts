import { getSpentToday, NEARLY_USED } from "../platform/limits/budget";
import { defineCron } from "../platform/changes";
import { hasLeft } from "../platform/limits/charges";
import { log } from "../lib/log";
import { formatDateTime } from "../lib/time";
import { enqueueServiceCard } from "../messenger/model";

/** Warns the operator before the day's budget runs out. */

const NAMES = [
  ["llm", "LLM gateway"],
  ["sentiment", "Sentiment model"],
  ["agentApi", "Agent API"],
] as const;

/** Sends one card a day, when four fifths of the budget or of the callers' part of it are spent. For the cron. */
export const watch = defineCron("watch the budget", async (ctx) => {
  const { used, limitUsd, providers, resetsAt } = await getSpentToday(ctx, Date.now());
  const fullest = Math.max(used.all, used.callers);
  if (fullest < NEARLY_USED || !(await hasLeft(ctx, "budgetWarning", "all"))) return;
  log.warn("budget.nearly used up", { part: Math.round(fullest * 100) / 100 });
  const lines = NAMES.map(([provider, name]) => `${name}: ${providers[provider].toFixed(2)} USD`);
  await enqueueServiceCard(ctx, {
    kind: "budget",
    paragraphs: [
      [{ bold: `Today's budget of ${limitUsd.toFixed(2)} USD is nearly used up` }],
      [lines.join("\n")],
      [
        `Callers whose part is used up get more with every full hour, and all of it anew from ${formatDateTime(resetsAt)} on. Signals, alerts, running shifts and paid reports continue. To serve more callers today, raise DAILY_BUDGET_USD.`,
      ],
    ],
  });
});
