import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.interval("collect data for research shifts", { minutes: 5 }, internal.research.shifts.collectDue, {});
crons.interval("write due research reports", { minutes: 5 }, internal.research.syntheses.claimDue, {});
crons.interval("sample live prices", { minutes: 5 }, internal.market.samples.takeDue, {});
crons.interval(
  "settle open transactions",
  { minutes: 1 },
  internal.wallets.transactions.outcome.followUpDue,
  {},
);
crons.interval("check named deposits", { minutes: 1 }, internal.payments.deposits.checks.checkDue, {});
crons.interval("match deposits to users", { minutes: 5 }, internal.payments.deposits.owners.matchDue, {});
crons.daily("recompute the ledger", { hourUTC: 3, minuteUTC: 17 }, internal.credits.reconciliation.run, {});
crons.interval(
  "forget old paid reports",
  { minutes: 5 },
  internal.payments.reports.progress.forgetReports,
  {},
);
// The contract names the minute.
// oxlint-disable-next-line @convex-dev/no-top-of-hour-crons
crons.daily("issue the day's signals", { hourUTC: 8, minuteUTC: 0 }, internal.signals.desk.runs.openDay, {});
crons.interval("anchor the signal record", { minutes: 60 }, internal.signals.record.anchors.anchorDue, {});
crons.interval("track signal outcomes", { minutes: 30 }, internal.signals.outcomes.tracker.track, {});
crons.hourly("ask the shadow arms", { minuteUTC: 11 }, internal.signals.desk.runs.openHour, {});
crons.interval("track shadow signals", { minutes: 30 }, internal.signals.outcomes.tracker.trackShadows, {});
crons.weekly(
  "recap the week's signals",
  { dayOfWeek: "sunday", hourUTC: 23, minuteUTC: 55 },
  internal.signals.recaps.weeks.openDue,
  {},
);
crons.hourly("look for whales", { minuteUTC: 4 }, internal.whales.agent.watches.begin, {});
crons.interval("measure whales on Base", { minutes: 1 }, internal.whales.chain.cursor.begin, {});
crons.interval("watch for alerts", { minutes: 1 }, internal.alerts.watch.tick, {});
crons.interval("take up lost work", { minutes: 1 }, internal.lib.work.turns.resumeLost, {});
crons.interval("watch the budget", { minutes: 5 }, internal.ops.budget.watch, {});
crons.daily("delete what has aged", { hourUTC: 4, minuteUTC: 23 }, internal.ops.housekeeping.run, {});

export default crons;
