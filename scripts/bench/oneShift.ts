import { internal } from "../../convex/_generated/api";
import { HOUR } from "../../convex/lib/time";
import type { Bill } from "../host/billing/bill";
import { runCrons } from "./idleDay";
import type { Progress } from "./progress";
import { createWorld, type World } from "./world";

export type Cost = Pick<Bill, "calls" | "readBytes" | "writtenBytes" | "actionMs">;
export type Costs = Cost & { byFunction: Record<string, Cost> };

/** A function, and the processor time of its longest transaction, with what ran in between. */
type Longest = { name: string; ms: number };

const FREE: Cost = { calls: 0, readBytes: 0, writtenBytes: 0, actionMs: 0 };

/** What a shift costs on top of as many idle hours. */
export async function aShift(progress: Progress): Promise<Costs & { longest: Longest }> {
  let longest: Longest = { name: "", ms: 0 };
  const shiftHours = async (start: (world: World) => Promise<unknown>) => {
    const answerMs = { llm: 10_000, sentiment: 45_000, messenger: 1_000 };
    const world = await createWorld({ answerMs, processorMs });
    try {
      runCrons(world);
      await start(world);
      await world.clock.advance(9 * HOUR);
      const ran = world.host.core.processor.longest;
      if (ran.ms > longest.ms) longest = ran;
      return world.host.core.billing.told();
    } finally {
      world.stop();
    }
  };
  progress("a shift");
  const paidBy = { class: "anonymous" as const, holders: ["bench"] };
  const shift = { userId: "bench", token: "BTC", signedIn: false, paidBy };
  const busy = await shiftHours(({ t }) => t.mutation(internal.research.shifts.start, shift));
  const idle = await shiftHours(() => Promise.resolve());
  const names = Object.keys(busy.byFunction);
  return {
    ...beyond(busy, idle),
    longest,
    byFunction: Object.fromEntries(
      names.map((name) => [name, beyond(busy.byFunction[name], idle.byFunction[name])]),
    ),
  };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function beyond(busy: Cost = FREE, idle: Cost = FREE): Cost {
  return {
    calls: busy.calls - idle.calls,
    readBytes: busy.readBytes - idle.readBytes,
    writtenBytes: busy.writtenBytes - idle.writtenBytes,
    actionMs: busy.actionMs - idle.actionMs,
  };
}
