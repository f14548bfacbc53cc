import { describe, expect } from "vitest";
import * as z from "zod";
import { api, internal } from "../../convex/_generated/api";
import { ownRecord } from "../../convex/pages/shapes";
import { personEvent, type PersonEvent } from "../../convex/signals/record/events";
import { verify } from "../../scripts/verifySignals";
import type { App } from "../support/app";
import { browserOf } from "../web/support";
import { rechained, recordOf } from "./record/record";
import { DAY, events, HOUR, marketAt, MINUTE, test, wait, work } from "./support";

/** Arms of signed-in users: what they propose is measured, ended, counted and chained as the service's own, and stays. */

const up = { token: "BTC", signal: "BUY", tp1: 101, sl: 99, confidence: 70 } as const;

type Browser = ReturnType<typeof browserOf>;

async function person(app: App, subject: string): Promise<Browser> {
  const browser = browserOf(app, subject);
  await browser.mutation(api.users.profile.signIn, {});
  return browser;
}

const armOf = async (browser: Browser, name: string) =>
  (await browser.mutation(api.signals.people.app.make, { name })).arm;

const keyOf = async (browser: Browser, ...scopes: ("read" | "record")[]) =>
  (await browser.mutation(api.account.keys.create, { name: "bot", scopes })).key;

const bearer = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });

const recordAt = async (app: App, called: string) =>
  ownRecord.parse((await app.get(`/record/${called}`)).body);

/** One tick of the tracker. */
async function trackPeople(app: App): Promise<void> {
  await app.t.mutation(internal.signals.outcomes.tracker.trackPeople, {});
  await work(app);
}

const chainOf = async (app: App) =>
  z.object({ events: z.array(personEvent) }).parse((await app.get("/records/proof?limit=500")).body).events;

/** The verifier passes it as it is told, and nothing that is told otherwise. */
async function verified(app: App, arm: string): Promise<void> {
  const [told, { stats, cuts: parts }, record] = [
    await chainOf(app),
    await recordAt(app, arm),
    await recordOf(app),
  ];
  const problems = async (events: PersonEvent[], shown: unknown, cuts = parts) => {
    const people = { events, head: events.at(-1) ?? null, stats: { [arm]: shown }, cuts: { [arm]: cuts } };
    const whole = { ...record, people, readAt: Date.now() };
    return (await verify(whole, {})).problems.join("\n");
  };
  expect(await problems(told, stats)).toBe("");
  expect(await problems(told, { ...stats, wins: 2 })).toContain(`statistics shown for ${arm}`);
  expect(parts.map(({ cut, n }) => [cut, n])).toEqual([["BUY", 1]]);
  const prettier = parts.map((part) => ({ ...part, averageAfterCostsPercent: 9 }));
  expect(await problems(told, stats, prettier)).toContain(`statistics shown for ${arm}`);
  // A chain that was made anew fits itself, and not the record that holds its head.
  const without = (...kinds: string[]) => rechained(told.filter(({ kind }) => !kinds.includes(kind))).events;
  expect(await problems(without("closed", "compared"), stats)).toContain("never closed and compared");
  expect(await problems(without("begun"), stats)).toContain("no event began its arm");
  expect(await problems(without("begun"), stats)).toContain("holds another hash");
  const lost = told.map((one) => {
    const end = { status: "LOSS" as const, exitPrice: 99, pnlPercent: -1 };
    return one.kind === "closed" ? { ...one, content: { ...one.content, ...end } } : one;
  });
  expect(await problems(rechained(lost).events, stats)).toContain("do not follow from its events");
}

