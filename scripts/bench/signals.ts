import crons from "../../convex/crons";
import { internal } from "../../convex/_generated/api";
import { HOUR, MINUTE } from "../../convex/lib/time";
import * as z from "zod";
import { nextDue, scheduleShape } from "../stack/crontab";
import { measure, type Usage } from "../host/usage";
import { insertShadows, SHADOW_ARMS } from "./shadowRows";
import { insertAlerts, insertSignals } from "./signalRows";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { createWorld, type World } from "./world";

/** Documents per call of the signals' and whales' endpoints and jobs, with 100 and 10,000 signals and alerts stored. */
export const question = "Documents read and written by signals and whale alerts, by what is stored";

const SIZES = [100, 10_000];

const paths = [
  "/mcp/signals/latest",
  "/mcp/signals/history",
  "/mcp/signals/history?limit=100",
  "/mcp/signals/history?token=ETH",
  "/mcp/signals/recap",
  "/signals/proof",
  "/signals/shadow",
  "/record",
  "/mcp/whale-alerts",
] as const;

/** Their ticks with nothing but the open signals to do. Counting a day of the shadow arms, once a day, reads its 204 at most. */
const ticks = [
  "signals/outcomes/tracker:track",
  "signals/desk/runs:openHour",
  "signals/outcomes/tracker:trackShadows",
  "signals/recaps/weeks:openDue",
  "ops/due:takeUp",
];

export async function run(progress: Progress): Promise<Table> {
  const measured: Map<string, Usage>[] = [];
  for (const size of SIZES) {
    progress(`${figure(size)} signals stored`);
    measured.push(await usagesAt(size));
  }
  progress(`${IDLE_HOURS} idle hours`);
  const names = [...(measured[0]?.keys() ?? [])];
  const unequal = names.filter((name) => new Set(measured.map((usages) => shown(usages.get(name)))).size > 1);
  return {
    inputs: [
      "Each cell: documents read / documents written / index ranges, the components' included.",
      "Stored: so many closed signals with an event each, their totals, and as many whale alerts, five an hour.",
      "As many shadow signals of four arms, an hour's twelve together, and the last six hours' open ones.",
      "Open: today's two signals. The recap's review is written before it is measured.",
    ],
    columns: ["", ...SIZES.map((size) => `${figure(size)} signals`)],
    rows: names.map((name) => [name, ...measured.map((usages) => shown(usages.get(name)))]),
    notes: [unequal.length === 0 ? "Equal at both sizes." : `NOT EQUAL: ${unequal.join(", ")}`],
    next: await idleCalls(),
  };
}

async function usagesAt(size: number): Promise<Map<string, Usage>> {
  const world = await createWorld({ variables: { SHADOW_ARMS: SHADOW_ARMS.join(",") } });
  try {
    await insertSignals(world, size);
    await insertAlerts(world, size);
    await insertShadows(world, size);
    await world.call("GET", "/mcp/signals/recap");
    const usages = new Map<string, Usage>();
    const take = async (name: string, work: () => Promise<unknown>) => {
      usages.set(name, (await measure(work)).usage);
    };
    for (const path of paths) await take(`GET ${path}`, () => world.call("GET", path));
    for (const { name, tick } of world.crons) if (ticks.includes(name)) await take(`cron: ${name}`, tick);
    await take("tracker's look at one token", () =>
      world.clock.during(
        world.t.action(internal.signals.outcomes.sight.look, { desk: "daily", token: "BTC" }),
      ),
    );
    await take("shadow tracker's look at one token", () =>
      world.clock.during(world.t.action(internal.signals.outcomes.sight.look, { desk: "lab", token: "BTC" })),
    );
    return usages;
  } finally {
    world.stop();
  }
}

function shown(usage: Usage | undefined): string {
  return usage === undefined ? "-" : `${usage.read} / ${usage.written} / ${usage.ranges}`;
}

const IDLE_HOURS = 24;
/** A Sunday, so that every job comes up once. */
const IDLE_START = Date.UTC(2026, 0, 4);
const PROVIDERS = ["tickers", "llm", "agent", "messenger", "sentiment", "swap"] as const;
const schedules = z.record(z.string(), z.object({ schedule: scheduleShape }));

/** What a service that nobody calls asks of the outside. */
async function idleCalls(): Promise<Table & { question: string }> {
  const world = await createWorld({
    start: IDLE_START,
    // The usual times; the messenger's and the gateway's own are those of the other questions.
    answerMs: { llm: 10_000, messenger: 1_000 },
  });
  try {
    await idle(world);
    const hourOf = (at: number) => Math.floor((at - IDLE_START) / HOUR);
    const rows = PROVIDERS.map((provider) => {
      const calls = world.standins.sent(provider).map(({ at }) => hourOf(at));
      const byHour = Array.from(
        { length: IDLE_HOURS },
        (_, hour) => calls.filter((at) => at === hour).length,
      );
      return [
        provider,
        figure(calls.length),
        figure(calls.length / IDLE_HOURS, 1),
        figure(Math.max(...byHour)),
      ];
    });
    return {
      question: "Outside calls of an idle service",
      inputs: [
        `${IDLE_HOURS} simulated hours, a Sunday, every cron at its own times; nobody calls, no shift runs.`,
        "The agent's jobs take 3 to 6 s and are asked after 2 s, then ever more slowly. Of the messenger, messages sent.",
        "There is no chain here: every price sample asks a ticker. Where the feeds are in reach, one RPC call replaces it.",
      ],
      columns: ["provider", "calls in 24 h", "an hour", "busiest hour"],
      rows,
      notes: [],
    };
  } finally {
    world.stop();
  }
}

/** Lets time pass with every cron run when it is due. */
async function idle(world: World): Promise<void> {
  const failures: unknown[] = [];
  for (const [id, { schedule }] of Object.entries(schedules.parse(crons.crons))) {
    const cron = world.crons.find((one) => one.id === id);
    if (cron === undefined) throw new Error(`There is no cron "${id}"`);
    const end = IDLE_START + IDLE_HOURS * HOUR;
    // A minute before, so that what is due at the start runs.
    for (let due = nextDue(schedule, IDLE_START - MINUTE); due < end; due = nextDue(schedule, due)) {
      if (due < IDLE_START) continue;
      world.clock.after(
        due - IDLE_START,
        () => void cron.tick().catch((error: unknown) => failures.push(error)),
      );
    }
  }
  await world.clock.advance(IDLE_HOURS * HOUR);
  if (failures.length > 0) throw new AggregateError(failures, "A cron failed");
}
