import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { createApp, test } from "../support/app";
import { browserOf } from "../web/support";

async function player(subject = "alice", app = createApp()) {
  const browser = browserOf(app, subject);
  await browser.mutation(api.accounts.profile.signIn, {});
  const open = async () => (await browser.mutation(api.credits.app.openGame, {})).sessionId;
  /** Ends a game, after as long as its levels take. */
  const finish = (sessionId: Awaited<ReturnType<typeof open>>, levelReached: number) => {
    vi.setSystemTime(Date.now() + Math.max(0, Math.min(levelReached, 50)) * 15_000);
    return end(sessionId, levelReached);
  };
  const end = (sessionId: Awaited<ReturnType<typeof open>>, levelReached: number) =>
    browser.mutation(api.credits.app.finishGame, { sessionId, levelReached });
  const balance = async () => (await browser.query(api.credits.app.balance, {})).balance;
  return { app, browser, open, finish, end, balance };
}

const failsWith = (code: string) => ({ data: { code } });

describe("an arcade game", () => {
  test("earns 100 credits a level, as a deposit from the arcade, once", async () => {
    const { app, open, finish, balance } = await player();
    const game = await open();
    const outcome = { levelReached: 4, creditsEarned: 400, credited: 400 };
    const all = await Promise.all([finish(game, 4), finish(game, 4), finish(game, 4)]);
    expect(all).toEqual([outcome, outcome, outcome]);
    await expect(finish(game, 8)).rejects.toMatchObject(failsWith("conflict"));
    expect(await balance()).toBe(400);
    expect(await app.rows("creditTransactions")).toMatchObject([
      { type: "deposit", source: "arcade", amount: 400 },
    ]);
  });

  test("says before it is played what it may earn, and afterwards why it earned less", async () => {
    const { browser, open, finish, end, balance } = await player();
    const first = await browser.mutation(api.credits.app.openGame, {});
    expect(first).toMatchObject({
      ...{ maxLevel: 50, secondsPerLevel: 15, creditsPerLevel: 100 },
      ...{ creditsLeftToday: 500, dailyCap: 500 },
    });
    vi.setSystemTime(Date.now() + 31_000);
    await expect(end(first.sessionId, 7)).rejects.toMatchObject({
      data: { message: expect.stringMatching(/at least 15 seconds, so level 3 is the highest now$/) },
    });
    expect(await end(first.sessionId, 3)).toEqual({ levelReached: 3, creditsEarned: 300, credited: 300 });
    const second = await browser.mutation(api.credits.app.openGame, {});
    expect(second.creditsLeftToday).toBe(200);
    const outcome = {
      ...{ levelReached: 20, creditsEarned: 2_000, credited: 200 },
      less: "Games earn at most 500 credits in a UTC day, and 200 of these were left",
    };
    expect(await finish(second.sessionId, 20)).toEqual(outcome);
    expect(await end(second.sessionId, 20)).toEqual(outcome);
    const third = await browser.mutation(api.credits.app.openGame, {});
    expect(third.creditsLeftToday).toBe(0);
    expect(await finish(third.sessionId, 50)).toMatchObject({ creditsEarned: 5_000, credited: 0 });
    expect(await balance()).toBe(500);
    vi.setSystemTime(Date.UTC(2026, 0, 6, 0, 0, 1));
    expect(await finish(await open(), 1)).toMatchObject({ credited: 100 });
  });

  test("has no level that could not be reached in its time, and goes on", async () => {
    const { open, end, balance } = await player();
    const game = await open();
    await expect(end(game, 50)).rejects.toMatchObject(failsWith("invalid_request"));
    vi.setSystemTime(Date.now() + 44_999);
    await expect(end(game, 4)).rejects.toMatchObject(failsWith("invalid_request"));
    vi.setSystemTime(Date.now() + 1);
    expect(await end(game, 4)).toMatchObject({ credited: 400 });
    expect(await balance()).toBe(400);
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
});
