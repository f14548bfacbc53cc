import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { problemsOfRecord, problemsOfShadows } from "../../scripts/verifySignals";
import { createApp, type App } from "../support/app";
import { keepHouse } from "../support/rows/housekeeping";
import { armIn, armsSay, askArms, CHALLENGER, CHAMPION, labOf, trackShadows } from "./support";
import { rechained, recordOf } from "../signals/record/record";
import * as given from "../signals/support";
import { test } from "../signals/support";

const { buy, sell, hold, DAY, EIGHT, HOUR, MINUTE, issued, marketAt, wait } = given;

const ARMS = { SHADOW_ARMS: `${CHAMPION},${CHALLENGER}` };
const hundred = { BTC: 100, ETH: 100, SOL: 100 };

/** Two days of some hours each: trades that win, lose and expire, holds, refusals; the last hour still open. */
async function twoDays(app: App): Promise<void> {
  marketAt(app, hundred);
  const answers = [buy, sell, hold, { ...sell, tp1: 98.8, confidence: 62 }];
  const refused = { ...buy, sl: 98 };
  let asked = 0;
  let isRefused = false;
  armsSay(app, () => (isRefused ? refused : (answers[asked++ % answers.length] ?? hold)));
  for (const hour of [0, 5, 12, 18, 24, 29, 48]) {
    const start = EIGHT - 8 * HOUR + hour * HOUR;
    isRefused = hour === 12;
    await app.advance(start + 11 * MINUTE - Date.now());
    await askArms(app);
    await app.advance(start + 20 * MINUTE - Date.now());
    marketAt(app, { BTC: 101.3, ETH: 98.9, SOL: 100.4 });
    await app.advance(start + 28 * MINUTE - Date.now());
    await trackShadows(app);
    marketAt(app, hundred);
    if (hour < 48) await app.advance(start + 8 * HOUR - Date.now());
    await trackShadows(app);
  }
}

describe("the chain of shadow signals", () => {
  test("bears a promotion out, with what it needed: more where more arms were compared", async () => {
    const third = "gpt-5-mini@signal-3";
    const env = { SHADOW_ARMS: `${CHAMPION},${CHALLENGER},${third}` };
    const app = createApp({ now: EIGHT - 8 * HOUR, env });
    await twoDays(app);
    const promotion = { arm: CHALLENGER, force: "To be seen." };
    const { needed } = await app.t.mutation(internal.signals.arms.promotions.promote, promotion);
    expect(needed).toBe(40);
    const [lab, { events }] = [await labOf(app), await recordOf(app)];
    expect(problemsOfShadows(lab, events)).toEqual([]);
    const told = (content: object) =>
      events.map((one) =>
        one.kind === "promoted" ? { ...one, content: { ...one.content, ...content } } : one,
      );
    expect(problemsOfShadows(lab, told({ needed: 20 })).join()).toMatch(/as if 20 were needed; 40 were/);
    expect(problemsOfShadows(lab, told({ eValue: 50 })).join()).toMatch(/with an e-value of 50 over 2 days/);
  });

  test("tells all that is shown of the arms, is fixed in the record once a day, and does not hold when it was rewritten", async () => {
    const app = createApp({ now: EIGHT - 8 * HOUR, env: ARMS });
    await twoDays(app);
    await app.t.mutation(internal.signals.record.anchors.anchorDue, {});
    await app.t.mutation(internal.signals.record.anchors.anchorDue, {});
    const lab = await labOf(app);
    const { events: main, ...record } = await recordOf(app);
    expect(
      main.map(({ kind, content }) => [kind, "shadowSequence" in content && content.shadowSequence]),
    ).toEqual([["shadow", lab.head?.sequence]]);
    expect(problemsOfRecord({ ...record, events: main })).toEqual([]);
    expect(problemsOfShadows(lab, main)).toEqual([]);
    expect(armIn(lab, CHALLENGER)).toMatchObject({ edge: { days: 2 }, againstWriter: { days: 2 } });
    expect(new Set(lab.events.map(({ kind }) => kind))).toEqual(new Set(["issued", "closed", "missed"]));

    const better = structuredClone(lab);
    for (const arm of better.arms) arm.edge.eValue *= 2;
    expect(problemsOfShadows(better, main).join()).toContain(
      `the figures shown for ${CHALLENGER} do not follow`,
    );
    const changed = structuredClone(lab);
    const lost = changed.events.find(
      ({ kind, content }) => kind === "closed" && "status" in content && content.status === "LOSS",
    );
    if (lost?.kind !== "closed") throw new Error("There is a loss");
    Object.assign(lost.content, { status: "EXPIRED", exitPrice: 100, pnlPercent: 0 });
    expect(problemsOfShadows(changed, main).join()).toContain("its content is not what was hashed");
    const rewritten = { ...changed, ...rechained(changed.events) };
    const found = problemsOfShadows(rewritten, main).join("\n");
    expect(found).toContain(
      `Event 1 of the record fixed their event ${lab.head?.sequence}, which has another hash now`,
    );
    expect(found).toMatch(/the figures shown for claude-haiku-4.5@signal-\d do not follow from its events/);
    const cut = { ...lab, ...rechained(lab.events.filter(({ kind }) => kind !== "missed")) };
    expect(problemsOfShadows(cut, []).join()).toContain("do not follow from its events");
  });

  test("keeps on telling what its rows no longer do; the daily signals' rows stay", async () => {
    const app = createApp({ now: EIGHT - 8 * HOUR, env: ARMS });
    await twoDays(app);
    await wait(app, 7 * HOUR);
    await trackShadows(app);
    const before = await labOf(app);
    await wait(app, DAY + HOUR);
    await trackShadows(app);
    await given.issue(app);
    vi.setSystemTime(Date.now() + 40 * DAY);
    await keepHouse(app);
    for (const table of ["signals", "signalRuns"] as const) {
      expect((await app.rows(table)).map(({ desk }) => desk)).toEqual(["daily", "daily"]);
    }
    const after = await labOf(app);
    expect(after.events).toEqual(before.events);
    expect(problemsOfShadows(after, [])).toEqual([]);
  });

  test("leaves a day's signals of nobody in a deployment that asks no arms", async ({ app }) => {
    await issued(app, buy);
    await app.t.mutation(internal.signals.record.anchors.anchorDue, {});
    expect((await recordOf(app)).events.map(({ kind }) => kind)).toEqual(["issued", "issued"]);
  });
});
