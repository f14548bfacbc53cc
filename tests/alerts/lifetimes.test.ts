import { describe, expect, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { chatUser } from "../../convex/messenger/model";
import { START, type App, test } from "../support/app";
import { browserOf } from "../support/browser";
import { ask, DAY, HOUR, MINUTE, priced, proposed, setAlert, tick } from "./support";

/** How many alerts somebody may have, for how long, and whose they are. */

/** What the service says to one more, which has been proposed. */
async function oneMore(app: App, text: string, userId: string, init = {}): Promise<[number, unknown]> {
  const { alertId } = proposed.parse((await ask(app, text, userId, init)).body).alert;
  const { status, body } = await app.post("/alerts/confirm", { userId, alertId }, init);
  return [status, body["error"]];
}

describe("active alerts", () => {
  test("are twenty of a signed-in user, and five of a stranger", async ({ app }) => {
    const { userId } = await browserOf(app, "alice").mutation(api.accounts.profile.signIn, {});
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

  test("are proposed at most sixty times an hour by one user", async ({ app }) => {
    const statuses = [];
    for (let i = 0; i < 62; i++) statuses.push((await ask(app, `BTC above ${200 + i}`)).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  });

  test("end after 30 days, or 90 of a signed-in user, and say so then; a yes before keeps them", async ({
    app,
  }) => {
    await app.post("/user/messenger", { userId: "alice", messengerChatId: "777" });
    const { userId } = await browserOf(app, "bob").mutation(api.accounts.profile.signIn, {});
    await setAlert(app, "BTC above 110", userId, { as: "bob" });
    const kept = await setAlert(app, "BTC above 110");
    await setAlert(app, "BTC above 120");
    vi.setSystemTime(START + 20 * DAY);
    await app.post("/alerts/confirm", { userId: "alice", alertId: kept });
    vi.setSystemTime(START + 30 * DAY + MINUTE);
    await tick(app);
    await tick(app);
    await app.settle();
    const ended = app.cards().filter(({ text }) => text.includes("has ended"));
    expect(ended.map(({ chatId, keyboard }) => [chatId, keyboard])).toEqual([
      ["777", [[{ text: "Set again", callback_data: "alert BTC above 120" }]]],
    ]);
    await priced(app, START + 31 * DAY, 100);
    await priced(app, START + 31 * DAY + 2 * MINUTE, 130);
    await tick(app);
    expect((await app.rows("alerts")).map(({ state, fired }) => [state, fired])).toEqual([
      ["active", 1],
      ["active", 1],
      ["off", 0],
    ]);
  });

  test("fire once, or until a moment, where their user wants that", async ({ app }) => {
    const set = async (choice: object) => {
      const { body } = await app.post("/alerts", { userId: "alice", text: "BTC above 110", ...choice });
      const { alertId } = proposed.parse(body).alert;
      await app.post("/alerts/confirm", { userId: "alice", alertId });
      return alertId;
    };
    const crossings = async (hours: readonly number[]) => {
      for (const hour of hours) {
        await priced(app, START + hour * HOUR, 100);
        await priced(app, START + hour * HOUR + 2 * MINUTE, 120);
        await tick(app);
      }
    };
    const once = await set({ once: true });
    await crossings([2, 4]);
    const until = await set({ until: new Date(START + 9 * HOUR).toISOString() });
    await crossings([6, 8]);
    vi.setSystemTime(START + 10 * HOUR);
    await tick(app);
    await crossings([12]);
    const fired = Object.fromEntries((await app.rows("alerts")).map((row) => [row._id, row]));
    expect(fired[once]).toMatchObject({ state: "off", fired: 1 });
    expect(fired[until]).toMatchObject({ state: "off", fired: 2 });
    const past = { userId: "alice", text: "BTC above 110", until: new Date(START).toISOString() };
    expect((await app.post("/alerts", past)).status).toBe(400);
  });

  test("of a chat are its user's when it is linked: all of them, proposals, and what has fired", async ({
    app,
  }) => {
    const { userId } = await browserOf(app, "alice").mutation(api.accounts.profile.signIn, {});
    for (let i = 0; i < 18; i++) await setAlert(app, `BTC above ${200 + i}`, userId, { as: "alice" });
    const chat = chatUser("42");
    const propose = (level: number) =>
      app.t.action(async (ctx) => {
        const condition = { kind: "price", token: "BTC", direction: "above", levelUsd: level } as const;
        const args = { userId: chat, condition };
        return ctx.runMutation(internal.alerts.model.propose, args);
      });
    for (let i = 0; i < 4; i++) {
      const { _id: alertId } = await propose(110 + i);
      await app.t.mutation(internal.alerts.model.accept, { userId: chat, alertId });
    }
    await propose(120);
    await priced(app, START + MINUTE, 100);
    await priced(app, START + 4 * MINUTE, 115);
    await tick(app);
    await app.t.mutation(internal.alerts.model.adopt, { from: chat, to: userId });
    const rows = await app.t.query(internal.alerts.model.all, { userId });
    expect(rows.filter(({ state }) => state === "active")).toHaveLength(22);
    expect(rows.filter(({ state }) => state === "proposed")).toHaveLength(1);
    expect((await app.rows("alertFirings")).map((row) => row.userId)).toEqual([
      userId,
      userId,
      userId,
      userId,
    ]);
    const [last] = rows.filter(({ condition }) => "levelUsd" in condition && condition.levelUsd === 113);
    const off = await app.post("/alerts/off", { userId, alertId: last?._id }, { as: "alice" });
    expect(off.body).toMatchObject({ alert: { state: "off" } });
  });
});
