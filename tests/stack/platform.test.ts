import { convexTest } from "convex-test";
import { defineSchema, defineTable, makeFunctionReference, mutationGeneric } from "convex/server";
import { v, type Value } from "convex/values";
import { expect, test } from "vitest";
import * as z from "zod";
import { moved } from "../../scripts/stack/quicker";

/** What the platform refuses and its test library takes is refused in every test, and on the stack. */

const schema = defineSchema({
  anything: defineTable({ value: v.any() }),
  records: defineTable({ of: v.record(v.union(v.literal("a"), v.literal("b")), v.number()) }),
});

const store = mutationGeneric({
  args: { value: v.any() },
  handler: async ({ db }, { value }) => void (await db.insert("anything", { value })),
});
const look = mutationGeneric({
  args: { times: v.number() },
  handler: async ({ db }, { times }) => {
    for (let n = 0; n < times; n++) await db.query("anything").first();
  },
});
const work = mutationGeneric({
  args: { ms: v.number() },
  handler: (_, { ms }) => {
    const { user } = process.cpuUsage();
    while (process.cpuUsage().user - user < ms * 1_000);
  },
});

function createTest() {
  const modules = {
    "./convex/_generated/api.js": () => Promise.resolve({}),
    "./convex/one.js": () => Promise.resolve({ store, look, work }),
  };
  const t = convexTest({ schema, modules, transactionLimits: true });
  return (name: string, args: Record<string, Value>) =>
    t.mutation(makeFunctionReference<"mutation", Record<string, Value>, null>(`one:${name}`), args);
}

test.for<[string, Value]>([
  ["half a character", "a\ud83d"],
  ["a field with a dollar sign", { $gt: 1 }],
  ["a field beyond ASCII", { é: 1 }],
  ["a field without a name", { "": 1 }],
  ["a list of 8,193 values", Array.from({ length: 8_193 }, () => 0)],
  ["an object of 1,025 fields", Object.fromEntries(Array.from({ length: 1_025 }, (_, n) => [`f${n}`, n]))],
])("%s is refused", async ([, value]) => {
  const run = createTest();
  await expect(run("store", { value })).rejects.toThrow();
  await expect(run("store", { value: [value] })).rejects.toThrow();
});

test("a record's keys and values are looked at", async () => {
  const t = convexTest({ schema, modules: { "./convex/_generated/api.js": () => Promise.resolve({}) } });
  const inserted = (of: object) =>
    t.run(({ db }) => db.insert("records", { of: z.custom<Record<"a" | "b", number>>().parse(of) }));
  await inserted({ a: 1 });
  await expect(inserted({ c: 1 })).rejects.toThrow("Validator error");
  await expect(inserted({ a: "1" })).rejects.toThrow("Validator error");
});

test("a transaction has the platform's limits, of reads and of a second of processor, and its use is counted", async () => {
  const run = createTest();
  await run("look", { times: 10 });
  await expect(run("look", { times: 4_097 })).rejects.toThrow("Too many index ranges");
  const { bytesRead, bytesWritten } = moved;
  await run("store", { value: "text" });
  expect([moved.bytesRead - bytesRead, moved.bytesWritten > bytesWritten]).toEqual([0, true]);
  // The first call of each is not judged: what it needs is loaded meanwhile.
  await run("work", { ms: 1 });
  await expect(run("work", { ms: 1_300 })).rejects.toThrow("the platform ends it after 1000");
});
