import { expect } from "vitest";
import * as z from "zod";
import { emitToOwner } from "../../convex/messenger/webhooks/events";
import { HOUR, test, wait } from "../signals/support";
import type { App } from "../support/app";
import { addWebhook, receiver } from "./receivers";

/** The events that a user's programs may have missed, to be read. */

/** A page of alice's events. */
async function eventsOf(app: App, query = "") {
  const shape = z.object({ events: z.array(z.object({ id: z.string() })), next: z.string().nullable() });
  return shape.parse((await app.get(`/webhooks/events?userId=alice${query}`)).body);
}

test("an event is read ten seconds after it was written, when no transaction that began before it is open", async ({
  app,
}) => {
  receiver();
  await addWebhook(app);
  await app.t.run((ctx) => emitToOwner(ctx, "alice", "report.ready", {}));
  expect(await eventsOf(app)).toEqual({ events: [], next: null });
  await wait(app, 11_000);
  expect((await eventsOf(app)).events).toHaveLength(1);
});

test("the events of the last seven days are read page after page without repeats, in a user's own order", async ({
  app,
}) => {
  receiver();
  await addWebhook(app);
  await app.t.run(async (ctx) => {
    for (let n = 0; n < 120; n++) await emitToOwner(ctx, "alice", "report.ready", { n });
    await emitToOwner(ctx, "bob", "report.ready", {});
  });
  await wait(app, 11_000);
  const page = (query = "") => eventsOf(app, query);
  const first = await page();
  const second = await page(`&since=${first.next}`);
  expect([first.events.length, second.events.length, second.next]).toEqual([100, 20, null]);
  expect(new Set([...first.events, ...second.events].map(({ id }) => id)).size).toBe(120);
  expect((await page(`&since=${new Date(Date.now() + 1_000).toISOString()}`)).events).toEqual([]);
  for (const since of ["2026-01-05", "next"])
    expect((await app.get(`/webhooks/events?userId=alice&since=${since}`)).body["error"]).toMatch(
      /^since must be an ISO 8601 time with a zone/,
    );
  await wait(app, 8 * 24 * HOUR);
  expect((await page()).events).toEqual([]);
});
