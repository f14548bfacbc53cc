import { describe, expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { measure } from "../../scripts/host/usage";
import { ALERT_SCHEMA_NAME, conditionOf } from "../../convex/alerts/language/prompts";
import { START, test } from "../support/app";
import { keepHouse } from "../support/housekeeping";
import { browserOf } from "../web/support";
import { ask, DAY, MINUTE, priced, proposed, setAlert, tick } from "./support";

const nothing = { token: null, direction: null, amount: null, windowHours: null, time: null, timeZone: null };

describe("asking for an alert", () => {
  test("tells when it would have fired, and is the same when asked again", async ({ app }) => {
    const first = proposed.parse((await ask(app, "BTC above 110")).body);
    expect(first.replay).toEqual({ knownSince: null, count: 0, fired: [], holdsNow: false });
    for (const [i, usd] of [100, 120, 100, 120, 100, 120].entries())
      await priced(app, START + i * 40 * MINUTE, usd);
    const again = proposed.parse((await ask(app, "bitcoin over $110")).body);
    expect(again.alert.alertId).toBe(first.alert.alertId);
    expect(again.replay).toMatchObject({
      knownSince: new Date(START).toISOString(),
      count: 3,
      holdsNow: true,
    });
    const bobs = await app.post("/alerts/confirm", { userId: "bob", alertId: first.alert.alertId });
    expect(bobs.status).toBe(404);
    const owned = await app.get("/alerts?userId=bob");
    expect(owned.body).toEqual({ alerts: [] });
  });

  test("replays a week of daily changes by reading each sample once", async ({ app }) => {
    const count = (8 * DAY) / (5 * MINUTE);
    await app.t.run(async ({ db }) => {
      for (let i = 1; i <= count; i++) {
        const takenAt = START - (count - i) * 5 * MINUTE;
        const sample = { token: "BTC", priceUsd: 100 + (i % 2), source: "coinbase", takenAt } as const;
        await db.insert("priceSamples", { ...sample, observedAt: takenAt });
      }
    });
    const { value, usage } = await measure(() => ask(app, "BTC up 0.5 % in 1 h"));
    expect(proposed.parse(value.body).replay.knownSince).toBe(new Date(START - 7 * DAY).toISOString());
    const day = await measure(() => ask(app, "BTC down 5 % in 24 h"));
    expect(proposed.parse(day.value.body).replay).toMatchObject({ count: 0, holdsNow: false });
    for (const { ranges, read } of [usage, day.usage]) {
      expect(ranges).toBeLessThan(60);
      expect(read).toBeLessThan(count + 100);
    }
  });

  test("in one's own words is read by the local stack's model, in English and German", async ({ app }) => {
    const asked = {
      "BTC down 5 % in 24 h": "BTC at least 5 % below its price 24 hours before",
      "it would be lovely to hear of bitcoin dropping under 50,000": "BTC at $50,000 or below",
      "Sag mir Bescheid, wenn Bitcoin über 120000 steigt": "BTC at $120,000 or above",
      "Bescheid, wenn Ether an einem Tag um 5 % fällt": "ETH at least 5 % below its price 24 hours before",
      "Großer Abfluss von USDC, mehr als 10 Mio":
        "One movement of USDC out of an exchange on Base, worth $10,000,000 or more",
      "Zusammenfassung um 7:30 Uhr abends, Europe/Berlin": "A digest every day at 19:30 Europe/Berlin",
    };
    const words: Record<string, unknown> = {};
    for (const text of Object.keys(asked))
      words[text] = proposed.parse((await ask(app, text)).body).alert.words;
    expect(words).toEqual(asked);
    expect(app.standins.sent("llm")).toHaveLength(5);
    expect((await ask(app, "tell me something nice about dogs")).status).toBe(400);
  });

  test("in other words asks the model; the grammar and the words themselves decide", async ({ app }) => {
    const says = (value: object) =>
      app.standins.fail("llm", {
        ...{ mode: "reply", schema: ALERT_SCHEMA_NAME, times: 2 },
        content: JSON.stringify({ ...nothing, ...value }),
      });
    const asked = "Sag mir Bescheid, wenn Bitcoin über 120000 steigt";
    const meant = { kind: "price", token: "BTC", direction: "above", amount: 120_000 };
    const wrong = [
      { ...meant, amount: 12_000 },
      { ...meant, token: "ETH" },
      { ...meant, kind: "funding", amount: 120_000 },
      { ...meant, direction: "up" },
      { kind: "digest", time: "12:00" },
      { kind: "none" },
    ];
    for (const value of wrong) {
      app.standins.clear();
      says(value);
      const { status, body } = await ask(app, asked);
      expect([value, status, body["error"]]).toEqual([
        value,
        400,
        expect.stringContaining("Say it like one of these"),
      ]);
    }
    expect(await app.rows("alerts")).toEqual([]);
    app.standins.clear();
    says(meant);
    const { alert } = proposed.parse((await ask(app, asked)).body);
    expect(alert).toMatchObject({ state: "proposed", readBy: "model", words: "BTC at $120,000 or above" });
    app.standins.forget();
    app.standins.clear();
    expect((await ask(app, "BTC above 100.000")).body["error"]).toContain("comma for thousands");
    expect((await ask(app, "BTC down 5%")).body["error"]).toContain("BTC down 5 % in 24 h");
    expect(app.standins.sent("llm")).toEqual([]);
    app.standins.fail("llm", { mode: "status", status: 503 });
    expect((await ask(app, asked)).status).toBe(400);
    vi.stubEnv("LLM_GATEWAY_API_KEY", "");
    expect((await ask(app, asked)).status).toBe(400);
  });

  test("is not what a model misreads in them: another coin, number, sign, period, unit, time or place", () => {
    const change = { kind: "change", token: "BTC", direction: "down" } as const;
    const digest = { kind: "digest", time: "07:30" } as const;
    const misread: readonly [string, Partial<Parameters<typeof conditionOf>[0]>][] = [
      ["Großer Tether-Zufluss über $10M", { kind: "flow", token: "ETH", direction: "in", amount: 1e7 }],
      ["Daily: USDC Zufluss über 10M", { kind: "flow", token: "DAI", direction: "in", amount: 1e7 }],
      ["cbBTC über 100000", { kind: "price", token: "BTC", direction: "above", amount: 100_000 }],
      ["ETH über 4000, wie neulich BTC", { kind: "price", token: "BTC", direction: "above", amount: 4_000 }],
      ["BTC über 100k steigt", { kind: "price", token: "BTC", direction: "above", amount: 100 }],
      ["ETH Funding über 2 %", { kind: "price", token: "ETH", direction: "above", amount: 2 }],
      ["BTC fällt um 3 % in 4 h", { ...change, amount: 4, windowHours: 3 }],
      ["BTC fällt um 3 % in 3 Tagen", { ...change, amount: 3, windowHours: 3 }],
      ["BTC fällt um .5 % in 24 h", { ...change, amount: 5, windowHours: 24 }],
      ["ETH Funding unter −0.01 %", { kind: "funding", token: "ETH", direction: "below", amount: 0.01 }],
      ["ETH Funding unter 0.01 %", { kind: "funding", token: "ETH", direction: "below", amount: -0.01 }],
      ["Zusammenfassung um 7:30 Uhr", { ...digest, timeZone: "Asia/Tokyo" }],
      ["Zusammenfassung um 7:30 Uhr, Europe/Berlin", { ...digest, timeZone: null }],
      ["Zusammenfassung um 7:30 Uhr morgens", { ...digest, time: "19:30" }],
    ];
    const believed = misread.filter(
      ([asked, value]) => conditionOf({ kind: "none", ...nothing, ...value }, asked) !== null,
    );
    expect(believed).toEqual([]);
    const right: readonly (typeof misread)[number][] = [
      ["Tether-Zufluss über $10M", { kind: "flow", token: "USDT", direction: "in", amount: 1e7 }],
      ["BTC fällt um 3 % in 4 Stunden", { ...change, amount: 3, windowHours: 4 }],
      ["BTC fällt um 3 % in 3 Tagen", { ...change, amount: 3, windowHours: 72 }],
      ["BTC fällt an einem Tag um 3 %", { ...change, amount: 3, windowHours: 24 }],
      ["ETH Funding unter −0.01 %", { kind: "funding", token: "ETH", direction: "below", amount: -0.01 }],
      ["Zusammenfassung um 7:30 Uhr in Berlin", { ...digest, timeZone: "Europe/Berlin" }],
      ["Zusammenfassung um 7:30 Uhr abends", { ...digest, time: "19:30" }],
    ];
    const refused = right.filter(
      ([asked, value]) => conditionOf({ kind: "none", ...nothing, ...value }, asked) === null,
    );
    expect(refused).toEqual([]);
  });

  test("is its signed-in user's alone, and goes with the account", async ({ app }) => {
    const [alice, bob] = [browserOf(app, "alice"), browserOf(app, "bob")];
    const { userId } = await alice.mutation(api.users.profile.signIn, {});
    await bob.mutation(api.users.profile.signIn, {});
    expect((await ask(app, "BTC above 110", userId)).status).toBe(403);
    expect((await ask(app, "BTC above 110", userId, { as: "bob" })).status).toBe(403);
    const { alert } = await app.during(alice.action(api.alerts.app.propose, { text: "BTC above 110" }));
    await expect(bob.mutation(api.alerts.app.accept, { alertId: alert.alertId })).rejects.toThrow(
      "no such alert",
    );
    await alice.mutation(api.alerts.app.accept, { alertId: alert.alertId });
    const url = "https://hooks.example.com/a";
    const { webhook } = await app.during(alice.action(api.messenger.webhooks.app.add, { url }));
    await setAlert(app, "BTC above 115", "carol");
    await priced(app, START + MINUTE, 100);
    await priced(app, START + 3 * MINUTE, 120);
    await tick(app);
    expect(await alice.query(api.alerts.app.mine, {})).toMatchObject([
      { alertId: alert.alertId, state: "active", fired: 1 },
    ]);
    expect(await alice.query(api.messenger.webhooks.app.mine, {})).toMatchObject([{ url, state: "active" }]);
    const exported = async (section: "alerts" | "alertFirings" | "webhooks" | "webhookEvents") => {
      const paginationOpts = { numItems: 10, cursor: null };
      const { page } = await alice.query(api.account.export.page, { section, paginationOpts });
      expect([section, page.length]).toEqual([section, 1]);
      return page[0] ?? "";
    };
    expect(await exported("alerts")).toContain('"level":110');
    expect(await exported("alertFirings")).toContain('"value":120');
    expect(await exported("webhookEvents")).toContain("alert.fired");
    expect(await exported("webhooks")).not.toContain("sealedSigning");
    await expect(alice.action(api.account.claims.claimUserId, { userId: "older-id" })).rejects.toThrow(
      "alerts",
    );
    await expect(
      bob.mutation(api.messenger.webhooks.app.end, { webhookId: webhook.webhookId }),
    ).rejects.toThrow("no such webhook");
    await alice.mutation(api.account.deletion.request, {});
    await app.advance(2 * MINUTE);
    expect((await app.rows("alerts")).map((row) => row.userId)).toEqual(["carol"]);
    expect((await app.rows("alertFirings")).map((row) => row.userId)).toEqual(["carol"]);
    expect([await app.rows("webhooks"), await app.rows("webhookPosts")]).toEqual([[], []]);
  });

  test("is forgotten after a day without a yes; ended alerts and firings after a season", async ({ app }) => {
    await ask(app, "BTC above 150");
    const off = await setAlert(app, "BTC above 160");
    const kept = await setAlert(app, "BTC above 110");
    await priced(app, START + MINUTE, 100);
    await priced(app, START + 3 * MINUTE, 120);
    await tick(app);
    await app.post("/alerts/off", { userId: "alice", alertId: off });
    const ids = async () => (await app.rows("alerts")).map(({ _id }) => _id);
    vi.setSystemTime(START + 2 * DAY);
    await keepHouse(app);
    expect(await ids()).toEqual([off, kept]);
    expect(await app.rows("alertFirings")).toHaveLength(1);
    vi.setSystemTime(START + 92 * DAY);
    await keepHouse(app);
    expect(await ids()).toEqual([kept]);
    expect(await app.rows("alertFirings")).toEqual([]);
  });
});
