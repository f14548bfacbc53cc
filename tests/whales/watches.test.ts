import type { WithoutSystemFields } from "convex/server";
import { describe, expect, vi } from "vitest";
import type { Doc } from "../../convex/_generated/dataModel";
import { internal } from "../../convex/_generated/api";
import { NEVER } from "../../convex/lib/time";
import { START, test, createApp, type App } from "../support/app";
import { cutOff } from "../support/rows/leases";
import {
  agentSays,
  alert,
  BEGIN,
  cancels,
  HOUR,
  MINUTE,
  polls,
  prompts,
  watchHour,
  watchNow,
} from "./support";

const PROVIDERS = "http://providers.test";

const lost = { hour: START, startedAt: START, polls: 0 };

/** A look that was cut off with its server. */
async function cutOffIn(app: App, watch: WithoutSystemFields<Doc<"whaleWatches">>) {
  const watchId = await app.t.run((ctx) => ctx.db.insert("whaleWatches", watch));
  const job = await cutOff(app, internal.whales.agent.desk.look, watchId, { watchId });
  return { watchId, job };
}

describe("an hour's watch", () => {
  test("stores what the agent reports, sends the card, and marks its alerts", async ({ app }) => {
    await watchNow(app);
    expect(prompts(app)).toHaveLength(1);
    const alerts = await app.rows("whaleAlerts");
    expect(alerts.length).toBeGreaterThanOrEqual(2);
    const [watch] = await app.rows("whaleWatches");
    expect(watch).toMatchObject({
      hour: START,
      state: "done",
      counts: { stored: alerts.length, merged: 0, dropped: 0 },
    });
    expect(app.cards()).toHaveLength(1);
    expect(app.cards()[0]?.text).toContain("Whale alerts");
    expect(alerts.every(({ messengerSent }) => messengerSent)).toBe(true);
  });

  test("sends one prompt however often and however concurrently it begins", async ({ app }) => {
    await Promise.all([app.t.mutation(BEGIN, {}), app.t.mutation(BEGIN, {})]);
    const [watch] = await app.rows("whaleWatches");
    if (watch === undefined) throw new Error("No watch began");
    const [work] = await app.rows("work");
    if (work === undefined) throw new Error("Nothing is under way");
    // The platform may run a scheduled action's function again by hand; the prompt is taken once.
    const look = { watchId: watch._id, job: { workId: work._id, attempt: 1 } };
    await Promise.all([1, 2, 3].map(() => app.during(app.t.action(internal.whales.agent.desk.look, look))));
    await app.pass(10 * MINUTE);
    await app.t.mutation(BEGIN, {});
    await app.pass(MINUTE);
    expect(prompts(app)).toHaveLength(1);
    expect(await app.rows("whaleWatches")).toHaveLength(1);
  });

  test("has its key with the prompt, which asks for nothing but reading", async ({ app }) => {
    await watchHour(app);
    await watchHour(app);
    const [first, second] = prompts(app);
    expect(first?.body).toEqual({ prompt: expect.stringMatching(/Only read; do not trade/) });
    expect(second?.body).toEqual(first?.body);
  });

  test("polls 2 s after the prompt and then ever more slowly", async ({ app }) => {
    app.standins.fail("agent", { mode: "never", times: 1 });
    await app.t.mutation(BEGIN, {});
    await app.pass(2 * MINUTE);
    const at = polls(app).map((one) => one.at);
    const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0));
    expect(at[0]).toBeLessThan((prompts(app)[0]?.at ?? 0) + 4_000);
    expect(gaps.length).toBeGreaterThan(5);
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(19_000);
    expect(gaps.at(-1)).toBeLessThanOrEqual(22_000);
  });

  test("is not begun without a key", async () => {
    const app = createApp({ env: { LLM_GATEWAY_API_KEY: "" } });
    await watchNow(app);
    expect(await app.rows("whaleWatches")).toEqual([]);
    expect(app.standins.sent("agent")).toEqual([]);
  });
});