describe("a proposal", () => {
  test("is entered at a price measured after it came, by function, by key, and by a key in the body", async ({
    app,
  }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    const alice = await person(app, "alice");
    const arms = [await armOf(alice, "one"), await armOf(alice, "two"), await armOf(alice, "three")];
    const key = await keyOf(alice, "record");
    const cameAt = Date.now();
    const wish = (n: number) => ({ ...up, arm: arms[n] ?? "" });
    // A price that somebody has seen already is none to enter at.
    await app.get("/mcp/prices");
    await wait(app, 4_000);
    const byFunction = await app.during(alice.action(api.signals.people.desk.propose, wish(0)));
    expect(byFunction.price.observedAt).toBeGreaterThanOrEqual(cameAt + 4_000);
    const byKey = await app.post("/records/signals", wish(1), bearer(key));
    const byBody = await app.post("/records/signals", { ...wish(2), key });
    expect([byKey.status, byBody.status]).toEqual([200, 200]);
    expect(byBody.body.signal).toMatchObject({ entry: 100, status: "PENDING", model: "own" });
    expect(JSON.stringify(byBody.body)).not.toContain(key);
    expect((await app.get("/records/mine", bearer(key))).body.arms).toMatchObject(
      arms.map((arm, index) => ({ arm, number: index + 1, of: 3 })),
    );
  });

  test("breaks no rule, is one a token and day, and is its owner's alone", async ({ app }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    const alice = await person(app, "alice");
    const arm = await armOf(alice, "alice-one");
    const key = await keyOf(alice, "record");
    const propose = async (fields: object, init = bearer(key)) => {
      const { status, body } = await app.post("/records/signals", { ...up, arm, ...fields }, init);
      return [status, body.error];
    };
    expect(await propose({ sl: 99.9 })).toEqual([400, expect.stringContaining("at least 0.15 %")]);
    expect(await propose({ tp1: 99 })).toEqual([400, expect.stringContaining("levels of a BUY")]);
    expect(await propose({ confidence: 101 })).toEqual([400, expect.any(String)]);
    expect(await propose({})).toEqual([200, undefined]);
    const twice = await Promise.all([propose({ token: "ETH" }), propose({ token: "ETH", tp1: 102 })]);
    expect(twice.map(([status]) => status).toSorted()).toEqual([200, 409]);
    expect(await propose({})).toEqual([409, expect.stringContaining("already")]);
    const reading = bearer(await keyOf(alice, "read"));
    expect(await propose({}, reading)).toEqual([403, "This key lacks the scope record"]);
    const bob = bearer(await keyOf(await person(app, "bob"), "record"));
    expect(await propose({}, bob)).toEqual([404, expect.any(String)]);
    expect((await app.post("/records/signals", { ...up, arm })).status).toBe(401);
    expect((await app.rows("signals")).length).toBe(2);
  });
});

