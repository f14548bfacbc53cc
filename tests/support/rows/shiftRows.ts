import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id, TableNames } from "../../../convex/_generated/dataModel";
import { HOUR } from "../../../convex/lib/time";
import type { Result } from "../../../convex/research/tables";
import type { App } from "../app";

/** Active shifts as rows of the tables, with their related rows. */

/** The user who reads: has one shift and five reports. */
const READER = "reader-of-reports-1";

const FOCI = ["BTC", "ETH", "SOL"] as const;
const STARTED_BEFORE_MS = 2 * HOUR;

const result: Result = {
  fullAnalysis: "An analysis of some length. ".repeat(80),
  shortSummary: "🟡 Nothing new",
  marketOutlook: "neutral",
  impacts: [{ title: "None", detail: "None", sentiment: "neutral", confidence: 0.5 }],
  sources: [],
  missing: [],
};

/** Inserts `count` active shifts, each with a data point, a sent card and a report of an earlier shift. */
export async function insertShifts({ t }: App, count: number): Promise<void> {
  const now = Date.now();
  const shared = await t.run(async ({ db }) => {
    const observations = await Promise.all(
      FOCI.map((focus) => db.insert("observations", observation(focus, now))),
    );
    const shiftId = await db.insert("shifts", { ...shift(READER, "BTC", now), observationIds: [] });
    const runId = await db.insert("agentRuns", run(now));
    for (let i = 0; i < 5; i++) await db.insert("reports", report({ shiftId, runId }, READER, now));
    return { observations, runId };
  });
  await t.run(async ({ db }) => {
    for (let i = 0; i < count; i++) {
      const userId = `user-${i}`;
      const observationIds = [at(shared.observations, i)];
      const shiftId = await db.insert("shifts", { ...shift(userId, at(FOCI, i), now), observationIds });
      await db.insert("messages", message(userId, shiftId));
      await db.insert("reports", report({ shiftId, runId: shared.runId }, userId, now));
    }
  });
}

type Fields<Table extends TableNames> = WithoutSystemFields<Doc<Table>>;

function shift(userId: string, token: string, now: number): Omit<Fields<"shifts">, "observationIds"> {
  return {
    userId,
    token,
    startedAt: now - STARTED_BEFORE_MS,
    stopsAt: now - STARTED_BEFORE_MS + 8 * HOUR,
    status: "active",
    nextCollectionAt: now + HOUR,
    paidBy: { class: "anonymous", holders: [] },
  };
}

function observation(focus: string, now: number): Fields<"observations"> {
  return { focus, state: "done", at: now, missing: [] };
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

type ReportOf = { shiftId: Id<"shifts">; runId: Id<"agentRuns"> };

function report({ shiftId, runId }: ReportOf, userId: string, now: number): Fields<"reports"> {
  return {
    jobId: shiftId,
    userId,
    kind: "final",
    state: "done",
    generatedAt: now,
    result,
    messengerSent: true,
    jobToken: "BTC",
    jobStartedAt: now,
    runId,
  };
}

function message(userId: string, shiftId: Id<"shifts">): Fields<"messages"> {
  return {
    ...{ userId, kind: "shift started", topic: `shift:${shiftId}`, parts: ["A card"], partsSent: 1 },
    ...{ state: "sent", dueAt: 0, doubts: 0, postponements: 0 },
  };
}

/** The item at `index`, counted cyclically. */
function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new RangeError("There is nothing to choose from");
  return item;
}
