import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { createHost } from "../../scripts/host";
import { createClient } from "../../scripts/host/client";
import { loadParts } from "../../scripts/stack/modules";
import { real } from "../../scripts/real";
import { measure } from "../../scripts/host/billing/usage";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { eventually } from "../support/waits";
import { small, startScript, temporaryDirectory } from "../stack/processes";

const hostScript = fileURLToPath(new URL("host.ts", import.meta.url));

const list = makeFunctionReference<
  "query",
  Record<string, never>,
  { text: string; by: string; size?: bigint }[]
>("notes:list");
const add = makeFunctionReference<"mutation", { text: string; size?: bigint }, string>("notes:add");
const addLater = makeFunctionReference<"mutation", { text: string; ms: number }, string>("notes:addLater");
const startSlow = makeFunctionReference<"mutation", Record<string, never>, string>("notes:startSlow");
const jobs = makeFunctionReference<
  "query",
  Record<string, never>,
  { name: string; state: { kind: string } }[]
>("notes:jobs");

const costShape = z.object({
  ...{ calls: z.number(), readBytes: z.number(), writtenBytes: z.number(), actionMs: z.number() },
});
const billShape = costShape.extend({
  ...{ since: z.iso.datetime(), until: z.iso.datetime(), byFunction: z.record(z.string(), costShape) },
});
const minuteShape = z.object({ before: z.number(), after: z.number() });

const quiet = { source: small, envFile: "/dev/null", log: () => {} };

