import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { test } from "../support/app";
import { identityOf } from "../support/world";

/** Who is asking: what strangers use up in somebody's name, and what they are told of what is left. */

describe("a signed-in user's limits", () => {
  test("are not what strangers use up of what the id alone may", async ({ app }) => {
    const { userId } = await app.t.withIdentity(identityOf("alice")).mutation(api.users.profile.signIn, {});
    const ask = (by: { as?: string; ip: string }, id = userId) =>
      app.post("/mcp/chat", { question: "And now?", userId: id }, by);
    const answers = [];
    for (let i = 0; i < 25; i++) answers.push(await ask({ ip: `198.51.100.${i}` }));
    const refused = answers.filter(({ status }) => status !== 200);
    // A small part of what its owner has.
    expect(answers.length - refused.length).toBe(18);
    for (const { status } of refused) expect(status).toBe(429);
    for (let i = 0; i < 25; i++) expect((await ask({ as: "alice", ip: "192.0.2.1" })).status).toBe(200);
    expect((await ask({ ip: "198.51.100.1" }, "somebody-else-at-that-address")).status).toBe(200);
  });

  test("are theirs whatever they name", async ({ app }) => {
    await app.t.withIdentity(identityOf("mallory")).mutation(api.users.profile.signIn, {});
    const statuses: number[] = [];
    for (let i = 0; i < 80; i++) {
      const body = { userId: `somebody-${i}`, messengerChatId: "42" };
      statuses.push(
        (await app.post("/user/messenger", body, { as: "mallory", ip: `198.51.100.${i}` })).status,
      );
    }
    expect(statuses.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 200));
    expect(statuses).toContain(429);
  });
});

test("no answer is kept by anybody on the way, or taken for what it is not", async ({ app }) => {
  for (const { headers } of [
    await app.get("/mcp/research/status?userId=somebody-with-a-long-id"),
    await app.get("/mcp/research/status"),
    await app.get("/nowhere"),
  ]) {
    expect([headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
      "no-store",
      "nosniff",
    ]);
  }
});

test("more strangers than can be kept waiting get the last answer or are told to come back, and ask nobody", async ({
  app,
}) => {
  app.standins.fail("llm", { mode: "slow", ms: 20_000 });
  const ask = (ip: string) => app.get("/mcp/market", { ip });
  const crowd = Array.from({ length: 40 }, () => ask("192.0.2.1"));
  const others = Array.from({ length: 60 }, (_, i) => ask(`198.51.100.${i}`));
  const statuses = await Promise.all([...crowd, ...others].map(async (answer) => (await answer).status));
  const servedOf = (some: readonly number[]) => some.filter((status) => status === 200).length;
  expect(new Set(statuses)).toEqual(new Set([200, 502]));
  expect(servedOf(statuses)).toBe(26);
  // Of the places one address has a tenth.
  expect(servedOf(statuses.slice(0, crowd.length))).toBe(2);
  expect(app.standins.sent("llm")).toHaveLength(1);
});