describe("a job that comes to nothing", () => {
  test("fails: the hour is noted and has no alerts", async ({ app }) => {
    app.standins.fail("agent", { mode: "fails", times: 1 });
    await watchNow(app);
    expect(await app.rows("whaleWatches")).toMatchObject([
      { state: "failed", note: "The agent's job failed" },
    ]);
    expect(await app.rows("whaleAlerts")).toEqual([]);
    expect(app.cards()).toEqual([]);
  });

  test("never ends: it is cancelled after five minutes", async ({ app }) => {
    app.standins.fail("agent", { mode: "never", times: 1 });
    await app.t.mutation(BEGIN, {});
    await app.pass(4 * MINUTE);
    expect(cancels(app)).toEqual([]);
    await app.pass(2 * MINUTE);
    expect(cancels(app)).toHaveLength(1);
    const asked = polls(app).length;
    await app.pass(10 * MINUTE);
    expect(polls(app)).toHaveLength(asked);
    expect(await app.rows("whaleWatches")).toMatchObject([
      { state: "failed", note: "The agent's job did not end in time and was cancelled" },
    ]);
  });

  test("cannot be read for minutes: polls go on, and what it then says counts", async ({ app }) => {
    agentSays(app, [alert()]);
    await app.t.mutation(BEGIN, {});
    await app.settle(2);
    expect(prompts(app)).toHaveLength(1);
    app.standins.fail("agent", { mode: "status", status: 503 });
    await app.pass(2 * MINUTE);
    app.standins.clear("agent");
    await app.pass(MINUTE);
    expect(await app.rows("whaleAlerts")).toHaveLength(1);
    expect(prompts(app)).toHaveLength(1);
  });

  test("can never be read: given up, with the reason", async ({ app }) => {
    await app.t.mutation(BEGIN, {});
    await app.settle(2);
    app.standins.fail("agent", { mode: "garbage" });
    await app.pass(7 * MINUTE);
    const [watch] = await app.rows("whaleWatches");
    expect(watch?.state).toBe("failed");
    expect(watch?.note).toMatch(/did not end in time. The agent API sent an unusable answer/);
  });

  test("is forgotten by the agent API: noted at once", async ({ app }) => {
    await cutOffIn(app, { ...lost, state: "polling", jobId: "job_none", acceptedAt: START, polls: 3 });
    await app.pass(MINUTE);
    expect(await app.rows("whaleWatches")).toMatchObject([
      { state: "failed", note: "The agent API no longer knows the job" },
    ]);
  });
});

describe("a prompt that is not taken", () => {
  test("429 with a reset time: no prompt before it, each hour noted", async ({ app }) => {
    const resetAt = START + 2.5 * HOUR;
    app.standins.fail("agent", {
      mode: "status",
      status: 429,
      body: { error: "Daily limit exceeded", message: "…", resetAt, limit: 100, used: 100 },
      times: 1,
    });
    for (let hour = 0; hour < 4; hour++) await watchHour(app);
    const watches = await app.rows("whaleWatches");
    expect(watches.map(({ state }) => state)).toEqual(["failed", "failed", "failed", "done"]);
    expect(watches[0]).toMatchObject({
      note: "The agent API is limiting this service's requests",
      pausedUntil: resetAt,
    });
    expect(watches[2]?.note).toBe(`The agent API takes no prompts until ${new Date(resetAt).toISOString()}`);
    expect(prompts(app)).toHaveLength(2);
  });

  test.for([1.77e15, 1.77e18, 1e308])(
    "429 with a reset time of %d: prompts after a day at the latest",
    async (resetAt, { app }) => {
      app.standins.fail("agent", { mode: "status", status: 429, times: 1, body: { error: "x", resetAt } });
      await watchHour(app);
      await watchNow(app);
      expect((await app.rows("whaleWatches")).map(({ state }) => state)).toEqual(["failed", "failed"]);
      vi.setSystemTime(START + 25 * HOUR);
      await watchNow(app);
      expect((await app.rows("whaleWatches"))[2]).toMatchObject({ state: "done" });
      expect(prompts(app)).toHaveLength(2);
    },
  );
});