describe("one running stack", () => {
  let stack: Stack;
  let client: ConvexHttpClient;
  beforeAll(async () => {
    stack = await startStack(quiet);
    client = new ConvexHttpClient(stack.apiUrl);
  });
  afterAll(() => stack.stop());

  test("an HTTP action gets the request as sent, who sent it, and the stack's own address", async () => {
    const response = await fetch(`${stack.siteUrl}/echo?a=1&b=%20`, {
      method: "POST",
      body: "grüße",
      headers: { "x-one": "1", "user-agent": "tester" },
    });
    expect(await response.json()).toEqual({
      method: "POST",
      query: "?a=1&b=%20",
      body: "grüße",
      header: "1",
      connection: null,
      ip: "127.0.0.1",
      userAgent: "tester",
      identity: null,
      siteUrl: stack.siteUrl,
    });
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  test.each([
    ["the connection's other end without a header", {}, "127.0.0.1"],
    [
      "the header's first entry, as the backend takes it",
      { "x-forwarded-for": " 192.0.2.1 , 192.0.2.2" },
      "192.0.2.1",
    ],
    ["whatever that says", { "x-forwarded-for": "somebody" }, "somebody"],
    ["the connection's where the header is no plain text", { "x-forwarded-for": "\u00e9" }, "127.0.0.1"],
  ])("the caller's address is %s", async (_what, headers, ip) => {
    const response = await fetch(`${stack.siteUrl}/echo`, { headers });
    expect(await response.json()).toMatchObject({ ip });
  });

  test("HEAD runs the GET action and answers without a body", async () => {
    const response = await fetch(`${stack.siteUrl}/echo`, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });

  test("a body streams as it is made", async () => {
    const response = await fetch(`${stack.siteUrl}/stream`);
    expect(await response.text()).toBe("first second");
  });

  test("an action that throws is the platform's 500, and its stack is shown to the operator", async () => {
    const shown = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => shown.mockRestore());
    const response = await fetch(`${stack.siteUrl}/fail`);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      code: expect.stringContaining("Server Error: it went wrong"),
    });
  });

  test("a token of the local issuer signs its user in; any other bearer is left to the application", async () => {
    const whoIs = async (token: string) => {
      const response = await fetch(`${stack.siteUrl}/echo`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return ((await response.json()) as { identity: unknown }).identity;
    };
    const issuer = "http://127.0.0.1:3210";
    const alice = { subject: "alice", issuer, tokenIdentifier: `${issuer}|alice` };
    expect(await whoIs(await stack.issuer.issue("alice"))).toEqual(alice);
    expect(await whoIs("not-a-token")).toBeNull();
  });

  test("Convex's own client reads and writes, with types JSON has not", async () => {
    await client.mutation(add, { text: "by client", size: 12n });
    expect(await client.query(list, {})).toContainEqual({ text: "by client", by: "nobody", size: 12n });
  });

  test("the function API signs users in, and refuses tokens it did not issue", async () => {
    const signedIn = new ConvexHttpClient(stack.apiUrl, { auth: await stack.issuer.issue("bob") });
    await signedIn.mutation(add, { text: "by bob" });
    expect(await client.query(list, {})).toContainEqual({ text: "by bob", by: "http://127.0.0.1:3210|bob" });
    const forged = new ConvexHttpClient(stack.apiUrl, { auth: `${await stack.issuer.issue("bob")}x` });
    await expect(forged.query(list, {})).rejects.toThrow("InvalidAuthHeader");
  });

  test("only public functions of the right kind can be called, with arguments that fit", async () => {
    const call = (name: string) => client.mutation(makeFunctionReference<"mutation">(name), {});
    await expect(call("notes:write")).rejects.toThrow("Could not find public function");
    await expect(call("notes:absent")).rejects.toThrow("Could not find public function");
    await expect(call("notes:list")).rejects.toThrow("is a query");
    await expect(call("notes:add")).rejects.toThrow("text");
    await expect(call("notes:refuse")).rejects.toMatchObject({ data: { code: "refused" } });
  });

  test("a plain JSON call and a malformed one", async () => {
    const post = (body: string) => fetch(`${stack.apiUrl}/api/query`, { method: "POST", body });
    const response = await post(JSON.stringify({ path: "notes:list", args: {}, format: "json" }));
    expect(await response.json()).toMatchObject({ status: "success", logLines: [] });
    expect((await post("{")).status).toBe(400);
    expect((await fetch(`${stack.apiUrl}/api/nothing`)).status).toBe(404);
  });

  test("the platform's limits hold for the application", async () => {
    const many = makeFunctionReference<"mutation", { count: number }>("notes:many");
    await expect(client.mutation(many, { count: 16_001 })).rejects.toThrow(/limit: 16000/);
    const long = makeFunctionReference<"mutation", { count: number }>("notes:addLong");
    await expect(client.mutation(long, { count: 17 })).rejects.toThrow(/arguments too large/);
  });

  test("a function that there is not cannot be scheduled", async () => {
    const nowhere = makeFunctionReference<"mutation">("notes:addNowhere");
    await expect(client.mutation(nowhere, {})).rejects.toThrow(/nonexistent path: nowhere:write/);
    expect((await client.query(list, {})).filter(({ text }) => text === "nowhere")).toEqual([]);
  });

  test("GET /_usage tells what the platform would bill: calls, bytes, and how long actions ran", async () => {
    const told = async () => billShape.parse(await (await fetch(`${stack.providersUrl}/_usage`)).json());
    const before = await told();
    await client.mutation(add, { text: "x".repeat(10_000) });
    const notes = await client.query(list, {});
    await (await fetch(`${stack.siteUrl}/time`)).text();
    const after = await told();
    const beyond = (name: string, what: keyof z.infer<typeof costShape>) =>
      (after.byFunction[name]?.[what] ?? 0) - (before.byFunction[name]?.[what] ?? 0);
    expect(["notes:add", "notes:list", "http"].map((name) => beyond(name, "calls"))).toEqual([1, 1, 1]);
    // The text, and what every row has besides.
    expect(beyond("notes:add", "writtenBytes")).toBeGreaterThan(10_000);
    expect(beyond("notes:add", "writtenBytes")).toBeLessThan(10_200);
    expect(beyond("notes:list", "readBytes")).toBeGreaterThan(10_000 + 50 * (notes.length - 1));
    expect([beyond("notes:add", "actionMs"), beyond("notes:list", "writtenBytes")]).toEqual([0, 0]);
    const sums = Object.values(after.byFunction).reduce((all, one) => all + one.writtenBytes, 0);
    expect(after.writtenBytes).toBe(sums);
    expect(after.since).toBe(before.since);
    expect(after.until >= before.until).toBe(true);
    const page = await fetch(`${stack.providersUrl}/_usage`, { headers: { origin: "http://page.example" } });
    expect(page.status).toBe(403);
  });

  test("an interval's first run is at the first start", async () => {
    await eventually(async () => (await client.query(list, {})).find(({ text }) => text === "cron"));
  });

  test("work is measured in documents and ranges", async () => {
    const written = await measure(() => stack.application.runMutation("notes:add", { text: "measured" }));
    expect(written.usage).toEqual({ read: 0, written: 1, ranges: 0, modules: ["notes"] });
    const { value, usage } = await measure(() => stack.application.runQuery("notes:list", {}));
    expect(usage).toEqual({
      read: Array.isArray(value) ? value.length : -1,
      written: 0,
      ranges: 1,
      modules: ["notes"],
    });
  });

  test("a second stack in the same process is refused", async () => {
    await expect(startStack(quiet)).rejects.toThrow("one stack at a time");
  });
});

test("what was written and not committed is not measured", async () => {
  const t = createClient(createHost({ parts: await loadParts(small) }));
  const { usage } = await measure(() =>
    expect(
      t.run(async ({ db }) => {
        await db.insert("notes", { text: "taken back", by: "nobody" });
        throw new Error("refused");
      }),
    ).rejects.toThrow("refused"),
  );
  expect(usage.written).toBe(0);
  const kept = await measure(() => t.run(({ db }) => db.insert("notes", { text: "kept", by: "nobody" })));
  expect(kept.usage.written).toBe(1);
});

test("mutations that overlap on a row run again; who loses each time is told, and has changed nothing", async () => {
  const host = createHost({ parts: await loadParts(small), contention: { durationMs: () => 200 } });
  const t = createClient(host);
  const id = await t.run((ctx) => ctx.db.insert("notes", { text: "0", by: "count" }));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const through = async <Value>(work: Promise<Value>) => {
    await vi.advanceTimersByTimeAsync(10_000);
    return work;
  };
  const countOn = () =>
    t.run(async ({ db }) =>
      db.patch("notes", id, { text: String(Number((await db.get("notes", id))?.text) + 1) }),
    );
  const textOf = () => t.run(async ({ db }) => Number((await db.get("notes", id))?.text));
  await through(Promise.all([countOn(), countOn()]));
  expect(await through(textOf())).toBe(2);

  const crowd = await through(Promise.allSettled(Array.from({ length: 40 }, countOn)));
  const lost = crowd.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  expect(await through(textOf())).toBe(2 + crowd.length - lost.length);
  expect(lost.length).toBeGreaterThan(0);
  expect(new Set(lost).size).toBe(1);
  expect(lost[0]).toContain("OptimisticConcurrencyControlFailure");
  const { failures, retries, by } = host.core.commits.conflicts;
  expect([failures, by]).toEqual([lost.length, new Map([["inline over notes", retries]])]);
});

test("of mutations, so many run at once as the class allows; who waits five seconds for a place is refused", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const host = createHost({ parts: await loadParts(small), contention: { durationMs: () => 4_000 } });
  const t = createClient(host);
  const all = Promise.allSettled(Array.from({ length: 40 }, (_, i) => t.mutation(add, { text: `${i}` })));
  const kept = async () => (await t.query(list, {})).length;
  const counts: number[] = [];
  for (const ms of [3_900, 200, 4_000]) {
    await vi.advanceTimersByTimeAsync(ms);
    counts.push(await kept());
  }
  expect(counts).toEqual([0, 16, 32]);
  const lost = (await all).flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  expect([lost.length, new Set(lost).size]).toEqual([8, 1]);
  expect(lost[0]).toContain("Too many concurrent requests: the deployment's mutations are all in use");
});