describe("an arm", () => {
  test("has the record that a daily signal has: outcome, controls, statistics, chain, and an event that holds it", async ({
    app,
  }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    const alice = await person(app, "alice");
    const arm = await armOf(alice, "night-owl");
    await app.during(alice.action(api.signals.people.desk.propose, { ...up, arm }));
    await app.t.mutation(internal.signals.record.anchors.anchorDue, {});
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 101.5, ETH: 100 });
    await wait(app, 7 * HOUR);
    await trackPeople(app);
    expect(await recordAt(app, arm)).toMatchObject({
      stats: { n: 1, wins: 1, edge: { days: 0, verdict: "no record yet" } },
      signals: [{ id: `${arm}:BTC-2026-01-05`, status: "WIN", controls: { alwaysLong: { signal: "BUY" } } }],
      unanchored: 1,
      heldBy: 1,
    });
    // The day counts when it is over, an even part of it for each token: who has won may not leave the rest out.
    await wait(app, DAY);
    await trackPeople(app);
    const { stats } = await recordAt(app, arm);
    expect([stats.edge.days, stats.edge.excessPoints]).toEqual([1, 25]);
    expect(await app.rows("openDays")).toEqual([]);
    const told = await chainOf(app);
    expect(told.map(({ kind }) => kind)).toEqual(["begun", "issued", "closed", "compared"]);
    expect(JSON.stringify(told)).not.toContain("night-owl");
    expect((await events(app)).at(0)).toMatchObject({ kind: "people", content: { peopleSequence: 2 } });
    await verified(app, arm);
    // Nothing of it is the service's own record.
    expect((await app.get("/mcp/signals/history")).body).toMatchObject({ count: 0 });
    const page = await app.get(`/record/${arm}`, { headers: { Accept: "text/html" } });
    expect(page.text).toContain("no record yet");
    expect(page.text).not.toContain("/signals/arm-");
  });

  test("is one of ten, whichever have ended, and each needs as much more as there are", async ({ app }) => {
    const alice = await person(app, "alice");
    const arms: string[] = [];
    for (let n = 0; n < 10; n++) arms.push(await armOf(alice, `arm${n}`));
    const [first = ""] = arms;
    await alice.mutation(api.signals.people.app.end, { arm: first });
    await expect(armOf(alice, "eleventh")).rejects.toThrow("You have 10 arms");
    await expect(
      app.during(alice.action(api.signals.people.desk.propose, { ...up, arm: first })),
    ).rejects.toThrow("has ended");
    expect((await recordAt(app, first)).arm).toMatchObject({ number: 1, of: 10, needed: 200 });
  });

  test("is called by its name when the operator lets it stand, and not before", async ({ app }) => {
    const alice = await person(app, "alice");
    const arm = await armOf(alice, "buy-my-course");
    await expect(armOf(await person(app, "bob"), "buy-my-course")).rejects.toThrow("taken");
    await expect(armOf(alice, "arm-5f0c1d7e9a3b2468")).rejects.toThrow("arm-");
    expect((await app.get("/record/buy-my-course")).status).toBe(404);
    expect((await app.get(`/record/${arm}`)).text).not.toContain("buy-my-course");
    const asked = await app.t.query(internal.signals.people.arms.waiting, {});
    expect(asked).toMatchObject([{ arm, name: "buy-my-course", nameState: "waiting" }]);
    const decide = { arm, shown: true };
    await app.t.mutation(internal.signals.people.arms.nameDecided, decide);
    expect((await recordAt(app, "buy-my-course")).arm.name).toBe("buy-my-course");
    await app.t.mutation(internal.signals.people.arms.nameDecided, { ...decide, shown: false });
    expect((await app.get("/record/buy-my-course")).status).toBe(404);
  });

  test("is listed from 30 outcomes on, and stays when its owner deletes everything", async ({ app }) => {
    marketAt(app, { BTC: 100, ETH: 100 });
    const alice = await person(app, "alice");
    const arm = await armOf(alice, "loser");
    await app.t.mutation(internal.signals.people.arms.nameDecided, { arm, shown: true });
    await app.during(alice.action(api.signals.people.desk.propose, { ...up, arm }));
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 98, ETH: 100 });
    await trackPeople(app);
    expect((await app.get("/records")).body).toEqual({ arms: [] });
    await app.t.run(async ({ db }) => {
      const rows = await db.query("signalTotals").collect();
      for (const row of rows)
        if (row.scope === "ALL") await db.patch("signalTotals", row._id, { losses: 29 });
    });
    await wait(app, DAY);
    marketAt(app, { BTC: 100, ETH: 100 });
    await app.during(alice.action(api.signals.people.desk.propose, { ...up, arm, token: "ETH" }));
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 100, ETH: 98 });
    await trackPeople(app);
    expect((await app.get("/records")).body.arms).toMatchObject([{ arm: { arm, name: "loser" }, n: 30 }]);
    const before = await chainOf(app);
    await alice.mutation(api.account.deletion.request, {});
    await wait(app, MINUTE);
    expect(await recordAt(app, arm)).toMatchObject({
      arm: { name: null, left: true, endedAt: expect.any(String), listed: true },
      stats: { n: 30, losses: 30 },
    });
    expect(await chainOf(app)).toEqual(before);
    expect((await app.get("/record/loser")).status).toBe(404);
  });
});
