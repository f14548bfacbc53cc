import {
  actionGeneric,
  defineSchema,
  defineTable,
  makeFunctionReference,
  mutationGeneric,
  queryGeneric,
  type DataModelFromSchemaDefinition,
  type MutationBuilder,
  type QueryBuilder,
} from "convex/server";
import { v } from "convex/values";
import { expect, onTestFinished, test, vi } from "vitest";
import { createHost, type HostOptions } from "../../scripts/host";
import { createClient } from "../../scripts/host/client";
import { partOf } from "../../scripts/host/parts";

/** What the platform keeps of a query's answer, and how long a transaction may compute. */

const schema = defineSchema({
  things: defineTable({ name: v.string(), size: v.number() }).index("by_name", ["name"]),
  others: defineTable({ name: v.string() }),
});
type Model = DataModelFromSchemaDefinition<typeof schema>;
const queryOf: QueryBuilder<Model, "public"> = queryGeneric;
const mutationOf: MutationBuilder<Model, "public"> = mutationGeneric;
const query = <Args extends object, Result>(name: string) =>
  makeFunctionReference<"query", Args & Record<string, unknown>, Result>(`things:${name}`);
const mutation = (name: string) => makeFunctionReference<"mutation">(`things:${name}`);
type Named = { name: string };
const sizes = query<Named, number[]>("sizes");

function start(options: Partial<HostOptions> = {}) {
  /** The handlers that ran, in order. */
  const ran: string[] = [];
  const things = {
    sizes: queryOf({
      args: { name: v.string() },
      handler: async ({ db }, { name }) => {
        ran.push(name);
        const rows = await db
          .query("things")
          .withIndex("by_name", (q) => q.eq("name", name))
          .collect();
        return rows.map(({ size }) => size);
      },
    }),
    one: queryOf({
      args: { id: v.id("things") },
      handler: async ({ db }, { id }) => {
        ran.push("one");
        return (await db.get("things", id))?.size ?? 0;
      },
    }),
    who: queryOf({
      args: {},
      handler: async ({ auth }) => {
        ran.push("who");
        return (await auth.getUserIdentity())?.subject ?? "nobody";
      },
    }),
    when: queryOf({
      args: {},
      handler: () => {
        ran.push("when");
        return Date.now();
      },
    }),
    setting: queryOf({ args: {}, handler: () => process.env.THINGS_SETTING ?? "unset" }),
    fail: queryOf({
      args: {},
      handler: () => {
        ran.push("fail");
        throw new Error("It went wrong");
      },
    }),
    ask: actionGeneric({
      args: { name: v.string() },
      handler: (ctx, args): Promise<number[]> => ctx.runQuery(sizes, args),
    }),
    readWithin: mutationOf({
      args: { name: v.string() },
      handler: (ctx, args): Promise<number[]> => ctx.runQuery(sizes, args),
    }),
    add: mutationOf({
      args: { name: v.string(), size: v.number() },
      handler: ({ db }, thing) => db.insert("things", thing),
    }),
    resize: mutationOf({
      args: { id: v.id("things"), size: v.number() },
      handler: ({ db }, { id, size }) => db.patch("things", id, { size }),
    }),
    addOther: mutationOf({ args: {}, handler: ({ db }) => db.insert("others", { name: "a" }) }),
  };
  const parts = [partOf("", schema, { things: () => Promise.resolve(things) })];
  const host = createHost({ parts, ...options });
  onTestFinished(() => host.stop());
  return { host, ran, t: createClient(host) };
}

test("a query that is asked again is not run again, and is billed as a call that reads nothing", async () => {
  const { host, ran, t } = start();
  await t.mutation(mutation("add"), { name: "a", size: 1 });
  const first = await t.query(sizes, { name: "a" });
  const billed = () => host.core.billing.told().byFunction["things:sizes"];
  const { readBytes } = billed() ?? { readBytes: 0 };
  expect(readBytes).toBeGreaterThan(0);
  // The answer is each caller's own.
  first.push(99);
  expect(await t.query(sizes, { name: "a" })).toEqual([1]);
  expect(await t.action(makeFunctionReference<"action">("things:ask"), { name: "a" })).toEqual([1]);
  expect(ran).toEqual(["a"]);
  expect(billed()).toEqual({ calls: 3, readBytes, writtenBytes: 0, actionMs: 0 });
  expect(await t.query(sizes, { name: "b" })).toEqual([]);
  expect(ran).toEqual(["a", "b"]);
});

