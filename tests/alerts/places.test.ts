import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { START, type App, test } from "../support/app";
import { browserOf } from "../web/support";
import { addWebhook, fired, pass, receiver, silence, type Posted } from "./receivers";
import { DAY, HOUR, MINUTE, priced, setAlert, tick } from "./support";

/** Webhooks share the places of one job: nobody's silence is another's wait. */

/** Several users with an alert on the same level, and their webhooks. */
async function usersWith(app: App, urls: Readonly<Record<string, readonly string[]>>): Promise<void> {
  for (const [userId, own] of Object.entries(urls)) {
    for (const url of own) await addWebhook(app, url, userId);
    await setAlert(app, "BTC above 110", userId);
  }
}

/** Somebody who has signed in, with an alert on the same level and webhooks. */
async function signedInWith(app: App, name: string, urls: readonly string[]): Promise<void> {
  const person = browserOf(app, name);
  await person.mutation(api.users.profile.signIn, {});
  for (const url of urls) await app.during(person.action(api.messenger.webhooks.desk.add, { url }));
  const { alert } = await app.during(person.action(api.alerts.desk.propose, { text: "BTC above 110" }));
  await person.mutation(api.alerts.app.accept, { alertId: alert.alertId });
}

async function crosses(app: App): Promise<void> {
  await priced(app, Date.now() + MINUTE, 100);
  await priced(app, Date.now() + 2 * MINUTE, 120);
  await tick(app);
  await tick(app);
}

const pathsAt = (posted: readonly Posted[], host: string) =>
  posted.filter(({ url }) => new URL(url).host === `${host}.example.com`);

describe("webhooks", () => {
  test("that answers slowly and has much to come keeps no other waiting", async ({ app }) => {
    const posted = receiver(({ url }) => {
      if (url.includes("slow")) vi.setSystemTime(Date.now() + 9_000);
      return new Response();
    });
    await addWebhook(app, "https://slow.example.com/");
    await fired(app);
    const [one] = await app.rows("webhookPosts");
    if (one === undefined) throw new Error("Nothing was posted");
    const { _id, _creationTime, ...row } = one;
    await app.t.run(async (ctx) => {
      for (let i = 0; i < 230; i++)
        await ctx.db.insert("webhookPosts", { ...row, state: "due", tries: 0, dueAt: START + i });
    });
    await addWebhook(app, "https://honest.example.com/", "bob");
    await setAlert(app, "BTC above 125", "bob");
    await priced(app, Date.now() + MINUTE, 100);
    await priced(app, Date.now() + 2 * MINUTE, 130);
    await tick(app);
    await tick(app);
    expect(posted.filter(({ url }) => url.includes("honest"))).toHaveLength(1);
    expect(posted.filter(({ url }) => url.includes("slow")).length).toBeLessThan(20);
  });

  test("at a host that is silent hold four places, which others do not wait for", async ({ app }) => {
    const posted = receiver(({ url, signal }) => (url.includes("silent") ? silence(signal) : new Response()));
    const at = (host: string, user: number) =>
      [1, 2, 3].map((n) => `https://${host}.example.com/${user}-${n}`);
    await usersWith(app, { a: at("silent", 1), b: at("silent", 2), c: at("quick", 1), d: at("quick", 2) });
    await crosses(app);
    expect(pathsAt(posted, "silent")).toHaveLength(4);
    await app.advance(25_000);
    const order = posted.map(({ url }) => new URL(url).host.split(".")[0]);
    // The last quick ones leave while the first silent ones are still waited for.
    expect(order.slice(-2)).toEqual(["silent", "silent"]);
    expect(order).toHaveLength(12);
    const states = (await app.rows("webhookPosts")).map(({ state, outcome }) => `${state}: ${outcome}`);
    expect(states.toSorted()).toEqual([
      ...Array.from({ length: 6 }, () => "delivered: Delivered"),
      ...Array.from({ length: 6 }, () => "due: It does not answer in time"),
    ]);
  });

  test("of strangers hold half of the places at most, at however many hosts: signed-in users' posts leave at once", async ({
    app,
  }) => {
    const posted = receiver(({ url, signal }) => (url.includes("honest") ? new Response() : silence(signal)));
    const strangers: Record<string, string[]> = {};
    for (let user = 0; user < 5; user++)
      strangers[`stranger-${user}`] = [1, 2, 3].map((n) => `https://s${user}-${n}.example.com/`);
    await usersWith(app, strangers);
    await signedInWith(app, "alice", ["https://honest.example.com/"]);
    await crosses(app);
    expect(pathsAt(posted, "honest")).toHaveLength(1);
    expect(posted).toHaveLength(11);
    await app.advance(12_000);
    expect(posted).toHaveLength(16);
  });

  test("that have answered at once have places that silent ones do not hold, however many users signed in for those", async ({
    app,
  }) => {
    const posted = receiver(({ url, signal }) => (url.includes("honest") ? new Response() : silence(signal)));
    await signedInWith(app, "alice", ["https://honest.example.com/"]);
    await crosses(app);
    expect(pathsAt(posted, "honest")).toHaveLength(1);
    await pass(app, 2 * HOUR, HOUR);
    for (let user = 0; user < 7; user++) {
      const urls = [1, 2, 3].map((n) => `https://s${user}-${n}.example.com/`);
      await signedInWith(app, `silent-${user}`, urls);
    }
    posted.length = 0;
    await crosses(app);
    expect(pathsAt(posted, "honest")).toHaveLength(1);
    expect(posted).toHaveLength(16);
    await app.advance(12_000);
    expect(posted).toHaveLength(22);
  });

  test("that are dead keep their newest fifty posts, for three days at most", async ({ app }) => {
    const posted = receiver(() => new Response(null, { status: 500 }));
    await addWebhook(app);
    for (let n = 0; n < 5; n++) await setAlert(app, `BTC above ${110 + n}`);
    for (let hour = 0; hour < 12; hour++) {
      await priced(app, START + hour * HOUR + 10 * MINUTE, 100);
      await tick(app);
      await priced(app, START + hour * HOUR + 20 * MINUTE, 120);
      await tick(app);
    }
    const last = Date.now();
    const rows = await app.rows("webhookPosts");
    const waiting = rows.filter(({ state }) => state !== "failed");
    expect([rows.length, waiting.length]).toEqual([60, 50]);
    expect(waiting.map(({ _id }) => _id)).toEqual(rows.slice(10).map(({ _id }) => _id));
    expect(rows[0]?.outcome).toBe("It was dropped for newer ones: at most 50 may wait for a webhook");
    await pass(app, 3 * DAY + 2 * HOUR, 30 * MINUTE);
    const ended = await app.rows("webhookPosts");
    expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(["failed"]));
    expect(ended.some(({ tries }) => tries < 10)).toBe(true);
    expect(Math.max(...posted.map(({ at }) => at))).toBeLessThanOrEqual(last + 3 * DAY + HOUR);
  });
});
