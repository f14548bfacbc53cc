import { convexTest } from "convex-test";
import {
  defineSchema,
  defineTable,
  type DataModelFromSchemaDefinition,
  type GenericMutationCtx,
} from "convex/server";
import { v } from "convex/values";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createHost } from "./index";
import { createClient } from "./client";
import { partOf } from "./parts";

/** Compares the local host's database with that of Convex's own test library, which is slower and simpler. */

const schema = defineSchema({
  things: defineTable({
    name: v.string(),
    size: v.optional(v.number()),
    deep: v.object({ flag: v.boolean() }),
  })
    .index("by_name_and_size", ["name", "size"])
    .index("by_flag", ["deep.flag"]),
});
type Model = DataModelFromSchemaDefinition<typeof schema>;
type Ctx = GenericMutationCtx<Model>;

const name = fc.constantFrom("a", "b", "é", "😀", "\uffff");
const measured = fc.constantFrom(-1, 0, 1, 1.5, 2);
const size = fc.option(measured, { nil: undefined });
const thing = fc.record(
  { name, size: measured, deep: fc.record({ flag: fc.boolean() }) },
  { requiredKeys: ["name", "deep"] },
);
const step = fc.oneof(
  fc.record({ kind: fc.constant("insert" as const), thing }),
  fc.record({ kind: fc.constant("replace" as const), at: fc.nat(9), thing }),
  fc.record({ kind: fc.constant("patch" as const), at: fc.nat(9), size }),
  fc.record({ kind: fc.constant("delete" as const), at: fc.nat(9) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Executes the steps in one transaction, and reads everything after each. */
function carryOut(steps: readonly Step[]) {
  return async (ctx: Ctx) => {
    const seen: unknown[] = [];
    for (const one of steps) {
      const rows = await ctx.db.query("things").collect();
      const target = one.kind === "insert" ? undefined : rows[one.at % Math.max(1, rows.length)];
      if (one.kind === "insert") await ctx.db.insert("things", one.thing);
      else if (target !== undefined && one.kind === "replace")
        await ctx.db.replace("things", target._id, one.thing);
      else if (target !== undefined && one.kind === "patch")
        await ctx.db.patch("things", target._id, { size: one.size });
      else if (target !== undefined) await ctx.db.delete("things", target._id);
      seen.push(await looks(ctx));
    }
    return JSON.stringify(seen);
  };
}

async function looks(ctx: Ctx): Promise<unknown[]> {
  const things = () => ctx.db.query("things");
  return [
    await things().order("desc").collect(),
    await things().withIndex("by_name_and_size").order("desc").take(3),
    await things()
      .withIndex("by_name_and_size", (q) => q.eq("name", "a").gt("size", 0).lte("size", 2))
      .collect(),
    await things()
      .withIndex("by_name_and_size", (q) => q.gte("name", "b").lt("name", "😀"))
      .collect(),
    await things()
      .withIndex("by_name_and_size", (q) => q.eq("name", "é").eq("size", undefined))
      .first(),
    await things()
      .withIndex("by_flag", (q) => q.eq("deep.flag", true))
      .collect(),
  ];
}

test("reads see the same rows in the same order as in Convex's test library, within a transaction and behind it", async () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 5), toFake: ["Date"] });
  // Each installs its own system calls; the library does so once.
  const modules = { "./convex/_generated/api.js": () => Promise.resolve({}) };
  convexTest({ schema, modules });
  const librarys: unknown = Reflect.get(globalThis, "Convex");
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 4 }), async (transactions) => {
        const library = convexTest({
          schema,
          modules: { "./convex/_generated/api.js": () => Promise.resolve({}) },
        });
        const own = createClient<Model>(createHost({ parts: [partOf("", schema, {})] }));
        for (const steps of transactions) {
          const ours = await own.run(carryOut(steps));
          Object.assign(globalThis, { Convex: librarys });
          expect(ours).toBe(await library.run(carryOut(steps)));
        }
      }),
      { numRuns: 60 },
    );
  } finally {
    vi.useRealTimers();
  }
});
