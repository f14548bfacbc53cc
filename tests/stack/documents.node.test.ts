import { defineSchema, defineTable, type DataModelFromSchemaDefinition } from "convex/server";
import { getDocumentSize, v, type Value } from "convex/values";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createHost } from "../../scripts/host";
import { createClient, type Client } from "../../scripts/host/client";
import { partOf } from "../../scripts/host/parts";

/** What the local host stores of a document, and hands out of it. */

const schema = defineSchema({
  things: defineTable({ value: v.any() }),
  lists: defineTable({ list: v.array(v.number()) }),
});
type Model = DataModelFromSchemaDefinition<typeof schema>;

const newHost = (): Client<Model> => createClient<Model>(createHost({ parts: [partOf("", schema, {})] }));

const text = fc.string({ unit: "grapheme", maxLength: 80 });
const value = fc.letrec<{ any: Value }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    text,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.uint8Array({ maxLength: 9 }).map((bytes) => new Uint8Array(bytes).buffer),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(fc.stringMatching(/^[a-zA-Z][ -~]{0,9}$/), tie("any"), { maxKeys: 4 }),
  ),
})).any;

test("a document comes back as it went in, and counts as many bytes as the convex package says it has", async () => {
  await fc.assert(
    fc.asyncProperty(value, async (given) => {
      const seen = await newHost().run(async (ctx) => {
        const id = await ctx.db.insert("things", { value: given });
        const { bytesWritten } = await ctx.meta.getTransactionMetrics();
        return { document: await ctx.db.get("things", id), written: bytesWritten.used };
      });
      expect(seen.document?.value).toEqual(given);
      expect(seen.document === null ? null : getDocumentSize(seen.document)).toBe(seen.written);
    }),
    { numRuns: 200 },
  );
});

test("what a function does to a document it was given, or has handed in, changes nothing that is stored", async () => {
  const t = newHost();
  const id = await t.run(async (ctx) => {
    const given = { list: [1, 2] };
    const inserted = await ctx.db.insert("lists", given);
    given.list.push(3);
    const own = await ctx.db.get("lists", inserted);
    own?.list.push(4);
    return inserted;
  });
  await t.run(async (ctx) => {
    const [found] = await ctx.db.query("lists").collect();
    found?.list.push(5);
  });
  expect((await t.run((ctx) => ctx.db.get("lists", id)))?.list).toEqual([1, 2]);
});

test("a query is read once, and a write says what is missing", async () => {
  const t = newHost();
  const twice = t.run(async (ctx) => {
    const query = ctx.db.query("things").withIndex("by_creation_time");
    await query.collect();
    return query.collect();
  });
  await expect(twice).rejects.toThrow("This query is closed");
  const two = t.run(async (ctx) => {
    for (const one of [1, 2]) await ctx.db.insert("things", { value: one });
    return ctx.db.query("things").unique();
  });
  await expect(two).rejects.toThrow("more than one result");
  const nameless = t.run((ctx) => ctx.db.insert("things", { value: { $odd: 1 } }));
  await expect(nameless).rejects.toThrow("Field name $odd is invalid");
});
