import type { NamedTableInfo, OrderedQuery } from "convex/server";
import type { DataModel, Doc, TableNames } from "../_generated/dataModel";
import type { DatabaseReader, MutationCtx, QueryCtx } from "../_generated/server";
import { hasLedger } from "../credits/model";
import { dayOf } from "../lib/budget";
import { DAY, NEVER } from "../lib/time";
import { eraseShift } from "../research/model";
import { ownerOf } from "../users/model";

/**
 * How long the rows of every table live. A table that is not here does not compile. What ends with its own work (an
 * outbox row's state, an answered job) is a matter of its domain; here is what has merely grown old.
 */

/** So many rows are looked at per transaction: with the largest, an observation of some 20 kB, a quarter of its limit. */
const BATCH = 200;
/** What holds for a user's day is asked that day; late refunds of failed transactions find it this much longer. */
const DAYS_KEPT_MS = 90 * DAY;
const EVIDENCE_KEPT_MS = 30 * DAY;
const CARDS_KEPT_MS = 30 * DAY;
const ALERTS_KEPT_MS = 90 * DAY;
const SPENDING_KEPT_MS = 35 * DAY;
const STRANGERS_KEPT_MS = 180 * DAY;

/** Whether a `userId` is nobody's login, and has never held credits. */
async function isStrangers(ctx: QueryCtx, userId: string): Promise<boolean> {
  return (await ownerOf(ctx, userId)) === null && !(await hasLedger(ctx, userId));
}

/** One range of a table's rows that goes. */
type Sweep = {
  /** From when on a row may go, in ms after the moment its `aged` range is about. */
  keptMs: number;
  why: string;
  /** Looks at one batch of rows older than `before` (epoch ms). @returns How many went, and where to go on; `null` at the end. */
  batch: (
    ctx: MutationCtx,
    before: number,
    cursor: string | null,
  ) => Promise<{ deleted: number; cursor: string | null }>;
};

export type Retention = { kept: string } | { sweeps: readonly Sweep[] };

const kept = (why: string): Retention => ({ kept: why });

function goes<Table extends TableNames>(table: Table, ...ranges: Range<Table>[]): Retention {
  return {
    sweeps: ranges.map(({ keptMs, why, aged, ended, erase, rows = BATCH }) => ({
      keptMs,
      why,
      batch: async (ctx, before, cursor) => {
        const found = await aged(ctx.db, before).paginate({ numItems: rows, cursor });
        let deleted = 0;
        for (const row of found.page) {
          if (ended !== undefined && !(await ended(ctx, row, before))) continue;
          if (erase !== undefined) await erase(ctx, row);
          else await ctx.db.delete(table, row._id);
          deleted++;
        }
        return { deleted, cursor: found.isDone ? null : found.continueCursor };
      },
    })),
  };
}

type Range<Table extends TableNames> = {
  keptMs: number;
  why: string;
  /** By index, the rows older than `before` (epoch ms). */
  aged: (db: DatabaseReader, before: number) => OrderedQuery<NamedTableInfo<DataModel, Table>>;
  /** Whether an old row has ended too; left out where age says it all. */
  ended?: (ctx: QueryCtx, row: Doc<Table>, before: number) => boolean | Promise<boolean>;
  /** How many are looked at per transaction, where they are larger than most. */
  rows?: number;
  /** Deletes the row with what belongs to it; left out where it is all. */
  erase?: (ctx: MutationCtx, row: Doc<Table>) => Promise<void>;
};

const cardsThatEnded = (state: "sent" | "failed" | "skipped"): Range<"messages"> => ({
  keptMs: CARDS_KEPT_MS,
  why: `a card that was ${state} is the operator's to look up for a month; what it told is kept where it came from`,
  aged: (db, before) =>
    db.query("messages").withIndex("by_state_and_dueAt", (q) => q.eq("state", state).lt("dueAt", before)),
});

