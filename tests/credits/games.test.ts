import { afterEach, describe, expect, test, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { closeApp, createApp } from "../support/app";
import { browserOf } from "../web/support";

afterEach(closeApp);

async function player(subject = "alice", app = createApp()) {
  const browser = browserOf(app, subject);
  await browser.mutation(api.users.profile.signIn, {});
  const open = async () => (await browser.mutation(api.credits.app.openGame, {})).sessionId;
  const finish = (sessionId: Awaited<ReturnType<typeof open>>, levelReached: number) =>
    browser.mutation(api.credits.app.finishGame, { sessionId, levelReached });
  const balance = async () => (await browser.query(api.credits.app.balance, {})).balance;
  return { app, open, finish, balance };
}

const failsWith = (code: string) => ({ data: { code } });

describe("an arcade game", () => {
  test("earns 100 credits a level, as a deposit from the arcade, once", async () => {
    const { app, open, finish, balance } = await player();
    const game = await open();
    const outcome = { levelReached: 7, creditsEarned: 700, credited: 700 };
    const all = await Promise.all([finish(game, 7), finish(game, 7), finish(game, 7)]);
    expect(all).toEqual([outcome, outcome, outcome]);
    await expect(finish(game, 8)).rejects.toMatchObject(failsWith("conflict"));
    expect(await balance()).toBe(700);
    expect(await app.rows("creditTransactions")).toMatchObject([
      { type: "deposit", source: "arcade", amount: 700 },
    ]);
  });

  test("earns nothing for level 0, and leaves no row", async () => {
    const { app, open, finish } = await player();
    expect(await finish(await open(), 0)).toMatchObject({ credited: 0 });
    expect(await app.rows("creditTransactions")).toEqual([]);
  });

  test.each([-1, 51, 1.5, Number.NaN])("has no level %s", async (level) => {
    const { open, finish } = await player();
    await expect(finish(await open(), level)).rejects.toMatchObject(failsWith("invalid_request"));
  });

  test("is its player's alone, and over after two hours", async () => {
    const alice = await player();
    const game = await alice.open();
    const mallory = await player("mallory", alice.app);
    await expect(mallory.finish(game, 1)).rejects.toMatchObject(failsWith("not_found"));
    vi.setSystemTime(Date.now() + 2 * 3_600_000 + 1);
    await expect(alice.finish(game, 1)).rejects.toMatchObject(failsWith("conflict"));
  });

  test("earns at most 10,000 credits on a UTC day", async () => {
    const { open, finish, balance } = await player();
    for (const level of [50, 49]) await finish(await open(), level);
    expect(await finish(await open(), 50)).toEqual({ levelReached: 50, creditsEarned: 5_000, credited: 100 });
    expect(await finish(await open(), 50)).toMatchObject({ credited: 0 });
    expect(await balance()).toBe(10_000);
    vi.setSystemTime(Date.UTC(2026, 0, 6, 0, 0, 1));
    expect(await finish(await open(), 1)).toMatchObject({ credited: 100 });
  });
});
