import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.interval("collect data for research shifts", { minutes: 5 }, internal.research.shifts.collectDue, {});
crons.interval("write due research reports", { minutes: 5 }, internal.research.syntheses.claimDue, {});
crons.interval("resume interrupted deliveries", { minutes: 5 }, internal.messenger.outbox.sweep, {});
crons.interval("settle open transactions", { minutes: 1 }, internal.wallets.transactions.followUpDue, {});

export default crons;
