import { endpoints } from "../../convex/endpoints";
import { internal } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { measure, type Usage } from "../host/usage";
import { DUE, DUE_AFTER_MS, finishSynthesis, insertShifts, READER } from "./documentRows";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { createWorld } from "./world";

/** Documents per call of each endpoint and per tick of each cron, with 10, 1,000 and 10,000 active shifts stored. */
export const question = "Documents read and written, per endpoint call and per cron tick, by what is stored";

const SIZES = [10, 1_000, 10_000];

/** The jobs whose work `documentRows.ts` makes due. */
const WITH_DUE = [
  "research/shifts:collectDue",
  "research/reports/syntheses:claimDue",
  "lib/work/turns:resumeLost",
];

type Call = { name: string; method: "GET" | "POST"; path: `/${string}`; body?: object };

/** In this order: a later call finds what an earlier one stored. */
const calls: readonly Call[] = [
  { name: "refreshing", method: "GET", path: "/mcp/market" },
  { name: "cached", method: "GET", path: "/mcp/market" },
  { name: "refreshing", method: "GET", path: "/mcp/token?question=SOL" },
  { name: "cached", method: "GET", path: "/mcp/token?question=SOL" },
  {
    name: "market is fresh",
    method: "POST",
    path: "/mcp/chat",
    body: { userId: READER, question: "What moves?" },
  },
  { name: "refreshing", method: "POST", path: "/mcp/research", body: { userId: READER } },
  { name: "cached", method: "POST", path: "/mcp/research", body: { userId: READER } },
  { name: "", method: "GET", path: `/mcp/research/status?userId=${READER}` },
  { name: "", method: "GET", path: "/mcp/research/report?token=BTC" },
  {
    name: "a first one",
    method: "POST",
    path: "/mcp/research/start",
    body: { userId: READER, token: "PEPE" },
  },
  { name: "2 active shifts", method: "POST", path: "/mcp/research/stop", body: { userId: READER } },
  { name: "", method: "POST", path: "/user/messenger", body: { userId: READER, messengerChatId: "-100123" } },
  { name: "", method: "GET", path: "/health" },
];

export async function run(progress: Progress): Promise<Table> {
  const columns: Map<string, Usage>[] = [];
  for (const size of SIZES) {
    progress(`${figure(size)} shifts stored`);
    columns.push(await measured(size));
  }
  const names = [...(columns[0]?.keys() ?? [])];
  const covered = new Set(calls.map(({ path }) => pathOf(path)));
  const left = new Set(endpoints.map(({ path }) => path).filter((path) => !covered.has(path)));
  return {
    inputs: [
      `Each cell: documents read / documents written / index ranges, the components' (rate limiter, work pools) included.`,
      "Stored for each active shift: a data point, a card and a report. What a call or tick only schedules is not in it.",
      `Due: ${DUE} shifts for a collection and for a report, on 3 foci, and ${DUE} cards cut off on their way.`,
    ],
    columns: ["", ...SIZES.map((size) => `${figure(size)} shifts`)],
    rows: names.map((name) => [name, ...columns.map((column) => shown(column.get(name)))]),
    notes: left.size === 0 ? [] : [`Not measured: ${[...left].join(", ")}`],
  };
}

async function measured(size: number): Promise<Map<string, Usage>> {
  const world = await createWorld();
  try {
    await insertShifts(world, size);
    const usages = new Map<string, Usage>();
    const take = async (name: string, work: () => Promise<unknown>) => {
      usages.set(name, (await measure(work)).usage);
    };
    for (const { id, tick } of world.crons) await take(`cron: ${id}, none due`, tick);
    for (const { name, method, path, body } of calls) {
      const title = `${method} ${pathOf(path)}${name === "" ? "" : `, ${name}`}`;
      await take(title, () => world.call(method, path, body));
    }
    await world.clock.advance(DUE_AFTER_MS + 2 * MINUTE);
    for (const due of WITH_DUE) {
      await take(`${due}, ${DUE} due`, () => world.run(due));
    }
    await world.clock.advance(2 * MINUTE);
    const synthesisId = await finishSynthesis(world);
    await take(`one synthesis published to ${DUE} shifts`, () =>
      world.t.mutation(internal.research.reports.publications.publish, { synthesisId }),
    );
    return usages;
  } finally {
    world.stop();
  }
}

function pathOf(pathWithQuery: string): string {
  return pathWithQuery.replace(/\?.*/, "");
}

function shown(usage: Usage | undefined): string {
  return usage === undefined ? "-" : `${usage.read} / ${usage.written} / ${usage.ranges}`;
}
