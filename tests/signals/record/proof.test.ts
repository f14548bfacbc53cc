import fc from "fast-check";
import { beforeAll, describe, expect } from "vitest";
import { canonicalJson, GENESIS, isOfDay } from "../../../convex/signals/record/chain";
import type { SignalEvent } from "../../../convex/signals/record/events";
import { sha256Hex } from "../../../convex/lib/security/digests";
import { problemsOfRecord } from "../../../scripts/verifySignals";
import { closeApp, createApp } from "../../support/app";
import { rechained, recordOf, type SignalRecord } from "./record";
import * as given from "../support";
import { test } from "../support";

const { buy, decided, sell, hold, DAY, EIGHT, HOUR, issued, track, wait } = given;

/** Four days: a BUY won by BTC and lost by ETH, a SELL that expired, none, a HOLD still open. */
async function threeDays(): Promise<SignalRecord> {
  const app = createApp({ now: EIGHT });
  await decided(app);
  await wait(app, 6 * HOUR);
  await track(app);
  await wait(app, DAY - 6 * HOUR);
  await issued(app, sell);
  await wait(app, 7 * HOUR);
  await track(app);
  await wait(app, 17 * HOUR);
  await issued(app, "Nothing today.");
  await wait(app, DAY);
  await issued(app, hold);
  const record = await recordOf(app);
  closeApp();
  return record;
}

let record: SignalRecord;
beforeAll(async () => {
  record = await threeDays();
});

const copy = () => structuredClone(record);
const at = (events: SignalEvent[], index: number) => {
  const event = events[index];
  if (event === undefined || !isOfDay(event)) throw new Error("There is such an event of a day");
  return event;
};

describe("GET /signals/proof", () => {
  test("answers events in order, page by page, and the head", async ({ app }) => {
    expect((await app.get("/signals/proof")).body).toEqual({ events: [], head: null, count: 0 });
    await issued(app, buy);
    const { body } = await app.get("/signals/proof?limit=1");
    expect(body).toMatchObject({
      count: 1,
      head: { sequence: 2 },
      events: [{ sequence: 1, previousHash: GENESIS }],
    });
    const second = (await app.get("/signals/proof?after=1")).body;
    expect(second).toMatchObject({ count: 1, events: [{ sequence: 2 }] });
    expect((await app.get("/signals/proof?after=2")).body).toMatchObject({ count: 0, head: { sequence: 2 } });
    expect((await app.get("/signals/proof?limit=501")).status).toBe(400);
    expect((await app.get("/signals/proof?after=-1")).status).toBe(400);
  });

  test("hashes the canonical JSON of what it shows, so that anybody can", () => {
    const { sequence, kind, contentHash, previousHash, hash, content } = at(copy().events, 0);
    expect(sha256Hex(canonicalJson(content))).toBe(contentHash);
    const links =
      `{"contentHash":"${contentHash}","kind":"${kind}","previousHash":"${previousHash}",` +
      `"sequence":${sequence}}`;
    expect(sha256Hex(links)).toBe(hash);
    expect(canonicalJson({ b: 1e21, a: -0, c: "ü\n", d: null, aa: 0.1 })).toBe(
      '{"a":0,"aa":0.1,"b":1e+21,"c":"ü\\n","d":null}',
    );
  });
});

describe("verification", () => {
  test("of an untouched record finds nothing", () => {
    expect(record.events.map(({ kind }) => kind)).toEqual([
      ...["issued", "issued", "closed", "closed", "compared", "compared"],
      ...["issued", "issued", "closed", "compared", "closed", "compared"],
      ...["refused", "refused", "issued", "issued"],
    ]);
    expect(record.stats?.ALL).toMatchObject({ refusedDays: 2, edge: { trades: 4, days: 2 } });
    expect(problemsOfRecord(record)).toEqual([]);
  });

  test("finds a signal that is shown otherwise than its events tell it, controls included", () => {
    const changed = copy();
    const signal = changed.signals.find(({ status }) => status === "LOSS");
    if (signal?.controls === undefined) throw new Error("There is a loss with controls");
    signal.sl = 97;
    signal.controls.coin.pnlPercent = -5;
    expect(problemsOfRecord(changed)).toEqual([
      "The signal ETH 2026-01-05: sl is shown as 97, its events say 99",
      expect.stringMatching(/its controls are not those of its events/),
    ]);
  });

  test("finds a signal that is no longer shown, and one that was never issued", () => {
    const hidden = copy();
    hidden.signals = hidden.signals.filter(({ status }) => status !== "LOSS");
    expect(problemsOfRecord(hidden)).toEqual(["The signal ETH 2026-01-05 was issued, but is not shown"]);
    const invented = copy();
    const [first] = invented.signals;
    if (first === undefined) throw new Error("There is a signal");
    invented.signals.push({ ...first, generatedAt: "2026-01-01T08:00:00.000Z" });
    expect(problemsOfRecord(invented).join()).toContain("2026-01-01 is shown, but no event issued it");
  });

  test("finds a changed, removed, moved or inserted event, and a chain cut at its end", () => {
    fc.assert(
      fc.property(
        fc.nat({ max: record.events.length - 1 }),
        fc.nat({ max: record.events.length - 1 }),
        (index, other) => {
          const changed = copy();
          Object.assign(at(changed.events, index).content, { day: "2026-02-02" });
          expect(problemsOfRecord(changed).join("\n")).toContain(`Event ${index + 1} (`);
          expect(problemsOfRecord(changed).join("\n")).toContain("its content is not what was hashed");

          const removed = copy();
          removed.events.splice(index, 1);
          expect(problemsOfRecord(removed).join("\n")).toMatch(
            /were removed, moved or added|missing at the end/,
          );

          const inserted = copy();
          inserted.events.splice(index, 0, structuredClone(at(inserted.events, other)));
          expect(problemsOfRecord(inserted).join("\n")).toMatch(
            /does not follow|were removed, moved or added/,
          );

          if (index === other) return;
          const moved = copy();
          const [taken] = moved.events.splice(index, 1);
          if (taken !== undefined) moved.events.splice(other, 0, taken);
          expect(problemsOfRecord(moved).join("\n")).toContain("were removed, moved or added");
        },
      ),
      { numRuns: 25 },
    );
    const twice = rechained([...copy().events, at(copy().events, 2)]);
    expect(problemsOfRecord({ ...copy(), ...twice }).join("\n")).toContain("it had been told before");
    const link = copy();
    at(link.events, 4).previousHash = "a".repeat(64);
    expect(problemsOfRecord(link).join("\n")).toContain("does not follow the event before it");
    const forged = copy();
    at(forged.events, 4).hash = "a".repeat(64);
    expect(problemsOfRecord(forged).join("\n")).toContain("its hash is not that of its links");
  });
});
