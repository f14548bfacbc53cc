import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { test, type App } from "../support/app";

/** On the platform a client that hangs up ends its handler where it stands: what it held comes back by itself. */

const SECOND = 1_000;

const held = async ({ t }: App) =>
  (await t.query(internal.lib.limits.crowd.held, { crowd: "asking", now: Date.now() })).length;

/** Sixty addresses ask for a snapshot that nobody gives. */
async function crowd(app: App): Promise<{ hangUp: () => void; ends: Promise<unknown[]> }> {
  app.standins.fail("llm", { mode: "hang" });
  const clients = Array.from({ length: 60 }, () => new AbortController());
  const ends = clients.map(async ({ signal }, n) => {
    const from = app.t.withRequestMetadata({ ip: `192.0.2.${n}`, userAgent: null });
    return from.fetch("/mcp/market", { signal }).then(
      ({ status }) => status,
      (error: unknown) => String(error),
    );
  });
  await app.advance(SECOND);
  return { hangUp: () => clients.forEach((client) => client.abort()), ends: Promise.all(ends) };
}

test("who waits keeps their place as long as they wait", async ({ app }) => {
  const { ends } = await crowd(app);
  const most = await held(app);
  expect(most).toBeGreaterThan(20);
  for (let n = 0; n < 5; n++) {
    await app.advance(4 * SECOND);
    expect(await held(app)).toBe(most);
  }
  await app.advance(10 * SECOND);
  expect(await held(app)).toBe(0);
  expect(await app.rows("crowdPlaces")).toEqual([]);
  expect(new Set(await ends)).toEqual(new Set([502]));
});

test("the places of sixty who hang up are free within seconds, and their handlers do nothing more", async ({
  app,
}) => {
  const { hangUp, ends } = await crowd(app);
  const rows = await app.rows("crowdPlaces");
  expect(rows.length).toBeGreaterThan(20);
  hangUp();
  await app.advance(2 * SECOND);
  // None has given its place back, nor held it longer.
  expect(await app.rows("crowdPlaces")).toEqual(rows);
  await app.advance(4 * SECOND);
  expect(await held(app)).toBe(0);
  const told = await ends;
  expect(told.filter((one) => String(one).includes("its client has hung up"))).toHaveLength(rows.length);

  const newcomers = Array.from({ length: 20 }, (_, n) =>
    app.t.withRequestMetadata({ ip: `198.51.100.${n}`, userAgent: null }).fetch("/mcp/market"),
  );
  await app.advance(SECOND);
  expect(await held(app)).toBe(newcomers.length);
  await app.during(Promise.all(newcomers));
});
