import { HOUR, MINUTE, SECOND } from "../../convex/lib/time";
import { startChain } from "../chain/index";
import type { Bill } from "../host/billing/bill";
import { nextDue, scheduleShape } from "../stack/time/crontab";
import { pricesOf } from "../stack/localChain";
import { createMarket } from "../standins/sources/market";
import { withQuickBlocks } from "./quickBlocks";
import { createWorld, START, type World } from "./world";

/** What the platform bills for a deployment that nobody uses, with a chain at Base's pace. */

const ANSWER_MS = { llm: 10_000, sentiment: 45_000, messenger: 1_000, tickers: 200, chain: 50 };

export async function idleDay(hours: number, progress: (what: string) => void): Promise<Bill> {
  let now = () => START;
  const market = createMarket({ seed: "idle", now: () => now() });
  const chain = await startChain({
    ...{ port: 0, clock: () => now() / 1_000, speed: 1, stateFile: null },
    prices: () => pricesOf(market),
    log: () => undefined,
  });
  try {
    const world = await createWorld({ chain, answerMs: ANSWER_MS, seed: "idle" });
    now = world.clock.now;
    globalThis.fetch = withQuickBlocks(globalThis.fetch, { url: chain.url, start: START - HOUR, now });
    try {
      runCrons(world);
      for (let minute = 0; minute < hours * 60; minute++) {
        if (minute % 60 === 0) progress(`idle hour ${minute / 60 + 1} of ${hours}`);
        if (minute % 15 === 0) await chain.feeds.tick();
        await world.clock.advance(MINUTE);
      }
      return world.host.core.billing.told();
    } finally {
      world.stop();
    }
  } finally {
    await chain.stop();
  }
}

/** Each cron at its times; no two begin in the same second, because their requests to the chain would share a batch here. */
export function runCrons({ crons, clock }: World): void {
  for (const [index, { schedule, tick }] of crons.entries()) {
    const timetable = scheduleShape.parse(schedule);
    const arm = (due: number) =>
      clock.after(due - clock.now(), () => {
        void tick().finally(() => arm(nextDue(timetable, due)));
      });
    arm(timetable.kind === "interval" ? clock.now() + index * SECOND : nextDue(timetable, clock.now()));
  }
}
