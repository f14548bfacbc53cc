import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.interval("collect data for research shifts", { minutes: 5 }, internal.research.shifts.collectDue, {});
crons.interval("write due research reports", { minutes: 5 }, internal.research.syntheses.claimDue, {});
crons.interval("resume interrupted deliveries", { minutes: 5 }, internal.messenger.outbox.sweep, {});
crons.interval("sample live prices", { minutes: 5 }, internal.prices.samples.takeDue, {});
crons.interval(
  "settle open transactions",
  { minutes: 1 },
  internal.wallets.transactions.outcome.followUpDue,
  {},
);
crons.interval("check named deposits", { minutes: 1 }, internal.payments.deposits.checks.checkDue, {});
crons.interval("match deposits to users", { minutes: 5 }, internal.payments.deposits.owners.matchDue, {});
crons.interval("give up lost agent runs", { minutes: 5 }, internal.chat.runs.sweep, {});
crons.daily("recompute the ledger", { hourUTC: 3, minuteUTC: 17 }, internal.credits.reconciliation.run, {});
crons.interval(
  "forget old paid reports",
  { minutes: 5 },
  internal.payments.reports.progress.forgetReports,
  {},
);
crons.interval(
  "resume interrupted paid reports",
  { minutes: 1 },
  internal.payments.reports.progress.resumeLost,
  {},
);
crons.interval("resume interrupted bot answers", { minutes: 1 }, internal.bot.jobs.sweep, {});
crons.interval("resume interrupted mentions", { minutes: 1 }, internal.social.mentions.resumeLost, {});
// The contract names the minute.
// eslint-disable-next-line @convex-dev/no-top-of-hour-crons
crons.daily("issue the day's signals", { hourUTC: 8, minuteUTC: 0 }, internal.signals.issuing.issueDue, {});
crons.interval("resume interrupted signals", { minutes: 5 }, internal.signals.issuing.resumeLost, {});
crons.interval("anchor the signal record", { minutes: 60 }, internal.signals.anchors.anchorDue, {});
crons.interval("track signal outcomes", { minutes: 30 }, internal.signals.outcomes.track, {});
crons.hourly("ask the shadow arms", { minuteUTC: 11 }, internal.signals.lab.issuing.open, {});
crons.interval(
  "resume interrupted shadow signals",
  { minutes: 5 },
  internal.signals.lab.issuing.resumeLost,
  {},
);
crons.interval("track shadow signals", { minutes: 30 }, internal.signals.lab.tracking.track, {});
crons.weekly(
  "recap the week's signals",
  { dayOfWeek: "sunday", hourUTC: 23, minuteUTC: 55 },
  internal.signals.weeks.openDue,
  {},
);
crons.interval("resume interrupted weekly recaps", { minutes: 5 }, internal.signals.weeks.resumeLost, {});
crons.hourly("look for whales", { minuteUTC: 4 }, internal.whales.agent.watches.begin, {});
crons.interval("measure whales on Base", { minutes: 1 }, internal.whales.chain.cursor.begin, {});
crons.interval("resume lost looks for whales", { minutes: 1 }, internal.whales.agent.watches.resume, {});
crons.interval("watch for alerts", { minutes: 1 }, internal.alerts.watching.tick, {});
crons.interval("free lost places", { minutes: 1 }, internal.lib.lanes.sweep, {});
crons.interval("watch the budget", { minutes: 5 }, internal.ops.budget.watch, {});
crons.daily("delete what has aged", { hourUTC: 4, minuteUTC: 23 }, internal.ops.housekeeping.run, {});

export default crons;
