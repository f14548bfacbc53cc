import { describe, expect } from "vitest";
import { test, createApp } from "../support/app";
import { agentSays, alert, BEGIN, cancels, MINUTE, polls, prompts, watchHour, watchNow } from "./support";

const PROVIDERS = "http://providers.test";
/** What the agent tells of every job. */
const jobIs = (status: string) => {
  return { mode: "garbage", path: "/agent/job", text: JSON.stringify({ success: true, status }) } as const;
};

describe("an hour's watch", () => {
  test("stores what the agent reports, sends the card, and marks its alerts", async ({ app }) => {
    await watchNow(app);
    expect(prompts(app)).toHaveLength(1);
    const alerts = await app.rows("whaleAlerts");
    expect(alerts.length).toBeGreaterThanOrEqual(2);
    expect(app.cards()).toHaveLength(1);
    expect(app.cards()[0]?.text).toContain("Whale alerts");
    expect(alerts.every(({ messengerSent }) => messengerSent)).toBe(true);
  });

  test("sends one prompt however often and however concurrently it begins", async ({ app }) => {
    await Promise.all([app.t.mutation(BEGIN, {}), app.t.mutation(BEGIN, {})]);
    await app.pass(10 * MINUTE);
    await app.t.mutation(BEGIN, {});
    await app.pass(MINUTE);
    expect(prompts(app)).toHaveLength(1);
  });
});

describe("a job that comes to nothing", () => {
  test("fails: the hour is logged and has no alerts", async ({ app }) => {
    app.standins.fail("agent", jobIs("failed"));
    await watchNow(app);
    expect(JSON.stringify(app.logged)).toContain("The agent's job failed");
    expect(await app.rows("whaleAlerts")).toEqual([]);
    expect(app.cards()).toEqual([]);
  });

  test("never ends: it is polled after 2 s and then ever more slowly, and cancelled after five minutes", async ({
    app,
  }) => {
    app.standins.fail("agent", jobIs("processing"));
    await app.t.mutation(BEGIN, {});
    await app.pass(4 * MINUTE);
    const at = polls(app).map((one) => one.at);
    const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0));
    expect(at[0]).toBeLessThan((prompts(app)[0]?.at ?? 0) + 4_000);
    expect(gaps.length).toBeGreaterThan(5);
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(19_000);
    expect(gaps.at(-1)).toBeLessThanOrEqual(22_000);
    expect(cancels(app)).toEqual([]);
    await app.pass(2 * MINUTE);
    expect(cancels(app)).toHaveLength(1);
    const asked = polls(app).length;
    await app.pass(10 * MINUTE);
    expect(polls(app)).toHaveLength(asked);
    expect(JSON.stringify(app.logged)).toContain("The agent's job did not end in time and was cancelled");
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
});

test("a prompt that is refused is logged, and asked again in the next hour", async ({ app }) => {
  app.standins.fail("agent", { mode: "status", status: 429, times: 1 });
  for (let hour = 0; hour < 2; hour++) await watchHour(app);
  expect(JSON.stringify(app.logged)).toContain("The agent API is limiting this service's requests");
  expect(prompts(app)).toHaveLength(2);
  expect(app.cards()).toHaveLength(1);
});

describe("beside another provider's gateway", () => {
  const LLM_ENDPOINT = `${PROVIDERS}/llm`;

  test("without an agent API's address nobody is asked, nobody gets the key, and health says so", async () => {
    const app = createApp({ env: { LLM_ENDPOINT, AGENT_API_URL: undefined } });
    await watchNow(app);
    expect(app.standins.sent("agent")).toEqual([]);
    expect(await app.rows("whaleProgress")).toEqual([]);
    expect(JSON.stringify(app.logged)).toContain("the agent API is not configured");
    const { checks } = (await app.get("/health")).body;
    expect(checks).toMatchObject({ configured: { AGENT_API_URL: false } });
  });
});
