import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { linkedUser, SECRET, tap, test } from "../bot/support";
import type { App } from "../support/app";

/** How often an owner is asked by whoever knows their `userId` and shows nothing else. */

const [MINUTE, HOUR] = [60_000, 3_600_000];

test.override({ settings: { env: { MESSENGER_WEBHOOK_SECRET: SECRET } } });

/** Asks for another chat each time: no two questions are the same. */
function asker(app: App, userId: string) {
  let chat = 0;
  return async () => {
    const { status, body, headers } = await app.post("/user/messenger", {
      ...{ userId, messengerChatId: `-${++chat}` },
    });
    return { status, error: String(body.error), retryAfter: Number(headers.get("retry-after")) };
  };
}

const later = (app: App, ms: number) => app.pass(ms, { cronsRun: false });

test("three questions are open at most, and ten are asked in a day", async ({ app }) => {
  const { userId } = await linkedUser(app, "alice", 42);
  const ask = asker(app, userId);
  const statuses: number[] = [];
  for (let times = 0; times < 3; times++) statuses.push((await ask()).status);
  expect(statuses).toEqual([202, 202, 202]);
  const fourth = await ask();
  expect([fourth.status, fourth.error]).toEqual([
    429,
    expect.stringContaining("The limit of open questions to the owner"),
  ]);
  // They end by themselves, in ten minutes.
  for (let times = 0; times < 2; times++) {
    await later(app, 11 * MINUTE);
    for (let more = 0; more < 3; more++) expect((await ask()).status).toBe(202);
  }
  await later(app, 11 * MINUTE);
  expect((await ask()).status).toBe(202);
  await later(app, 11 * MINUTE);
  const eleventh = await ask();
  expect([eleventh.status, eleventh.error]).toEqual([
    429,
    expect.stringContaining("The daily limit of questions to the owner"),
  ]);
  expect(await app.rows("approvals")).toHaveLength(10);
  // Of the owner's own doing there is no such end.
  const own = await app.post("/user/messenger", { userId, messengerChatId: "-99" }, { as: "alice" });
  expect(own.status).toBe(200);
  await later(app, 24 * HOUR - 44 * MINUTE);
  expect((await ask()).status).toBe(202);
});

test("two refusals are an answer for an hour, whoever asks", async ({ app }) => {
  const { userId } = await linkedUser(app, "alice", 42);
  const ask = asker(app, userId);
  await ask();
  await tap(app, "✖ Refuse");
  expect((await ask()).status).toBe(202);
  await tap(app, "✖ Refuse");
  const third = await ask();
  expect([third.status, third.error]).toEqual([429, expect.stringContaining("who has refused twice")]);
  expect(third.retryAfter).toBeGreaterThan(55 * 60);
  await later(app, 58 * MINUTE);
  expect((await ask()).status).toBe(429);
  await later(app, 3 * MINUTE);
  expect((await ask()).status).toBe(202);
});

test("who waits for the owner's tap keeps their place, and gives it back within seconds of hanging up", async ({
  app,
}) => {
  const { userId } = await linkedUser(app, "alice", 42);
  const held = async () =>
    (await app.t.query(internal.lib.limits.crowd.held, { crowd: "moving", now: Date.now() })).length;
  const client = new AbortController();
  const body = JSON.stringify({ userId, messengerChatId: "-7" });
  const ended = app.t
    .withRequestMetadata({ ip: "192.0.2.1", userAgent: null })
    .fetch("/user/messenger", { method: "POST", body, signal: client.signal })
    .catch(String);
  await app.advance(12_000);
  expect(await held()).toBe(1);
  client.abort();
  await app.advance(6_000);
  expect(await held()).toBe(0);
  expect(await ended).toContain("its client has hung up");
});
