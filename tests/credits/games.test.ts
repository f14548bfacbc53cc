import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { createApp, test } from "../support/app";
import { browserOf } from "../support/browser";

async function player(subject = "alice", app = createApp()) {
  const browser = browserOf(app, subject);
  await browser.mutation(api.accounts.profile.signIn, {});
  const open = () => browser.mutation(api.credits.app.openGame, {});
  const finish = ({ sessionId }: Awaited<ReturnType<typeof open>>, levelReached: number) =>
    browser.mutation(api.credits.app.finishGame, { sessionId, levelReached });
  const balance = async () => (await browser.query(api.credits.app.balance, {})).balance;
  return { app, open, finish, balance };
}

const failsWith = (code: string) => ({ data: { code } });

describe("an arcade game", () => {
  test("earns 100 credits a level, as a deposit from the arcade, once", async () => {
    const { app, open, finish, balance } = await player();
    const game = await open();
    expect(game).toMatchObject({ maxLevel: 50, creditsPerLevel: 100, creditsLeftToday: 500 });
    const outcome = { levelReached: 4, creditsEarned: 400, credited: 400 };
    const all = await Promise.all([finish(game, 4), finish(game, 4), finish(game, 4)]);
    expect(all).toEqual([outcome, outcome, outcome]);
    await expect(finish(game, 8)).rejects.toMatchObject(failsWith("conflict"));
    expect(await balance()).toBe(400);
    expect(await app.rows("creditTransactions")).toMatchObject([
      { type: "deposit", source: "arcade", amount: 400 },
    ]);
  });

  test("earns at most 500 credits in a UTC day", async () => {
    const { open, finish, balance } = await player();
    const games = await Promise.all([open(), open(), open()]);
    const ends = await Promise.all(games.map((game, i) => finish(game, [3, 20, 50][i] ?? 0)));
    expect(ends.reduce((sum, { credited }) => sum + credited, 0)).toBe(500);
    expect(ends.map(({ creditsEarned }) => creditsEarned)).toEqual([300, 2_000, 5_000]);
    const late = await open();
    expect(late.creditsLeftToday).toBe(0);
    expect(await finish(late, 20)).toEqual({ levelReached: 20, creditsEarned: 2_000, credited: 0 });
    expect(await balance()).toBe(500);
    vi.setSystemTime(Date.UTC(2026, 0, 6, 0, 0, 1));
    expect(await finish(await open(), 1)).toMatchObject({ credited: 100 });
  });

  test("is its player's alone, and earns nothing for level 0 or what is no level", async () => {
    const alice = await player();
    const mallory = await player("mallory", alice.app);
    await expect(mallory.finish(await alice.open(), 1)).rejects.toMatchObject(failsWith("not_found"));
    for (const level of [-1, 51, 1.5, Number.NaN])
      await expect(alice.finish(await alice.open(), level)).rejects.toMatchObject(
        failsWith("invalid_request"),
      );
    expect(await alice.finish(await alice.open(), 0)).toMatchObject({ credited: 0 });
    expect(await alice.app.rows("creditTransactions")).toEqual([]);
  });
});
