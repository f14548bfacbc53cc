import { makeFunctionReference } from "convex/server";
import { expect } from "vitest";
import crons from "../../convex/crons";
import { HOUR } from "../../convex/lib/time";
import { measure, type Usage } from "../../scripts/host/billing/usage";
import { createApp, test } from "../support/app";
import { insertShifts, READER } from "../support/rows/shiftRows";
import { insertAlerts, insertSignals } from "../support/rows/signalRows";

/** What a request and a tick of a cron read does not grow with what is stored. */

const PATHS = [
  ...["/mcp/market", "/mcp/token?question=SOL", "/mcp/research/report?token=BTC", "/health"],
  ...[`/mcp/research/status?userId=${READER}`, "/mcp/signals/latest", "/mcp/signals/history"],
  ...["/mcp/signals/history?token=ETH", "/mcp/signals/recap", "/signals/proof", "/signals/shadow", "/record"],
  "/mcp/whale-alerts",
];

/** With so many shifts, signals and whale alerts stored. */
async function costsWith(count: number): Promise<Record<string, Usage>> {
  const app = createApp();
  await insertShifts(app, count);
  await insertSignals(app, count);
  const detectedAt = (i: number) => Date.now() - (i * HOUR) / 5;
  await insertAlerts(
    app,
    Array.from({ length: count }, (_, i) => ({ detectedAt: detectedAt(i) })),
  );
  // What is written once and served from then on.
  for (const path of PATHS) await app.get(path);
  await app.settle();
  const costs: Record<string, Usage> = {};
  for (const path of PATHS) {
    const { value, usage } = await measure(() => app.get(path));
    expect([path, value.status]).toEqual([path, 200]);
    costs[path] = usage;
  }
  for (const { name } of Object.values(crons.crons)) {
    const tick = makeFunctionReference<"mutation">(name);
    costs[name] = (await measure(() => app.t.mutation(tick, {}))).usage;
  }
  return costs;
}

/** What is due just then. */
const CHANCE = 10;

test("a request and a cron's tick read and write no more documents with 400 of everything than with 200", async () => {
  const [few, many] = [await costsWith(200), await costsWith(400)];
  const grown = Object.entries(many).flatMap(([name, { read, written }]) => {
    const before = few[name];
    const more = read + written - (before === undefined ? 0 : before.read + before.written);
    return more > CHANCE ? [[name, more]] : [];
  });
  expect(grown).toEqual([]);
  expect(Object.keys(many).length).toBeGreaterThan(PATHS.length + 10);
});