test("within a second the deployment writes so much; what is beyond is refused by the platform's code, or waits", async () => {
  const host = createHost({ parts: await loadParts(small), contention: { durationMs: () => 100 } });
  const t = createClient(host);
  expect(await t.query(list, {})).toEqual([]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const text = "x".repeat(900_000);
  const crowd = Promise.allSettled(Array.from({ length: 6 }, () => t.mutation(add, { text })));
  await vi.advanceTimersByTimeAsync(150);
  const lost = (await crowd).flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
  expect(lost).toHaveLength(2);
  expect(lost[0]).toContain("TooManyWritesInTimePeriod");
  // What was scheduled comes when there is room.
  await vi.advanceTimersByTimeAsync(1_000);
  const later = Promise.all(Array.from({ length: 4 }, () => t.mutation(addLater, { text, ms: 0 })));
  await vi.advanceTimersByTimeAsync(400);
  const soon = await t.query(list, {});
  expect(soon.length).toBeLessThan(4 + 4);
  await vi.advanceTimersByTimeAsync(10_000);
  await later;
  expect(await t.query(list, {})).toHaveLength(4 + 4);
});

test("an accelerated stack's time flies for the application and for nobody else", async () => {
  const stack = await startStack({ ...quiet, speed: 3_000 });
  try {
    // Of the half hour that an action has, a machine that stops for half a second takes all: it is asked again.
    const { before, after } = await eventually(async () => {
      const answer = await fetch(`${stack.siteUrl}/minute`);
      return answer.status === 200 ? minuteShape.parse(await answer.json()) : undefined;
    });
    expect(after - before).toBeGreaterThanOrEqual(60_000);
    await eventually(async () => {
      const told = Number(await (await fetch(`${stack.siteUrl}/time`)).text());
      return told > real.Date.now() + 3_600_000 ? told : undefined;
    });
    const [earlier, ours, later] = [real.Date.now(), Date.now(), real.Date.now()];
    expect(ours).toBeGreaterThanOrEqual(earlier);
    expect(ours).toBeLessThanOrEqual(later);
    const client = new ConvexHttpClient(stack.apiUrl);
    await eventually(async () => (await client.query(list, {})).filter(({ text }) => text === "cron")[1]);
  } finally {
    await stack.stop();
  }
});

test("a stack that has ended runs nothing any more", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { application, stop } = await startStack(quiet);
  await application.runMutation("notes:addLater", { text: "too late", ms: 1_000 });
  expect(vi.getTimerCount()).toBeGreaterThan(0);
  await stop();
  await vi.advanceTimersByTimeAsync(5_000);
  const notes = application.dump()[""]?.filter(({ table }) => table === "notes");
  expect(notes?.filter(({ document }) => document.text === "too late")).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  await expect(application.runMutation("notes:add", { text: "too late" })).rejects.toThrow("was stopped");
});

