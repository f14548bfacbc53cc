import { Workpool } from "@convex-dev/workpool";
import { components } from "../_generated/api";

/**
 * The messenger's calls wait here, apart from the models' (`lib/lanes`). The small platform class runs 8 scheduled jobs at
 * once: both together leave room for the pool's own loop, for wallets, deposits and crons.
 */
export const deliveryPool = new Workpool(components.deliveryPool, { maxParallelism: 2, logLevel: "WARN" });

/** The pools round a start down to this many ms. Source: workpool's `shared.ts`. */
const TICK_MS = 100;

/** The options that keep a pool from starting work before `runAt` (epoch ms), when what it then finds is not due yet. */
export function notBefore(runAt: number | undefined): { runAt?: number } {
  return runAt === undefined ? {} : { runAt: Math.ceil(runAt / TICK_MS) * TICK_MS };
}
