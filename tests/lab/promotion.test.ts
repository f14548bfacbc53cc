import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { points } from "../../convex/lib/text/numbers";
import { addDay, NO_BLOCKS, type Blocks } from "../../convex/signals/statistics/inference";
import { problemsOfRecord } from "../../scripts/verifySignals";
import { createApp, type App, test } from "../support/app";
import { says, openPage, soundWords } from "../pages/support";
import { armIn, armsSay, askArms, CHALLENGER, CHAMPION, labOf } from "./support";
import { rechained, recordOf } from "../signals/record/record";
import * as given from "../signals/support";

const { buy, sell, DAY, EIGHT, HOUR, MINUTE, issue, issued, marketAt, track, wait } = given;

const ARMS = { SHADOW_ARMS: `${CHAMPION},${CHALLENGER}` };
const hundred = { BTC: 100, ETH: 100, SOL: 100 };

const promote = (app: App, args: { arm: string; force?: string }) =>
  app.t.mutation(internal.signals.arms.promotions.promote, args);

/** Days on which one arm was so much better than another. */
async function shown(app: App, days: number, by: number, pair = { arm: CHALLENGER, against: CHAMPION }) {
  const least = Array.from({ length: days }).reduce<Blocks>((blocks) => addDay(blocks, by), NO_BLOCKS);
  await app.t.run(async ({ db }) => {
    await db.insert("signalPairs", { ...pair, days: { least, most: least } });
  });
}