/** Order matters where one table's rows hold another's: data points go before the observations they refer to. */
export const RETENTION: Readonly<Record<TableNames, Retention>> = {
  refreshes: goes("refreshes", {
    keptMs: DAY,
    why: "nobody waits for an attempt of yesterday",
    aged: (db, before) => db.query("refreshes").withIndex("by_beganAt", (q) => q.lt("beganAt", before)),
    ended: (_ctx, row, before) => row.leaseUntil < before,
  }),
  cronRuns: kept("one row per cron"),
  providerCalls: goes("providerCalls", {
    keptMs: 2 * DAY,
    why: "health looks at the last hour",
    aged: (db, before) => db.query("providerCalls").withIndex("by_bucket", (q) => q.lt("bucket", before)),
  }),
  spending: goes("spending", {
    keptMs: SPENDING_KEPT_MS,
    why: "the operator compares a month with the provider's bill",
    aged: (db, before) => db.query("spending").withIndex("by_day", (q) => q.lt("day", dayOf(before))),
  }),
  crowdPlaces: kept("fifty rows at most, each taken over when its holder was lost"),
  laneJobs: kept("a row goes with its work"),
  budgetWarnings: goes("budgetWarnings", {
    keptMs: SPENDING_KEPT_MS,
    why: "as the day's spending",
    aged: (db, before) => db.query("budgetWarnings").withIndex("by_day", (q) => q.lt("day", dayOf(before))),
  }),
  refusedFormats: kept("one row per gateway that was ever set"),
  auditEvents: kept("the record of what was done with keys and money; to be exported, never shortened"),

  facts: goes("facts", {
    keptMs: 8 * DAY,
    why: "reports keep what they cite; a report of a week ago is compared with",
    // The largest, of fifty coins, have some 60 kB.
    rows: 50,
    aged: (db, before) => db.query("facts").withIndex("by_slot", (q) => q.lt("slot", before)),
  }),
  marketSnapshots: goes("marketSnapshots", {
    keptMs: 7 * DAY,
    why: "a cache of a minute, which stands in for slowness; a week-old price stands for nothing",
    aged: (db, before) =>
      db.query("marketSnapshots").withIndex("by_fetchedAt", (q) => q.lt("fetchedAt", before)),
  }),
  tokenAnswers: goes("tokenAnswers", {
    keptMs: DAY,
    why: "a cache of a minute, one row for every question ever asked",
    aged: (db, before) =>
      db.query("tokenAnswers").withIndex("by_fetchedAt", (q) => q.lt("fetchedAt", before)),
  }),
  priceSamples: kept("storing a sample deletes those older than 15 days (prices/model)"),
  hourlyCloses: kept("the service's own price history: two rows an hour"),
  quoteBoards: kept("one row"),

  alerts: goes(
    "alerts",
    {
      keptMs: DAY,
      why: "nobody has said yes to it",
      aged: (db, before) =>
        db.query("alerts").withIndex("by_state", (q) => q.eq("state", "proposed").lt("createdAt", before)),
    },
    {
      keptMs: ALERTS_KEPT_MS,
      why: "it was switched off; strangers could fill the disk with what they have ended",
      aged: (db, before) =>
        db.query("alerts").withIndex("by_state", (q) => q.eq("state", "off").lt("createdAt", before)),
      ended: (_ctx, { endedAt = 0 }, before) => endedAt < before,
    },
  ),
  alertCursors: kept("one row for each of some forty subjects"),
  alertFirings: goes("alertFirings", {
    keptMs: ALERTS_KEPT_MS,
    why: "a season's history; the card is kept for a month",
    aged: (db, before) =>
      db.query("alertFirings").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
  }),
  alertSinks: goes("alertSinks", {
    keptMs: ALERTS_KEPT_MS,
    why: "it has ended, and its user has seen why",
    aged: (db, before) =>
      db.query("alertSinks").withIndex("by_state", (q) => q.eq("state", "ended").lt("createdAt", before)),
    ended: (_ctx, { endedAt = 0 }, before) => endedAt < before,
  }),
  alertDeliveries: goes("alertDeliveries", {
    keptMs: CARDS_KEPT_MS,
    why: "as a card; its tries end after three days",
    aged: (db, before) =>
      db.query("alertDeliveries").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
  }),

  shifts: goes("shifts", {
    keptMs: STRANGERS_KEPT_MS,
    why: "strangers could fill the disk with what nobody has asked for since; a signed-in user's are their history",
    aged: (db, before) =>
      db.query("shifts").withIndex("by_signedIn", (q) => q.eq("signedIn", false).lt("_creationTime", before)),
    // The user may have signed in since, or brought money.
    ended: async (ctx, { userId, status }) => status !== "active" && (await isStrangers(ctx, userId)),
    erase: (ctx, { _id }) => eraseShift(ctx, _id),
  }),
  dataPoints: goes("dataPoints", {
    keptMs: EVIDENCE_KEPT_MS,
    why: "the evidence of reports, which are kept",
    aged: (db, before) =>
      db.query("dataPoints").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
    ended: async (ctx, { shiftId }) => (await ctx.db.get("shifts", shiftId))?.status !== "active",
  }),
  observations: goes("observations", {
    // A data point may refer to an observation that is a little older than itself.
    keptMs: EVIDENCE_KEPT_MS + DAY,
    why: "no data point refers to it any more",
    aged: (db, before) =>
      db.query("observations").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
    ended: async (ctx, { _id, state }) => {
      const point = await ctx.db
        .query("dataPoints")
        .withIndex("by_observationId", (q) => q.eq("observationId", _id))
        .first();
      return state === "settled" && point === null;
    },
  }),
  syntheses: goes("syntheses", {
    keptMs: EVIDENCE_KEPT_MS,
    why: "every report that was taken from it has its text",
    aged: (db, before) =>
      db.query("syntheses").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
    ended: async (ctx, { _id, state }) => {
      const waiting = await ctx.db
        .query("shifts")
        .withIndex("by_synthesisId", (q) => q.eq("synthesisId", _id))
        .first();
      return state !== "writing" && waiting === null;
    },
  }),
  reports: kept("as long as their shift, or until the user deletes their data"),
  researchResults: goes("researchResults", {
    keptMs: 7 * DAY,
    why: "a cache of 15 minutes, which stands in for slowness",
    aged: (db, before) =>
      db.query("researchResults").withIndex("by_generatedAt", (q) => q.lt("generatedAt", before)),
  }),
  agentRuns: kept("the user's history, until they delete their data"),

  signals: kept("the track record"),
  signalDays: kept("a row a day; it keeps a day from counting twice"),
  signalRuns: kept("two rows a day; they say why a day has no signal"),
  operatorNotes: kept("a row for each day without a signal"),
  signalEvents: kept("the tamper-evident record: it proves nothing with a gap"),
  signalTotals: kept("three rows"),
  signalReviews: kept("a row a day, part of the track record"),
  weeklyRecaps: kept("a row a week, part of the track record"),

  messengerConfigs: kept("the user's settings, until they clear them"),
  messengerLinks: kept("a user's link, until they end it"),
  linkCodes: goes("linkCodes", {
    keptMs: DAY,
    why: "it has expired",
    aged: (db, before) => db.query("linkCodes").withIndex("by_expiresAt", (q) => q.lt("expiresAt", before)),
  }),
  messages: goes(
    "messages",
    {
      keptMs: 7 * DAY,
      why: "an answer to somebody who is not linked is nobody's history",
      aged: (db, before) =>
        db.query("messages").withIndex("by_userId", (q) => q.eq("userId", "").lt("_creationTime", before)),
    },
    cardsThatEnded("sent"),
    cardsThatEnded("failed"),
    cardsThatEnded("skipped"),
  ),
  botUpdates: goes("botUpdates", {
    keptMs: 2 * DAY,
    why: "the messenger repeats an update for a day",
    aged: (db, before) =>
      db.query("botUpdates").withIndex("by_receivedAt", (q) => q.lt("receivedAt", before)),
  }),
  botJobs: kept("deleted with the answer it is for (bot/jobs)"),

  wallets: kept("they hold money, and the relayer's its next nonce"),
  walletKeys: kept("without it a wallet's money is lost"),
  transactions: kept("what was signed and sent"),
  transferDays: goes("transferDays", {
    keptMs: DAYS_KEPT_MS,
    why: "the limit is of one day",
    aged: (db, before) =>
      db.query("transferDays").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
  }),
  trades: kept("the user's history"),

  spentTransfers: kept("a row that died would open its transfer to replay"),
  paymentClaims: kept("a claim that died would open its payment to replay"),
  relayerFailures: goes("relayerFailures", {
    keptMs: 7 * DAY,
    why: "what a payer's wallet has failed at counts for a day",
    aged: (db, before) => db.query("relayerFailures").withIndex("by_at", (q) => q.lt("at", before)),
  }),
  depositHints: goes("depositHints", {
    keptMs: 30 * DAY,
    why: "the chain has said all about it; its deposits are kept, and naming it again asks anew",
    aged: (db, before) =>
      db
        .query("depositHints")
        .withIndex("by_nextCheckAt", (q) => q.eq("nextCheckAt", NEVER).lt("_creationTime", before)),
    ended: (_ctx, { state }) => state === "settled",
  }),
  deposits: kept("money that came in"),

  whaleWatches: kept("a row an hour: what was asked, and why an hour has no alerts"),
  whaleAlerts: kept("what the service has told"),
  whaleCursors: kept("one row: how far Base has been read"),

  creditTransactions: kept("the ledger"),
  creditBalances: kept("the ledger's sum, one row per user"),
  creditReversals: kept("they prove a user's debt"),
  creditReservations: kept("they belong to the ledger"),
  creditDiscrepancies: kept("faults for a person to understand"),
  gameSessions: kept("the ledger's rows name them"),
  gameDays: goes("gameDays", {
    keptMs: DAYS_KEPT_MS,
    why: "the cap is of one day",
    aged: (db, before) =>
      db.query("gameDays").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
  }),

  mentions: goes("mentions", {
    keptMs: 30 * DAY,
    why: "a stranger's words are not ours to keep; a user's are their history",
    aged: (db, before) =>
      db.query("mentions").withIndex("by_userId", (q) => q.eq("userId", undefined).lt("receivedAt", before)),
  }),
  socialAuthors: kept("a user's proof, until they end it"),
  socialProofs: goes("socialProofs", {
    keptMs: DAY,
    why: "it has expired",
    aged: (db, before) =>
      db.query("socialProofs").withIndex("by_expiresAt", (q) => q.lt("expiresAt", before)),
  }),
  socialLimits: kept("the user's settings"),
  socialDays: goes("socialDays", {
    keptMs: DAYS_KEPT_MS,
    why: "the limit is of one day",
    aged: (db, before) =>
      db.query("socialDays").withIndex("by_creation_time", (q) => q.lt("_creationTime", before)),
  }),
  socialRecipients: kept("the user's settings"),

  users: kept("whose funds are whose"),
  linkedAddresses: kept("deposits from them are their user's, until they unlink them"),
  addressNonces: goes("addressNonces", {
    keptMs: DAY,
    why: "it has expired",
    aged: (db, before) =>
      db.query("addressNonces").withIndex("by_expiresAt", (q) => q.lt("expiresAt", before)),
  }),
  rebinds: kept("they say why an account is whose"),
  accountDeletions: kept("the record of a user's wish"),
};
