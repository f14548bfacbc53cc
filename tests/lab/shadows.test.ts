import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { closeApp, createApp, type App, test } from "../support/app";
import { loseScheduled } from "../support/rows/leases";
import { armIn, armsSay, askArms, CHALLENGER, CHAMPION, labOf, trackShadows } from "./support";
import * as given from "../signals/support";

const {
  buy,
  sell,
  hold,
  DAY,
  EIGHT,
  HOUR,
  MINUTE,
  issue,
  issued,
  marketAt,
  modelSays,
  signalsOf,
  track,
  wait,
  work,
} = given;

const ARMS = { SHADOW_ARMS: `${CHAMPION}, ${CHALLENGER}` };
const asked = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "trading_signal");
const hundred = { BTC: 100, ETH: 100, SOL: 100 };

/** Without what hangs on which of two tokens was asked first: the coin, which the hash before it flips; and times. */
function plain(body: object): unknown {
  const left = ["coin", "generatedAt", "expiresAt", "priceObservedAt", "equity"];
  return JSON.parse(JSON.stringify(body, (key, value: unknown) => (left.includes(key) ? undefined : value)));
}

describe("the shadow lab", () => {
  test("is off where the operator names no arms, and where what they name is none", async () => {
    for (const SHADOW_ARMS of [undefined, "", "claude-haiku-4.5", "a@signal-99"]) {
      const app = createApp({ now: EIGHT, env: { SHADOW_ARMS } });
      await askArms(app);
      expect([await app.rows("signalRuns"), app.standins.sent("llm")]).toEqual([[], []]);
      const lab = await labOf(app);
      expect([lab.arms, lab.head, lab.writer]).toEqual([[], null, CHAMPION]);
      closeApp();
    }
  });

  test("asks each arm for each token once an hour, with its own model and prompt, however often the job runs", async () => {
    const arms = "claude-haiku-4.5@signal-2,gpt-5-mini@signal-3";
    const app = createApp({ now: EIGHT + 11 * MINUTE, env: { SHADOW_ARMS: arms } });
    marketAt(app, hundred);
    modelSays(app, buy);
    const start = () => app.t.mutation(internal.signals.desk.runs.openHour, {});
    await Promise.all([start(), start(), start()]);
    await askArms(app);
    const signals = await signalsOf(app, "lab");
    expect(signals.map(({ arm, token }) => `${arm} ${token}`).toSorted()).toEqual(
      ["claude-haiku-4.5@signal-2", "gpt-5-mini@signal-3"].flatMap((arm) =>
        ["BTC", "ETH", "SOL"].map((token) => `${arm} ${token}`),
      ),
    );
    for (const { slot, entry, price, expiresAt, generatedAt } of signals) {
      expect([slot, entry, price.usd, expiresAt - generatedAt]).toEqual([EIGHT, 100, 100, 6 * HOUR]);
    }
    const asked = app.standins.sent("llm");
    expect(asked).toHaveLength(6);
    const models = asked.map(({ body }) => JSON.stringify(body));
    expect(models.filter((body) => body.includes('"model":"gpt-5-mini"'))).toHaveLength(3);
    for (const body of models) {
      expect(body.includes("Typical move over 6 hours")).toBe(body.includes('"model":"gpt-5-mini"'));
    }
    await wait(app, HOUR);
    await askArms(app);
    expect(await signalsOf(app, "lab")).toHaveLength(12);
  });

  test("keeps every signal in a chain before its outcome, and ends it by the path of the price", async () => {
    const app = createApp({ now: EIGHT + 11 * MINUTE, env: ARMS });
    marketAt(app, hundred);
    armsSay(app, ({ prompt }) => (prompt === "signal-2" ? buy : hold));
    await askArms(app);
    const issuedEvents = (await labOf(app)).events;
    expect(issuedEvents.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => "issued"));
    await wait(app, 20 * MINUTE);
    marketAt(app, { BTC: 101.2, ETH: 98.5, SOL: 100.1 });
    await wait(app, 10 * MINUTE);
    await trackShadows(app);
    await wait(app, 7 * HOUR);
    await trackShadows(app);
    const lab = await labOf(app);
    expect(lab.events.slice(0, 6)).toEqual(issuedEvents);
    expect(lab.events).toHaveLength(12);
    expect(lab.head?.sequence).toBe(12);
    const rows = (await signalsOf(app, "lab")).filter(({ arm }) => arm === CHAMPION);
    expect(rows.map(({ token, status, exitPrice }) => [token, status, exitPrice]).toSorted()).toEqual([
      ["BTC", "WIN", 101],
      ["ETH", "LOSS", 99],
      ["SOL", "EXPIRED", 100.1],
    ]);
    const champion = armIn(lab, CHAMPION);
    expect(champion).toMatchObject({
      n: 3,
      wins: 1,
      losses: 1,
      expired: 1,
      holds: 0,
      writes: true,
      asked: true,
    });
    // (50 - 50 + 5) / 3 points
    expect(champion.excessPoints).toBeCloseTo(5 / 3, 4);
    expect(champion.calibration.brier).toBeCloseTo((0.3 ** 2 + 0.7 ** 2) / 2, 10);
    expect(armIn(lab, CHALLENGER)).toMatchObject({ n: 3, holds: 3, excessPoints: null });
  });

  test("is nowhere in the daily signals, their statistics and their calibration, on cards or on pages but its own", async () => {
    const bodies = async (env: Record<string, string>) => {
      const app = createApp({ now: EIGHT, env });
      const until = (time: number) => app.advance(time - Date.now());
      await issued(app, buy);
      marketAt(app, hundred);
      modelSays(app, sell);
      await until(EIGHT + 11 * MINUTE);
      await askArms(app);
      app.standins.clear("llm");
      await until(EIGHT + 30 * MINUTE);
      marketAt(app, { BTC: 98, ETH: 101.5, SOL: 98 });
      for (const hour of [1, 7]) {
        await until(EIGHT + hour * HOUR);
        await track(app);
        await until(EIGHT + hour * HOUR + MINUTE);
        await trackShadows(app);
      }
      await until(EIGHT + DAY);
      marketAt(app, hundred);
      modelSays(app, buy);
      await issue(app);
      const history = (token: string) => `/mcp/signals/history?token=${token}`;
      const paths = ["/mcp/signals/latest", history("BTC"), history("ETH"), "/mcp/signals/recap"];
      const answers = await Promise.all(paths.map(async (path) => plain((await app.get(path)).body)));
      const events = (await given.events(app)).map(({ kind, content }) =>
        JSON.stringify([kind, plain(content)]),
      );
      const { lab: _lab, ...record } = (await app.get("/record")).body;
      const shadows = (await signalsOf(app, "lab")).map(({ status }) => status).toSorted();
      const texts = app.cards().map(({ text }) => (text ?? "").replace(/Record \d+: \w+/, ""));
      closeApp();
      return {
        answers,
        events: events.toSorted(),
        record: plain({ ...record, head: null, signals: [] }),
        texts,
        shadows,
      };
    };
    const [without, beside] = [await bodies({}), await bodies(ARMS)];
    expect([without.shadows, beside.shadows]).toEqual([[], ["LOSS", "LOSS", "WIN", "WIN", "WIN", "WIN"]]);
    expect(beside.answers).toEqual(without.answers);
    expect(beside.events).toEqual(without.events);
    expect(beside.record).toEqual(without.record);
    expect(beside.texts).toEqual(without.texts);
  });

  test("is asked within its tenth of the day's budget, and misses the hours for which it is spent", async () => {
    const app = createApp({ now: EIGHT + 11 * MINUTE, env: { ...ARMS, DAILY_BUDGET_USD: "0.01" } });
    marketAt(app, hundred);
    modelSays(app, buy);
    await askArms(app);
    expect(app.standins.sent("llm")).toEqual([]);
    const runs = await app.rows("signalRuns");
    expect(runs.map(({ state }) => state)).toEqual(Array.from({ length: 6 }, () => "budget"));
    expect(runs[0]?.error).toMatch(
      /^Today's budget of the LLM gateway for shadow signals is used up: it is restored at 2026-01-06T00:00/,
    );
    const lab = await labOf(app);
    expect(lab.events.map(({ kind, content }) => [kind, "reason" in content && content.reason])).toEqual(
      Array.from({ length: 6 }, () => ["missed", "budget"]),
    );
    expect(armIn(lab, CHAMPION).missed).toBe(3);
    // The daily signals are asked for all the same.
    await issue(app);
    expect(await signalsOf(app, "daily")).toHaveLength(2);
  });

  test("takes up what was cut off, gives an hour up when it is over, and asks in the next one", async () => {
    const app = createApp({ now: EIGHT + 11 * MINUTE, env: { SHADOW_ARMS: CHALLENGER } });
    marketAt(app, hundred);
    app.standins.fail("llm", { mode: "status", status: 500 });
    await askArms(app);
    expect((await app.rows("signalRuns")).map(({ state }) => state)).toEqual(
      Array.from({ length: 3 }, () => "writing"),
    );
    expect(asked(app)).toHaveLength(3);
    await app.advance(3 * MINUTE);
    expect((await app.rows("signalRuns")).map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
    app.standins.clear("llm");
    modelSays(app, buy);
    await wait(app, EIGHT + HOUR + 11 * MINUTE - Date.now());
    await app.t.mutation(internal.signals.desk.runs.openHour, {});
    await loseScheduled(app);
    expect(await signalsOf(app, "lab")).toEqual([]);
    await work(app);
    const signals = await signalsOf(app, "lab");
    expect(signals.map(({ slot }) => slot)).toEqual([EIGHT + HOUR, EIGHT + HOUR, EIGHT + HOUR]);
    await askArms(app);
    expect(await signalsOf(app, "lab")).toHaveLength(3);
  });

  test("gives up an hour that it has begun to ask for with a prompt that is gone since", async () => {
    const app = createApp({ now: EIGHT + 11 * MINUTE, env: { SHADOW_ARMS: CHALLENGER } });
    await app.t.mutation(internal.signals.desk.runs.openHour, {});
    const gone = "claude-haiku-4.5@signal-1";
    await app.t.run(async ({ db }) => {
      for (const { _id } of await db.query("signalRuns").collect()) await db.patch(_id, { arm: gone });
    });
    await work(app);
    await app.advance(3 * MINUTE);
    await work(app);
    expect((await app.rows("signalRuns")).map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
    const { events } = await labOf(app);
    expect(events.map(({ kind, content }) => [kind, content.arm])).toEqual(
      Array.from({ length: 3 }, () => ["missed", gone]),
    );
  });

  test("counts a day once, when all of it is over: what was issued in its first 17 hours, over their 51 slots", async () => {
    const midnight = EIGHT - 8 * HOUR;
    const app = createApp({ now: midnight, env: ARMS });
    marketAt(app, hundred);
    armsSay(app, ({ prompt }) => (prompt === "signal-2" ? sell : buy));
    await win(app, midnight + 3 * HOUR);
    await win(app, midnight + 16 * HOUR);
    await win(app, midnight + 17 * HOUR);
    const before = await labOf(app);
    expect(armIn(before, CHALLENGER)).toMatchObject({ wins: 9, edge: { days: 0 } });
    expect(await app.rows("openDays")).toMatchObject([{ arm: "lab", slot: midnight }]);
    await wait(app, midnight + DAY - Date.now());
    await trackShadows(app);
    await trackShadows(app);
    expect(await app.rows("openDays")).toEqual([]);
    const lab = await labOf(app);
    const [champion, challenger] = [armIn(lab, CHAMPION), armIn(lab, CHALLENGER)];
    // Two of the three hours, three tokens, half of the way from stop to target each.
    expect(challenger.edge).toMatchObject({ days: 1, excessPoints: expect.closeTo(300 / 51, 8) });
    expect(champion.edge).toMatchObject({ days: 1, excessPoints: expect.closeTo(-300 / 51, 8) });
    expect(challenger.excessPoints).toBe(50);
    const against = { writer: CHAMPION, days: 1, excessPoints: expect.closeTo(600 / 51, 8), needed: 20 };
    expect(challenger.againstWriter).toMatchObject(against);
    expect(challenger.againstWriter?.eValue).toBeGreaterThan(1);
    expect(champion.againstWriter).toBeNull();
    expect(champion.calibration).toEqual({
      n: 9,
      brier: expect.closeTo(0.36, 10),
      calibratedBrier: expect.closeTo(calibratedAgainst(champion.losses), 4),
    });
  });
});

/** An hour in which a BUY wins and a SELL loses. */
async function win(app: App, hour: number): Promise<void> {
  await app.advance(hour + 11 * MINUTE - Date.now());
  await askArms(app);
  await app.advance(hour + 25 * MINUTE - Date.now());
  marketAt(app, { BTC: 101.2, ETH: 101.2, SOL: 101.2 });
  await app.advance(hour + 30 * MINUTE - Date.now());
  await trackShadows(app);
  marketAt(app, hundred);
}

/** Three at a time, shrunk towards the chance of one half with the weight of thirty: 15/30, 15/33, 15/36. */
function calibratedAgainst(losses: number): number {
  const said = [0.5, 0.455, 0.417];
  expect(losses).toBe(9);
  return said.reduce((sum, p) => sum + p * p, 0) / said.length;
}