test("what writes to a row or a range that was read ends the answer; what writes elsewhere does not", async () => {
  const { ran, t } = start();
  const id = String(await t.mutation(mutation("add"), { name: "a", size: 1 }));
  const one = query<{ id: string }, number>("one");
  const asked = async () => [await t.query(sizes, { name: "a" }), await t.query(one, { id })];
  expect(await asked()).toEqual([[1], 1]);
  await t.mutation(mutation("add"), { name: "b", size: 5 });
  await t.mutation(mutation("addOther"), {});
  expect(await asked()).toEqual([[1], 1]);
  expect(ran).toEqual(["a", "one"]);
  await t.mutation(mutation("resize"), { id, size: 2 });
  expect(await asked()).toEqual([[2], 2]);
  expect(ran).toEqual(["a", "one", "a", "one"]);
  await t.mutation(mutation("add"), { name: "a", size: 3 });
  expect(await asked()).toEqual([[2, 3], 2]);
  expect(ran).toEqual(["a", "one", "a", "one", "a"]);
});

test("another caller, another setting, an error and a mutation run it again", async () => {
  const { ran, t } = start();
  const who = query<object, string>("who");
  const alice = t.withIdentity({ subject: "alice", issuer: "test", tokenIdentifier: "test|alice" });
  for (const round of [1, 2]) {
    expect([round, await t.query(who, {}), await alice.query(who, {})]).toEqual([round, "nobody", "alice"]);
    await expect(t.query(query("fail"), {})).rejects.toThrow("It went wrong");
    await t.mutation(mutation("readWithin"), { name: "a" });
  }
  expect(ran.toSorted()).toEqual(["a", "a", "fail", "fail", "who", "who"]);

  const setting = query<object, string>("setting");
  expect(await t.query(setting, {})).toBe("unset");
  vi.stubEnv("THINGS_SETTING", "set");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await t.query(setting, {})).toBe("set");
});

test("a query that reads the clock is kept for five seconds", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { ran, t } = start();
  const when = query<object, number>("when");
  const told: number[] = [];
  for (const at of [0, 5_000, 5_001]) {
    vi.setSystemTime(1_000_000 + at);
    told.push((await t.query(when, {})) - 1_000_000);
  }
  expect(told).toEqual([0, 0, 5_001]);
  expect(ran).toHaveLength(2);
});

test("of many answers, those that were asked for last are kept", async () => {
  const { ran, t } = start();
  const ask = (i: number) => t.query(sizes, { name: `${i}` });
  for (let i = 0; i < 512; i++) await ask(i);
  await ask(0);
  await ask(512);
  ran.length = 0;
  await ask(0);
  await ask(512);
  await ask(2);
  expect(ran).toEqual([]);
  await ask(1);
  expect(ran).toEqual(["1"]);
});

test("a query whose reads are older than the commits that the host remembers is run again", async () => {
  const { host, ran, t } = start();
  await t.query(sizes, { name: "a" });
  const place = { component: "", table: "things" };
  for (let i = 0; i < 9_000; i++)
    host.core.commits.at((transaction) =>
      transaction.insert(place, { name: i === 0 ? "a" : "b", size: i }, 0),
    );
  expect(await t.query(sizes, { name: "a" })).toEqual([0]);
  expect(ran).toEqual(["a", "a"]);
});

test("with a clock of the processor, who computes longer than a second gets the platform's error and writes nothing", async () => {
  let [ms, step] = [0, 400];
  const { host, t } = start({ processorMs: () => (ms += step) });
  await t.mutation(mutation("add"), { name: "a", size: 1 });
  expect(await t.query(sizes, { name: "a" })).toEqual([1]);
  step = 1_001;
  const error = "Function execution timed out (maximum duration: 1s)";
  await expect(t.query(sizes, { name: "b" })).rejects.toThrow(error);
  await expect(t.mutation(mutation("add"), { name: "b", size: 2 })).rejects.toThrow(error);
  expect(host.core.processor.longest).toEqual({ name: "things:sizes", ms: 1_001 });
  // What is kept is not computed.
  expect(await t.query(sizes, { name: "a" })).toEqual([1]);
  step = 1_000;
  expect(await t.query(sizes, { name: "b" })).toEqual([]);
});