describe("a restart", () => {
  test("before the prompt left: it is sent, within its hour", async ({ app }) => {
    await cutOffIn(app, { ...lost, state: "claimed" });
    await app.pass(2 * MINUTE);
    expect(prompts(app)).toHaveLength(1);
    expect(await app.rows("whaleWatches")).toMatchObject([{ state: "done" }]);
  });

  test("before the prompt left, and the hour is over: it is not sent", async ({ app }) => {
    await cutOffIn(app, { ...lost, hour: START - HOUR, state: "claimed" });
    await app.pass(2 * MINUTE);
    expect(prompts(app)).toEqual([]);
    expect(await app.rows("whaleWatches")).toMatchObject([
      { state: "failed", note: "The prompt was not sent within its hour" },
    ]);
  });

  test("between the prompt and its job: given up and noted, never sent again", async ({ app }) => {
    await cutOffIn(app, { ...lost, state: "prompting" });
    await app.pass(3 * MINUTE);
    expect(prompts(app)).toEqual([]);
    expect(await app.rows("whaleWatches")).toMatchObject([
      { state: "failed", note: expect.stringContaining("it is not sent again") },
    ]);
  });

  test("between two polls: they are taken up, and a job that ended hours ago is read", async ({ app }) => {
    agentSays(app, [alert()]);
    const response = await app.standins.handle(
      new Request(`${PROVIDERS}/agent-api/agent/prompt`, {
        method: "POST",
        headers: { "X-API-Key": "key-for-tests" },
        body: JSON.stringify({ prompt: "whales" }),
      }),
    );
    const body: unknown = await response.json();
    const jobId = typeof body === "object" && body !== null && "jobId" in body ? String(body.jobId) : "";
    const acceptedAt = START - 3 * HOUR;
    await cutOffIn(app, { ...lost, state: "polling", polls: 4, jobId, acceptedAt });
    await app.pass(10_000, { cronsRun: false });
    await app.pass(2 * MINUTE);
    expect(await app.rows("whaleWatches")).toMatchObject([{ state: "done" }]);
    expect(await app.rows("whaleAlerts")).toHaveLength(1);
    expect(prompts(app)).toHaveLength(1);
  });

  test("a poll that was overtaken changes nothing", async ({ app }) => {
    const jobId = "job_1";
    const { watchId, job } = await cutOffIn(app, {
      ...{ ...lost, state: "polling", polls: 4, jobId, acceptedAt: START },
    });
    await app.t.run(({ db }) => db.patch("work", job.workId, { attempt: 2, at: NEVER }));
    const take = (attempt: number) =>
      app.t.mutation(internal.whales.agent.jobs.begin, { watchId, job: { ...job, attempt } });
    expect(await take(1)).toBeNull();
    expect(await take(2)).toMatchObject({ kind: "poll" });
    const late = { watchId, job, alerts: [], dropped: 0, note: null };
    await app.t.mutation(internal.whales.agent.jobs.finish, late);
    await app.t.mutation(internal.whales.agent.jobs.fail, { watchId, job, note: "late" });
    expect(await app.row("whaleWatches", watchId)).toMatchObject({ state: "polling" });
    await app.t.mutation(internal.whales.agent.jobs.finish, { ...late, job: { ...job, attempt: 2 } });
    expect(await app.row("whaleWatches", watchId)).toMatchObject({ state: "done" });
  });

  test("an action that was only slow is taken up again with its job", async ({ app }) => {
    const { watchId, job } = await cutOffIn(app, { ...lost, state: "prompting" });
    await app.pass(MINUTE);
    expect(await app.row("whaleWatches", watchId)).toMatchObject({ state: "failed" });
    const jobId = "job_late";
    await app.t.mutation(internal.whales.agent.jobs.accepted, { watchId, job, jobId });
    const row = await app.row("whaleWatches", watchId);
    expect(row).toMatchObject({ state: "polling", jobId });
    expect(row).not.toHaveProperty("note");
  });
});

describe("beside another provider's gateway", () => {
  const LLM_ENDPOINT = `${PROVIDERS}/llm`;

  test("without an agent API's address nobody is asked, nobody gets the key, and health says so", async () => {
    const app = createApp({ env: { LLM_ENDPOINT, AGENT_API_URL: undefined } });
    await watchNow(app);
    expect(app.standins.sent("agent")).toEqual([]);
    expect(await app.rows("whaleWatches")).toEqual([]);
    expect(JSON.stringify(app.logged)).toContain("AGENT_API_URL is not configured");
    const { checks } = (await app.get("/health")).body;
    expect(checks).toMatchObject({ configured: { AGENT_API_URL: false } });
  });

  test("a job that was begun before is followed no further", async () => {
    const app = createApp({ env: { LLM_ENDPOINT, AGENT_API_URL: undefined } });
    await cutOffIn(app, { ...lost, state: "polling", jobId: "job_1", acceptedAt: START });
    await app.pass(MINUTE);
    expect(app.standins.sent("agent")).toEqual([]);
  });
});
