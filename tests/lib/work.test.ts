import { anyApi, type FunctionReference } from "convex/server";
import { v } from "convex/values";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { internalMutation } from "../../convex/_generated/server";
import { MINUTE } from "../../convex/lib/time";
import {
  completeWork,
  enqueueWork,
  snoozeWork,
  buildFailureHandler,
  vFailure,
  vJob,
  type WorkFailure,
  type Job as Attempt,
} from "../../convex/platform/work";
import { defineWorker } from "../../convex/platform/worker";
import { createApp, test } from "../support/app";

/** Longer than any rest. */
const LATER_MS = 31 * MINUTE;

/**
 * What an attempt comes to. `dies`: its server is gone before its result was stored. `stores and throws`: the result is
 * stored, and what comes behind that fails.
 */
const HAPPENINGS = ["stores", "throws", "dies", "rests", "stores and throws"] as const;
type Happening = (typeof HAPPENINGS)[number];
type Job = { happenings: Happening[]; attempts: number; queue: "models" | null };

const anyJob: fc.Arbitrary<Job> = fc.record({
  happenings: fc.array(fc.constantFrom(...HAPPENINGS), { maxLength: 6 }),
  attempts: fc.integer({ min: 1, max: 4 }),
  queue: fc.constantFrom("models" as const, null),
});

/** How often a job runs, and how it ends, by the one rule. */
function promised({ happenings, attempts }: Job): { runs: number; stored: number; told: boolean[] } {
  const told: boolean[] = [];
  for (let runs = 1; ; runs++) {
    const happening = happenings[runs - 1] ?? "stores";
    if (happening.startsWith("stores")) return { runs, stored: 1, told };
    if (happening === "rests") continue;
    told.push(told.length + 1 >= attempts);
    if (told.length >= attempts) return { runs, stored: 0, told };
  }
}

type Of<Kind extends "action" | "mutation", More, Result> = FunctionReference<
  Kind,
  "internal",
  { index: number } & More,
  Result
>;
/** What stands in for a room's functions. */
const nothing = () => expect.unreachable();
const { answer = nothing() } = anyApi["bot/service"] ?? nothing();
const { store = nothing(), putOff = nothing(), failed = nothing() } = anyApi["bot/jobs"] ?? nothing();
const names: {
  answer: Of<"action", { job: Attempt }, null>;
  store: Of<"mutation", { job: Attempt }, boolean>;
  putOff: Of<"mutation", { job: Attempt }, boolean>;
  failed: Of<"mutation", WorkFailure, null>;
} = { answer, store, putOff, failed };

/** A room whose work goes as a job says; what it did, by the job's place in the list. */
function room() {
  const did: { job: Job; runs: number; stored: number; told: boolean[]; late: number }[] = [];
  const at = (index: number) => did[index] ?? expect.unreachable();
  const word = { args: { index: v.number(), job: vJob }, returns: v.boolean() };
  const store = internalMutation({
    ...word,
    handler: async (ctx, { index, job }) => {
      const isUnderWay = await completeWork(ctx, job);
      if (isUnderWay) at(index).stored++;
      return isUnderWay;
    },
  });
  const putOff = internalMutation({ ...word, handler: (ctx, { job }) => snoozeWork(ctx, job, MINUTE) });
  const failed = internalMutation({
    args: { index: v.number(), ...vFailure },
    returns: v.null(),
    handler: (_ctx, { index, isLast }) => {
      at(index).told.push(isLast);
      return null;
    },
  });
  const answer = defineWorker({ index: v.number() }, async (ctx, { index, job }) => {
    const own = at(index);
    const happening = own.job.happenings[own.runs++] ?? "stores";
    // The word of the attempt before comes late: it changes nothing.
    const before = { index, job: { ...job, attempt: job.attempt - 1 } };
    if (await ctx.runMutation(names.store, before)) own.late++;
    if (happening === "rests") await ctx.runMutation(names.putOff, { index, job });
    if (happening.startsWith("stores")) await ctx.runMutation(names.store, { index, job });
    if (happening.endsWith("throws")) throw new Error("Nobody expected this");
  });
  return {
    did,
    modules: {
      "bot/service": () => Promise.resolve({ answer }),
      "bot/jobs": () => Promise.resolve({ store, putOff, failed }),
    },
  };
}

describe("a piece of work", () => {
  test("runs as often as promised, and what it has stored is never done again", async () => {
    const { did, modules } = room();
    const app = createApp({ replaced: modules });
    await fc.assert(
      fc.asyncProperty(fc.array(anyJob, { minLength: 1, maxLength: 7 }), async (jobs) => {
        did.splice(0, did.length, ...jobs.map((job) => ({ job, runs: 0, stored: 0, told: [], late: 0 })));
        await app.t.run(async (ctx) => {
          for (const [index, { attempts, queue }] of jobs.entries()) {
            const place = queue === null ? {} : { queue };
            const onFailure = buildFailureHandler(names.failed, { index });
            await enqueueWork(ctx, names.answer, { index }, { ...place, attempts, onFailure });
          }
        });
        for (let round = 0; round < 20 && (await app.rows("work")).length > 0; round++) {
          await app.settle(3);
          await app.advance(LATER_MS);
          await app.t.mutation(internal.platform.work.resumeLost, {});
        }
        expect(await app.rows("work")).toEqual([]);
        expect(did.map(({ runs, stored, told }) => ({ runs, stored, told }))).toEqual(jobs.map(promised));
        expect(did.filter(({ late }) => late > 0)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  test("begins by its rank, then by its age", async () => {
    const { modules } = room();
    const order: number[] = [];
    const answer = defineWorker({ index: v.number() }, async (ctx, { index, job }) => {
      order.push(index);
      await ctx.runMutation(names.store, { index, job });
    });
    const store = internalMutation({
      args: { index: v.number(), job: vJob },
      returns: v.boolean(),
      handler: (ctx, { job }) => completeWork(ctx, job),
    });
    const jobs = { ...(await modules["bot/jobs"]()), store };
    const app = createApp({
      replaced: { "bot/service": () => Promise.resolve({ answer }), "bot/jobs": () => Promise.resolve(jobs) },
    });
    const ranks = ["anonymous", "anonymous", "anonymous", "signedIn", "service", "paid"] as const;
    await app.t.run(async (ctx) => {
      for (const [index, rank] of ranks.entries())
        await enqueueWork(ctx, names.answer, { index }, { queue: "models", rank });
    });
    await app.settle(3);
    expect(await app.rows("work")).toEqual([]);
    // Callers leave one of the four places to the others.
    expect(order.slice(0, 3).toSorted()).toEqual([3, 4, 5]);
    expect(order.slice(3).toSorted()).toEqual([0, 1, 2]);
  });
});
