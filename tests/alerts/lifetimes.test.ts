import { expect, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import type { Id } from "../../convex/_generated/dataModel";
import { toChatUser } from "../../convex/messenger/model";
import { START, type App, test } from "../support/app";
import { browserOf } from "../support/browser";
import { ask, DAY, HOUR, MINUTE, priced, proposed, setAlert, tick } from "./support";

/** How many alerts somebody may have, for how long, and whose they are. */

const MOST = "At most 20 alerts can be active: switch one off first";

/** What the service says to one more, which has been proposed. */
async function oneMore(app: App, userId: string, init = {}): Promise<[number, unknown]> {
  const { alertId } = proposed.parse((await ask(app, "BTC above 300", userId, init)).body).alert;
  const { status, body } = await app.post("/alerts/confirm", { userId, alertId }, init);
  return [status, body["error"]];
}

/** As many more of a user's alerts as that one, at other levels. */
async function copies(app: App, alertId: string, count: number): Promise<void> {
  await app.t.run(async ({ db }) => {
    const id = db.normalizeId("alerts", alertId);
    const row = id === null ? null : await db.get("alerts", id);
    if (row === null) throw new Error("There is such an alert");
    const { _id, _creationTime, ...alert } = row;
    for (let i = 1; i <= count; i++) await db.insert("alerts", { ...alert, level: alert.level + i });
  });
}

test("five of a stranger, twenty of a signed-in user, and what a linked chat had besides: all of it, with what has fired", async ({
  app,
}) => {
  await copies(app, await setAlert(app, "BTC above 200", "bob"), 4);
  expect(await oneMore(app, "bob")).toEqual([
    409,
    "At most 5 alerts can be active: switch one off first, or sign in for up to 20",
  ]);
  const [first] = (await app.rows("alerts")).filter(({ userId }) => userId === "bob");
  await app.post("/alerts/off", { userId: "bob", alertId: first?._id });
  expect(await oneMore(app, "bob")).toEqual([200, undefined]);

  const { userId } = await browserOf(app, "alice").mutation(api.accounts.profile.signIn, {});
  const init = { as: "alice" };
  await copies(app, await setAlert(app, "BTC above 200", userId, init), 19);
  expect(await oneMore(app, userId, init)).toEqual([409, MOST]);

  const chat = toChatUser("42");
  const propose = async (levelUsd: number): Promise<Id<"alerts">> => {
    const condition = { kind: "price", token: "BTC", direction: "above", levelUsd } as const;
    return (
      await app.t.mutation(internal.alerts.proposals.storeProposal, {
        ...{ userId: chat, condition, asksOwner: false },
      })
    )._id;
  };
  for (let i = 0; i < 4; i++)
    await app.t.mutation(internal.alerts.proposals.accept, { userId: chat, alertId: await propose(110 + i) });
  await propose(120);
  await priced(app, START + MINUTE, 100);
  await priced(app, START + 4 * MINUTE, 115);
  await tick(app);
  await app.t.mutation(internal.alerts.proposals.adoptAlerts, { from: chat, to: userId });
  const listed = await app.t.query(internal.alerts.proposals.listAlerts, { userId });
  const rows = listed.map(({ alert }) => alert);
  expect(rows.filter(({ state }) => state === "active")).toHaveLength(24);
  expect(rows.filter(({ state }) => state === "proposed")).toHaveLength(2);
  expect((await app.rows("alertFirings")).map((row) => row.userId)).toEqual(Array(4).fill(userId));
  const last = rows.find(({ level }) => level === 113);
  const off = await app.post("/alerts/off", { userId, alertId: last?._id }, init);
  expect(off.body).toMatchObject({ alert: { state: "off" } });
});

test("an alert ends after 30 days, or 90 of a signed-in user, and says so then; a yes before keeps it; one may fire once, or until a moment", async ({
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
    ["777", [[{ text: "Set again", callback_data: expect.stringMatching(/^alert again /) }]]],
  ]);
  await priced(app, START + 31 * DAY, 100);
  const set = async (userId: string, choice: object) => {
    const { status, body } = await app.post("/alerts", { userId, text: "BTC above 110", ...choice });
    if (status !== 200) return status;
    const { alertId } = proposed.parse(body).alert;
    return (await app.post("/alerts/confirm", { userId, alertId })).status;
  };
  const until = (hours: number) => new Date(START + 31 * DAY + hours * HOUR).toISOString();
  expect(await set("carol", { once: true })).toBe(200);
  expect(await set("dave", { until: until(2) })).toBe(200);
  expect(await set("dave", { until: until(-1) })).toBe(400);
  for (const hours of [1, 3]) {
    await priced(app, START + 31 * DAY + hours * HOUR, 100);
    await priced(app, START + 31 * DAY + hours * HOUR + 2 * MINUTE, 130);
    await tick(app);
  }
  expect((await app.rows("alerts")).map(({ state, fired }) => [state, fired])).toEqual([
    ["active", 2],
    ["active", 2],
    ["off", 0],
    ["off", 1],
    ["off", 1],
  ]);
});

test("what was asked is what stands: another end makes a proposal that takes the place of the alert, and a retry changes none", async ({
  app,
}) => {
  const propose = async (fields: object) => {
    const { status, body } = await app.post("/alerts", { userId: "alice", text: "BTC above 200", ...fields });
    expect(status).toBe(200);
    return proposed.parse(body).alert;
  };
  const confirm = async (alertId: string) =>
    (await app.post("/alerts/confirm", { userId: "alice", alertId })).body["alert"];
  const until = new Date(START + 3 * DAY).toISOString();

  const plain = await propose({});
  expect(await propose({ once: true })).toMatchObject({ alertId: plain.alertId, once: true });
  expect(await propose({ once: false })).toMatchObject({ alertId: plain.alertId, once: false });
  await confirm(plain.alertId);
  expect(await propose({})).toMatchObject({ alertId: plain.alertId, state: "active" });
  const ending = await propose({ once: true, until });
  expect(ending).toMatchObject({ state: "proposed", once: true, expiresAt: until });
  expect(ending.alertId).not.toBe(plain.alertId);
  // The alert goes on until its user has said yes.
  expect(await propose({})).toMatchObject({ alertId: plain.alertId, state: "active", once: false });
  expect(await confirm(ending.alertId)).toMatchObject({ state: "active", once: true, expiresAt: until });
  expect(await confirm(ending.alertId)).toMatchObject({ state: "active", once: true, expiresAt: until });
  expect(await propose({ once: true, until })).toMatchObject({ alertId: ending.alertId, state: "active" });
  const states = (await app.rows("alerts")).map(({ _id, state }) => [_id, state]);
  expect(states).toEqual([
    [plain.alertId, "off"],
    [ending.alertId, "active"],
  ]);
});
