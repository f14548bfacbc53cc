import type { WithoutSystemFields } from "convex/server";
import type { Doc } from "../../convex/_generated/dataModel";
import { DAY, dayOf, HOUR, iso } from "../../convex/lib/time";
import { NO_SEEN } from "../../convex/signals/statistics/days";
import { emptyTotals } from "../../convex/signals/statistics/totals";
import { LAB_TOKENS } from "../../convex/signals/trade/rules";
import type { World } from "./world";

/** Rows for `signals.ts`: closed shadow signals of four arms with their events and totals, and the last six hours' open ones. */

export const SHADOW_ARMS = [1, 2, 3, 4].map((n) => `model-${n}@signal-2`);

/** Rows per transaction; the platform's limit is 16,000 documents. */
const CHUNK = 2_000;
const OPEN_HOURS = 6;

/** Inserts `count` closed shadow signals up to yesterday, and today's open ones. */
export async function insertShadows(
  { t, clock }: { t: World["t"]; clock: Pick<World["clock"], "now"> },
  count: number,
): Promise<void> {
  const hour = Math.floor(clock.now() / HOUR) * HOUR;
  const today = Math.floor(clock.now() / DAY) * DAY;
  const slots = SHADOW_ARMS.flatMap((arm) => LAB_TOKENS.map((token) => ({ arm, token })));
  for (let first = 0; first < count; first += CHUNK) {
    await t.run(async ({ db }) => {
      for (let i = first; i < Math.min(first + CHUNK, count); i++) {
        const slot = slots[i % slots.length];
        if (slot === undefined) throw new Error("There are slots");
        const row = openSignal(slot, today - (Math.floor(i / slots.length) + 1) * HOUR);
        const closedAt = row.generatedAt + HOUR;
        await db.insert("signals", {
          ...row,
          open: false,
          status: "WIN",
          exitPrice: 101,
          pnlPercent: 1,
          closedAt,
        });
        const { arm, slot: hour, token } = row;
        const run = { desk: "lab" as const, arm, slot: hour, token, attempt: 1, announced: false };
        await db.insert("signalRuns", { ...run, state: "issued" });
        const hash = (i + 1).toString(16).padStart(64, "0");
        const content = { ...slot, hour: iso(hour), reason: "failed" as const, at: iso(closedAt) };
        const links = { sequence: i + 1, contentHash: hash, previousHash: hash, hash };
        await db.insert("signalEvents", { desk: "lab", event: { ...links, kind: "missed", content } });
      }
    });
  }
  await t.run(async ({ db }) => {
    for (const arm of SHADOW_ARMS) {
      const [model = "", promptVersion = ""] = arm.split("@");
      await db.insert("signalArms", { arm, model, promptVersion, since: 0 });
      for (const scope of [...LAB_TOKENS, "ALL" as const])
        await db.insert("signalTotals", { arm, scope, ...emptyTotals() });
      for (const against of SHADOW_ARMS)
        if (against !== arm) await db.insert("signalPairs", { arm, against, days: NO_SEEN });
    }
    await db.insert("signalDays", { desk: "lab", day: dayOf(today - DAY) });
    for (let back = 1; back <= OPEN_HOURS; back++)
      for (const slot of slots) await db.insert("signals", openSignal(slot, hour - back * HOUR));
  });
}

function openSignal(
  slot: Pick<Doc<"signals">, "arm" | "token">,
  hour: number,
): WithoutSystemFields<Doc<"signals">> {
  const generatedAt = hour + HOUR / 4;
  return {
    ...{
      ...slot,
      ...{ desk: "lab", slot: hour, record: slot.arm, promptVersion: "signal-2" },
      generatedAt,
      expiresAt: generatedAt + 6 * HOUR,
      status: "PENDING",
      model: "simulated",
    },
    ...{ signal: "BUY", entry: 100, tp1: 1e9, tp2: 1e9, sl: 1, confidence: 60, costBps: 15 },
    reasoning: "A reason of some length. ".repeat(10),
    price: { usd: 100, source: "coinbase", observedAt: generatedAt },
    calibrated: { confidence: 55, method: "isotonic", n: 500 },
    ...{ walkedUntil: generatedAt, gapMinutes: 0, coin: null, momentum: null, open: true },
  };
}
