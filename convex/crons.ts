import { cronJobs } from "convex/server";
import { internal } from "./_generated/api";

const crons = cronJobs();

crons.interval("collect data for research shifts", { minutes: 5 }, internal.research.shifts.collectDue, {});
crons.interval("write due research reports", { minutes: 5 }, internal.research.syntheses.claimDue, {});
crons.interval("resume interrupted deliveries", { minutes: 5 }, internal.messenger.outbox.sweep, {});
crons.interval("settle open transactions", { minutes: 1 }, internal.wallets.transactions.followUpDue, {});
crons.interval("check named deposits", { minutes: 1 }, internal.payments.deposits.checkDue, {});
crons.interval("match deposits to users", { minutes: 5 }, internal.payments.deposits.matchDue, {});
crons.interval("give up lost agent runs", { minutes: 5 }, internal.chat.runs.sweep, {});
crons.daily("recompute the ledger", { hourUTC: 3, minuteUTC: 17 }, internal.credits.reconciliation.run, {});
crons.interval("forget old paid reports", { minutes: 5 }, internal.payments.claims.forgetReports, {});
crons.interval("resume interrupted paid reports", { minutes: 1 }, internal.payments.claims.resumeLost, {});

export default crons;