test("what runs while a stack ends says nothing of its end", async () => {
  const said = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => said.mockRestore());
  const { application, stop } = await startStack(quiet);
  await application.runMutation("notes:startTelling", {});
  await eventually(() =>
    Promise.resolve(application.dump()[""]?.find(({ document }) => document.text === "telling")),
  );
  await stop();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(said).not.toHaveBeenCalled();
});

test("after kill -9 all rows are back, a pending function runs, and an action that was cut off does not", async () => {
  const dataDir = await temporaryDirectory();
  const start = async () => {
    const host = startScript(hostScript, [dataDir], { LOCAL_ENV_FILE: "/dev/null" });
    const [, apiUrl = ""] = await host.output(/^up (\S+)$/m);
    return { host, client: new ConvexHttpClient(apiUrl) };
  };
  const first = await start();
  await first.client.mutation(add, { text: "kept", size: 2n ** 60n });
  await first.client.mutation(startSlow, {});
  await eventually(async () =>
    (await first.client.query(list, {})).find(({ text }) => text === "slow started"),
  );
  await first.client.mutation(addLater, { text: "came later", ms: 1_500 });
  first.host.kill("SIGKILL");
  await first.host.ended;

  const second = await start();
  const notes = await eventually(async () => {
    const all = await second.client.query(list, {});
    return all.some(({ text }) => text === "came later") ? all : undefined;
  });
  expect(notes).toContainEqual({ text: "kept", by: "nobody", size: 2n ** 60n });
  expect(notes.filter(({ text }) => text === "came later")).toHaveLength(1);
  expect(notes.filter(({ text }) => text === "slow started")).toHaveLength(1);
  // The cron ran at the first start ever, and is not due again for an hour.
  expect(notes.filter(({ text }) => text === "cron")).toHaveLength(1);
  const slow = (await second.client.query(jobs, {})).find(({ name }) => name === "notes:slow");
  expect(slow?.state.kind).toBe("failed");
});

