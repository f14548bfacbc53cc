import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.interval("check research shifts", { minutes: 5 }, internal.research.shifts.checkDue, {});
// The contract names the minute.
// oxlint-disable-next-line @convex-dev/no-top-of-hour-crons
crons.daily("issue the day's signals", { hourUTC: 8, minuteUTC: 0 }, internal.signals.issue.openDay, {});
crons.interval("anchor the signal record", { minutes: 60 }, internal.signals.chain.anchorDue, {});
crons.interval("track signal outcomes", { minutes: 30 }, internal.signals.tracker.track, {});
crons.weekly(
  "recap the week's signals",
  { dayOfWeek: "sunday", hourUTC: 23, minuteUTC: 55 },
  internal.signals.history.recapDue,
  {},
);
crons.hourly("look for whales", { minuteUTC: 4 }, internal.whales.alerts.startHour, {});
crons.interval("take up what is due", { minutes: 1 }, internal.ops.due.takeUp, {});
crons.interval("watch the budget", { minutes: 30 }, internal.ops.budget.watch, {});
crons.daily("delete what has aged", { hourUTC: 4, minuteUTC: 23 }, internal.ops.housekeeping.run, {});

export default crons;
