import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id, TableNames } from "../../convex/_generated/dataModel";
import { HOUR, MINUTE } from "../../convex/lib/time";
import type { World } from "./world";

/** Rows for `documents.ts`: active shifts, and what belongs to each. */

/** Who calls the endpoints: has one shift, which is never due, and five reports. */
export const READER = "bench-reader-1";
/** How many of the shifts and of the cards become due, all of them after `DUE_AFTER_MS`. */
export const DUE = 10;
export const DUE_AFTER_MS = 10 * MINUTE;

const FOCI = ["BTC", "ETH", "SOL"] as const;
/** Shifts per transaction; the platform's limit is 16,000 documents. */
const CHUNK = 2_000;
const STARTED_BEFORE_MS = 2 * HOUR;

const result: Doc<"reports">["result"] = {
  fullAnalysis: "An analysis of some length. ".repeat(80),
  shortSummary: "🟡 Nothing new",
  marketOutlook: "neutral",
  impacts: [{ title: "None", detail: "None", sentiment: "neutral", confidence: 0.5 }],
  ...{ sources: [], changes: [], missing: [] },
  checked: { figures: 0, cited: 0, removed: 0 },
};

/** Inserts `count` active shifts, each with a data point, a sent card and a report of an earlier shift. */
export async function insertShifts({ t, clock }: Place, count: number): Promise<void> {
  const now = clock.now();
  const shared = await t.run(async ({ db }) => {
    const observations = await Promise.all(
      FOCI.map((focus) => db.insert("observations", observation(focus, now))),
    );
    const shiftId = await db.insert("shifts", shift(READER, "BTC", now, false));
    const synthesisId = await db.insert("syntheses", synthesis(shiftId, now));
    const runId = await db.insert("agentRuns", run(now));
    for (let i = 0; i < 5; i++)
      await db.insert("reports", report({ shiftId, synthesisId, runId }, READER, now));
    return { observations, synthesisId, runId };
  });
  for (let first = 0; first < count; first += CHUNK) {
    await t.run(async ({ db }) => {
      for (let i = first; i < Math.min(count, first + CHUNK); i++) {
        const userId = `user-${i}`;
        const due = i < DUE;
        const shiftId = await db.insert("shifts", shift(userId, at(FOCI, i), now, due));
        const observationId = at(shared.observations, i);
        await db.insert("dataPoints", { shiftId, observationId, sequence: 1, claimedAt: now });
        await db.insert("messages", message(userId, shiftId, now, due));
        await db.insert("reports", report({ ...shared, shiftId }, userId, now));
      }
    });
  }
}

/** Makes the due shifts wait for one synthesis, which is done. */
export async function finishSynthesis({ t, clock }: World): Promise<Id<"syntheses">> {
  return t.run(async ({ db }) => {
    const shifts = await db
      .query("shifts")
      .filter((q) => q.eq(q.field("status"), "active"))
      .take(DUE);
    const [first] = shifts;
    if (first === undefined) throw new Error("There is no shift");
    const synthesisId = await db.insert("syntheses", synthesis(first._id, clock.now()));
    for (const { _id } of shifts) await db.patch("shifts", _id, { synthesisId });
    return synthesisId;
  });
}

/** A world, or a test's application, and its clock. */
type Place = { t: World["t"]; clock: Pick<World["clock"], "now"> };
type Fields<Table extends TableNames> = WithoutSystemFields<Doc<Table>>;

function shift(userId: string, token: string, now: number, due: boolean): Fields<"shifts"> {
  return {
    userId,
    token,
    focus: token,
    startedAt: now - STARTED_BEFORE_MS,
    stopsAt: now - STARTED_BEFORE_MS + 8 * HOUR,
    status: "active",
    nextCollectionAt: now + (due ? DUE_AFTER_MS : HOUR),
    collectionsCount: 1,
    evidence: token,
    nextReport: "interim1",
    nextReportAt: now + (due ? DUE_AFTER_MS : HOUR),
    interimReportsCount: 0,
    finalReportSent: false,
  };
}

function observation(focus: string, now: number): Fields<"observations"> {
  const failed = { state: "failed" as const, at: now, error: "not asked" };
  return {
    focus,
    state: "settled",
    requestedAt: now,
    collectedAt: now,
    sources: { market: failed, sentiment: failed, onchain: failed, facts: failed },
  };
}

function synthesis(shiftId: Id<"shifts">, now: number): Fields<"syntheses"> {
  return {
    key: `bench:${shiftId}:${now}`,
    kind: "interim1",
    focus: "BTC",
    shiftId,
    state: "done",
    startedAt: now,
    result,
    model: "simulated",
    tokensUsed: 1,
  };
}

function run(now: number): Fields<"agentRuns"> {
  const title = "Final report on BTC";
  return {
    userId: READER,
    agentId: "research-default",
    title,
    status: "completed",
    model: "simulated",
    tokensUsed: 1,
    startedAt: now,
    finishedAt: now,
  };
}

type ReportOf = { shiftId: Id<"shifts">; synthesisId: Id<"syntheses">; runId: Id<"agentRuns"> };

function report({ shiftId, synthesisId, runId }: ReportOf, userId: string, now: number): Fields<"reports"> {
  return {
    jobId: shiftId,
    userId,
    type: "final",
    generatedAt: now,
    result,
    messengerSent: true,
    jobToken: "BTC",
    jobStartedAt: now,
    synthesisId,
    runId,
  };
}

/** A card that was sent; a due one was cut off on the way. */
function message(userId: string, shiftId: Id<"shifts">, now: number, due: boolean): Fields<"messages"> {
  return {
    userId,
    kind: "shift started",
    topic: `shift:${shiftId}`,
    parts: ["A card"],
    partsSent: due ? 0 : 1,
    state: due ? "sending" : "sent",
    dueAt: now + (due ? DUE_AFTER_MS : 0),
    attempt: 1,
    doubts: 0,
    postponements: 0,
  };
}

/** The item at `index`, counted round and round. */
function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new RangeError("There is nothing to choose from");
  return item;
}
