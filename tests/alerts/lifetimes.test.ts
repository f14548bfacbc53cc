import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { START, type App, test } from "../support/app";
import { browserOf } from "../web/support";
import { receiver, addWebhook } from "../messenger/receivers";
import { ask, DAY, MINUTE, priced, proposed, setAlert, tick } from "./support";

/** How many alerts somebody may have, and for how long. */

/** What the service says to one more, which has been proposed. */
async function oneMore(app: App, text: string, userId: string, init = {}): Promise<[number, unknown]> {
  const { alertId } = proposed.parse((await ask(app, text, userId, init)).body).alert;
  const { status, body } = await app.post("/alerts/confirm", { userId, alertId }, init);
  return [status, body["error"]];
}

describe("active alerts", () => {
  test("are twenty of a signed-in user, and five of a stranger", async ({ app }) => {
    const { userId } = await browserOf(app, "alice").mutation(api.users.profile.signIn, {});
    for (let i = 0; i < 20; i++) await setAlert(app, `BTC above ${200 + i}`, userId, { as: "alice" });
    expect(await oneMore(app, "BTC above 300", userId, { as: "alice" })).toEqual([
      409,
      "At most 20 alerts can be active: switch one off first",
    ]);
    for (let i = 0; i < 5; i++) await setAlert(app, `BTC above ${200 + i}`, "bob");
    expect(await oneMore(app, "BTC above 300", "bob")).toEqual([
      409,
      "At most 5 alerts can be active: switch one off first; a signed-in user can have 20",
    ]);
    const [first] = (await app.rows("alerts")).filter((row) => row.userId === "bob");
    await app.post("/alerts/off", { userId: "bob", alertId: first?._id });
    expect(await oneMore(app, "BTC above 300", "bob")).toEqual([200, undefined]);
  });

  test("of strangers at one network address are twenty, whatever names they take", async ({ app }) => {
    const from = { ip: "203.0.113.7" };
    for (let i = 0; i < 20; i++)
      await setAlert(app, `BTC above ${200 + i}`, `name-${Math.floor(i / 4)}`, from);
    expect(await oneMore(app, "BTC above 300", "name-9", from)).toEqual([
      409,
      "At most 20 alerts can be active that were set from one network address without signing in",
    ]);
    expect(await oneMore(app, "BTC above 300", "name-9", { ip: "203.0.113.8" })).toEqual([200, undefined]);
    const { userId } = await browserOf(app, "alice").mutation(api.users.profile.signIn, {});
    expect(await oneMore(app, "BTC above 300", userId, { ...from, as: "alice" })).toEqual([200, undefined]);
    expect(JSON.stringify(await app.rows("alerts"))).not.toContain("203.0.113");
  });

  test("are proposed at most sixty times an hour by one user", async ({ app }) => {
    const statuses = [];
    for (let i = 0; i < 62; i++) statuses.push((await ask(app, `BTC above ${200 + i}`)).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  });

  test("end after 90 days where somebody has signed in for their user", async ({ app }) => {
    const { userId } = await browserOf(app, "alice").mutation(api.users.profile.signIn, {});
    await setAlert(app, "BTC above 110", userId, { as: "alice" });
    expect((await app.rows("alerts"))[0]?.expiresAt).toBeCloseTo(START + 90 * DAY, -5);
  });

  test("end after 30 days; a week before, another yes of their user keeps them", async ({ app }) => {
    const posted = receiver(() => new Response());
    await app.post("/user/messenger", { userId: "alice", messengerChatId: "777" });
    await addWebhook(app);
    const kept = await setAlert(app, "BTC above 110");
    await setAlert(app, "BTC above 120");
    const states = async () => (await app.rows("alerts")).map(({ state, expiresAt }) => [state, expiresAt]);
    const END = START + 30 * DAY;
    expect(await states()).toEqual([
      ["active", expect.closeTo(END, -5)],
      ["active", expect.closeTo(END, -5)],
    ]);
    const endings = () => app.cards().filter(({ text }) => text.includes("ends soon"));
    vi.setSystemTime(END - 8 * DAY);
    await tick(app);
    expect(endings()).toEqual([]);
    for (const day of [7, 6, 5]) {
      vi.setSystemTime(END - day * DAY + MINUTE);
      await tick(app);
      await tick(app);
      await app.settle();
    }
    expect(endings().map(({ chatId, text }) => [chatId, /BTC at \S+/.exec(text)?.[0]])).toEqual([
      ["777", "BTC at $110"],
      ["777", "BTC at $120"],
    ]);
    const [first] = endings();
    expect(first?.text).toContain("It ends on 4 Feb 2026");
    expect(first?.keyboard).toEqual([[{ text: "Keep it", callback_data: `alert set ${kept}` }]]);
    expect(posted).toEqual([]);
    const { body } = await app.post("/alerts/confirm", { userId: "alice", alertId: kept });
    const until = new Date(Date.now() + 30 * DAY).toISOString().slice(0, 10);
    expect(body["alert"]).toMatchObject({ state: "active", expiresAt: expect.stringContaining(until) });
    vi.setSystemTime(END + DAY);
    await tick(app);
    expect((await states()).map(([state]) => state)).toEqual(["active", "off"]);
    await priced(app, END + 2 * DAY, 100);
    await priced(app, END + 2 * DAY + 2 * MINUTE, 130);
    await tick(app);
    expect((await app.rows("alertFirings")).map(({ alertId }) => alertId)).toEqual([kept]);
  });

  test("get their notice after an outage too, and a week behind it; those of an earlier version begin to count", async ({
    app,
  }) => {
    const late = await setAlert(app, "BTC above 110");
    const older = await setAlert(app, "BTC above 120");
    await app.t.run(async ({ db }) => {
      const id = db.normalizeId("alerts", older);
      if (id !== null) await db.patch("alerts", id, { expiresAt: undefined, reviewAt: undefined });
    });
    await tick(app);
    const row = async (id: string) => (await app.rows("alerts")).find(({ _id }) => _id === id);
    expect((await row(older))?.expiresAt).toBeCloseTo(START + 30 * DAY, -5);
    const back = START + 40 * DAY;
    vi.setSystemTime(back);
    await tick(app);
    expect(await row(late)).toMatchObject({ state: "active", expiresAt: expect.closeTo(back + 7 * DAY, -5) });
    vi.setSystemTime(back + 7 * DAY + MINUTE);
    await tick(app);
    expect(await row(late)).toMatchObject({ state: "off" });
  });
});