describe("a promotion", () => {
  test("is refused without what shows it, or a reason", async () => {
    const app = createApp({ now: EIGHT, env: ARMS });
    await expect(promote(app, { arm: "claude-haiku-4.5" })).rejects.toThrow(/is not an arm/);
    await expect(promote(app, { arm: "claude-haiku-4.5@signal-9" })).rejects.toThrow(/is not an arm/);
    await expect(promote(app, { arm: CHAMPION })).rejects.toThrow(/writes the daily signals already/);
    await expect(promote(app, { arm: CHALLENGER })).rejects.toThrow(
      `${CHALLENGER} is not shown to be better than ${CHAMPION}: its e-value is 1.00 over 0 days, 20 is needed. It was never asked.`,
    );
    await expect(promote(app, { arm: CHALLENGER, force: "  " })).rejects.toThrow(/must be a reason/);
    await shown(app, 60, 0.1);
    expect(await app.rows("auditEvents")).toEqual([]);
    expect((await app.get("/signals/proof")).body.head).toBeNull();
  });

  test("needs more where more arms are compared: the best of several seems better sooner", async () => {
    const app = createApp({ now: EIGHT, env: ARMS });
    await shown(app, 20, 0.15);
    await shown(app, 40, 0, { arm: "gpt-5-mini@signal-2", against: CHAMPION });
    await shown(app, 40, 0, { arm: "gpt-5-mini@signal-3", against: CHAMPION });
    await expect(promote(app, { arm: CHALLENGER })).rejects.toThrow(/over 20 days, 60 is needed/);
  });

  test("has the daily signals written by the promoted model and prompt, and stands in the record", async () => {
    const app = createApp({ now: EIGHT, env: ARMS });
    await issued(app, buy);
    await wait(app, 11 * MINUTE);
    marketAt(app, hundred);
    armsSay(app, ({ prompt }) => (prompt === "signal-2" ? buy : sell));
    await askArms(app);
    await wait(app, 7 * HOUR);
    await track(app);
    const arm = "gpt-5-mini@signal-3";
    await shown(app, 60, 0.2, { arm, against: CHAMPION });
    const promoted = await promote(app, { arm });
    expect(promoted).toMatchObject({ before: CHAMPION, needed: 20, sequence: 7 });
    expect(promoted.eValue).toBeGreaterThan(20);
    await wait(app, DAY - (Date.now() - EIGHT));
    marketAt(app, hundred);
    await issue(app);

    const daily = app.standins.sent("llm").slice(-2);
    for (const { body } of daily) {
      expect(JSON.stringify(body)).toContain('"model":"gpt-5-mini"');
      expect(JSON.stringify(body)).toContain("Typical move over 6 hours");
    }
    const { body } = await app.get("/mcp/signals/latest?token=BTC");
    expect(body.signals).toMatchObject({
      BTC: { signal: "SELL", promptVersion: "signal-3", model: "simulated-gpt-5-mini" },
    });
    // What the one before has learned says nothing of this one.
    const [, , , , , , event, first] = (await recordOf(app)).events;
    expect(event).toMatchObject({
      kind: "promoted",
      content: {
        ...{ arm, model: "gpt-5-mini", promptVersion: "signal-3", forced: null, days: 60, needed: 20 },
        ...{ previousModel: "claude-haiku-4.5", previousPromptVersion: "signal-2" },
      },
    });
    expect(first).toMatchObject({
      kind: "issued",
      content: { calibrationOutcomes: 0, promptVersion: "signal-3" },
    });
    const record = await recordOf(app);
    expect(problemsOfRecord(record)).toEqual([]);
    const [audited] = await app.rows("auditEvents");
    expect(audited).toMatchObject({ actor: "", action: "signal arm promoted", subject: arm });

    const lab = await labOf(app);
    expect(lab.writer).toBe(arm);
    expect(lab.promotions).toEqual([
      expect.objectContaining({
        sequence: 7,
        arm,
        previousModel: "claude-haiku-4.5",
        days: 60,
        needed: 20,
        forced: null,
      }),
    ]);
    expect(armIn(lab, CHALLENGER).writes).toBe(false);
    const words = soundWords(await openPage(app, "/record"));
    says(
      words,
      `The signals are written by ${arm}`,
      `${arm} in place of ${CHAMPION}`,
      "over 60 days (20 needed)",
    );
    says(words, `${CHALLENGER} asked now`, `from ${points(-500 / 9)} to ${points(100)}: no record yet`);

    // A record that was asked with another prompt than the promoted one, or promotes without a reason, does not hold.
    const forged = structuredClone(record.events);
    for (const one of forged) {
      if (one.kind === "issued" && one.content.day === "2026-01-06") one.content.promptVersion = "signal-2";
      if (one.kind === "promoted") one.content.eValue = 2;
    }
    const found = problemsOfRecord({ ...record, ...rechained(forged) }).join("\n");
    expect(found).toContain("it was asked with signal-2, not with signal-3, which had been promoted");
    expect(found).toContain("its e-value of 2 is below the 20 needed, and no reason is given");
  });

  test("by the operator's word alone says so, and can be taken back the same way", async () => {
    const app = createApp({ now: EIGHT, env: ARMS });
    await promote(app, { arm: CHALLENGER, force: "The gateway stops serving the other one." });
    await promote(app, { arm: CHAMPION, force: "It serves it again." });
    const { promotions, writer } = await labOf(app);
    expect(writer).toBe(CHAMPION);
    expect(promotions.map(({ arm, forced }) => [arm, forced])).toEqual([
      [CHAMPION, "It serves it again."],
      [CHALLENGER, "The gateway stops serving the other one."],
    ]);
    await issued(app, buy);
    expect((await app.rows("signals")).map(({ promptVersion }) => promptVersion)).toEqual([
      "signal-2",
      "signal-2",
    ]);
    expect(problemsOfRecord(await recordOf(app))).toEqual([]);
  });

  test("while a signal is being written has it asked for anew", async () => {
    const app = createApp({ now: EIGHT, env: ARMS });
    marketAt(app, hundred);
    app.standins.fail("llm", { mode: "slow", ms: 20_000, schema: "trading_signal", times: 2 });
    await app.during(app.t.mutation(internal.signals.desk.runs.openDay, {}));
    await app.advance(5_000);
    await promote(app, { arm: CHALLENGER, force: "Now." });
    await app.advance(2 * MINUTE);
    const signals = await app.rows("signals");
    expect(signals.map(({ promptVersion }) => promptVersion)).toEqual(["signal-3", "signal-3"]);
    expect(problemsOfRecord(await recordOf(app))).toEqual([]);
  });

  test("is calibrated by its own daily signals from then on", async () => {
    const app = createApp({ now: EIGHT, env: ARMS });
    await promote(app, { arm: CHALLENGER, force: "To be seen." });
    for (let day = 0; day < 2; day++) {
      await given.moved(app, buy, { BTC: 101.5, ETH: 101.5 });
      await wait(app, 6 * HOUR);
      await track(app);
      await wait(app, EIGHT + (day + 1) * DAY - Date.now());
    }
    const calibrations = (await app.rows("signals")).map(({ calibrated }) => [
      calibrated.n,
      calibrated.confidence,
    ]);
    // (2 won + 30 times one half) of 32
    expect(calibrations).toEqual([
      [0, 50],
      [0, 50],
      [2, 53.1],
      [2, 53.1],
    ]);
    const totals = (await app.rows("signalTotals")).filter(
      ({ arm }) => arm === "daily/simulated-claude-haiku-4.5@signal-3",
    );
    expect(totals.map(({ scope, stated, won }) => [scope, stated[70], won[70]]).toSorted()).toEqual([
      ["ALL", 4, 4],
      ["BTC", 2, 2],
      ["ETH", 2, 2],
    ]);
  });
});