test("a stack that was stopped starts again with the same ids, and carries on counting", async () => {
  const dataDir = await temporaryDirectory();
  const run = async (text: string) => {
    const stack = await startStack({ ...quiet, dataDir });
    try {
      await stack.application.runMutation("notes:many", { count: 3 });
      const id = await stack.application.runMutation("notes:add", { text });
      return { id, dump: stack.application.dump() };
    } finally {
      await stack.stop();
    }
  };
  const first = await run("one");
  const second = await run("two");
  expect(second.id).not.toBe(first.id);
  expect(second.dump[""]).toEqual(expect.arrayContaining(first.dump[""] ?? []));
});

test("with a strict clock a query that reads it fails; in a mutation's transaction it may", async () => {
  const parts = await loadParts(small);
  const count = makeFunctionReference<"query", Record<string, never>, { count: number }>("notes:count");
  const t = createClient(createHost({ parts, strictClock: true }));
  await expect(t.query(count, {})).rejects.toThrow("The query notes:count reads the clock");
  expect(await t.query(list, {})).toEqual([]);
  expect(await t.run((ctx) => ctx.runQuery(count, {}))).toMatchObject({ count: 0 });
  expect(await createClient(createHost({ parts })).query(count, {})).toMatchObject({ count: 0 });
});

test("a module that could not be loaded once is loaded when it is next asked for", async () => {
  const [own, ...components] = await loadParts(small);
  if (own === undefined) throw new Error("The small application is a part");
  const { notes } = own.modules;
  if (notes === undefined) throw new Error("The small application has notes");
  let tries = 0;
  const load = () => (tries++ === 0 ? Promise.reject(new Error("The file is busy")) : notes());
  const host = createHost({ parts: [{ ...own, modules: { ...own.modules, notes: load } }, ...components] });
  const path = { componentPath: "", udfPath: "notes:list" };
  await expect(host.run("query", path, {})).rejects.toThrow("The file is busy");
  expect(await host.run("query", path, {})).toEqual([]);
  host.stop();
});

test("a stop waits for the cron that is under way, and keeps what it writes", async () => {
  const dataDir = await temporaryDirectory();
  const gate = new EventTarget();
  let asked = false;
  const load = async (file: string) => {
    if (file === "notes") {
      asked = true;
      await new Promise((go) => gate.addEventListener("open", go, { once: true }));
    }
    return small.load(file);
  };
  const stack = await startStack({ ...quiet, source: { ...small, load }, dataDir });
  await eventually(() => Promise.resolve(asked || undefined));
  const stopping = stack.stop();
  // By then nobody is served any more.
  await eventually(() =>
    fetch(stack.siteUrl).then(
      () => undefined,
      () => true,
    ),
  );
  gate.dispatchEvent(new Event("open"));
  await stopping;
  expect(await readFile(path.join(dataDir, "data.json"), "utf8")).toContain('"text":"cron"');
});
