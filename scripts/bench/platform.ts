import { fileURLToPath } from "node:url";
import { internal } from "../../convex/_generated/api";
import { HOUR, MINUTE } from "../../convex/lib/time";
import { timeAlone } from "../deploy/bareContext";
import { writeBundle, type BundledModule } from "../deploy/bundle";
import { checkBundle } from "../deploy/checks";
import { readDefinitions } from "../deploy/definitions";
import type { Bill } from "../host/billing/bill";
import { measure } from "../host/billing/usage";
import * as conflicts from "./conflicts";
import { idleDay } from "./idleDay";
import { aShift, type Cost, type Costs } from "./oneShift";
import type { Progress } from "./progress";
import { msOfASend } from "./sends";
import { figure, type Table } from "./table";
import { createWorld } from "./world";

/** What the platform would bill and evaluate: counted in the host, timed on the real bundle. */
export const question = "What does the service cost on the platform, and is that within its goals?";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MB = 1e6;
/** Convex's own code, which every module evaluates. */
const EMPTY = /^\/\/ \S*node_modules\/convex\/dist\/esm\/index\.js$/m;
const MODEL_MS = 20_000;
const IDLE_HOURS = 24;
/** A module's multiple is the median of so many evaluations, each compared with an empty module's. */
const TIMED = 7;
/** An empty module's ms on a quiet core, for goals in ms, which are multiples of it: the lowest measured value. */
const QUIET_MS = 4.2;
/** What a request's handler imports when it is called. */
const LOADED = {
  "a warm market": ["market/http.js"],
  health: ["ops/http.js"],
  chat: ["chat/http.js", "chat/agents.js", "lib/security/keyRequests.js", "chat/replies.js"],
};

/** How many functions are listed for their calls, and how many for their traffic. */
const TOLD = 12;
type Row = { what: string; measured: number; goal: number; digits?: number; unit?: string };

export async function run(progress: Progress): Promise<Table> {
  // Before all else: what a process has done makes it slower.
  progress("sends");
  const send = await msOfASend();
  progress("the bundle");
  const bundle = await writeBundle(ROOT, `${ROOT}/.local/benchBundle`);
  const definitions = await readDefinitions(ROOT);
  const { transactions, entries } = await checkBundle(bundle.modules, definitions);
  const clock = createStopwatch([...bundle.modules, ...definitions.modules]);
  const http = entries.find(({ path }) => path === "http.js")?.total ?? NaN;
  const warm = await warmCalls(clock, progress);
  const shift = await aShift(progress);
  const idle = await idleDay(IDLE_HOURS, progress);
  const minute = await idleMinute(idle, clock);
  const retries = await shareOfRetries(progress);
  const rows: Row[] = [
    { what: "idle calls a day", measured: idle.calls, goal: 6_000 },
    {
      what: "idle traffic a month",
      measured: (30 * trafficOf(idle)) / 1e9,
      goal: 0.15,
      digits: 3,
      unit: "GB",
    },
    { what: "calls a shift", measured: shift.calls, goal: 250 },
    { what: "traffic a shift", measured: trafficOf(shift) / MB, goal: 1.5, digits: 1, unit: "MB" },
    {
      what: "modules of transactions above 300 kB",
      measured: transactions.filter(({ total }) => total > 300_000).length,
      goal: 7,
    },
    {
      what: "half of them evaluate at most",
      measured: (transactions[Math.floor(transactions.length / 2)]?.total ?? NaN) / 1_000,
      goal: 200,
      digits: 1,
      unit: "kB",
    },
    { what: "http.js evaluates", measured: http / 1_000, goal: 420, unit: "kB" },
    {
      what: "http.js with a domain's endpoints, times an empty module",
      measured: await clock("http.js", ...LOADED["a warm market"]),
      goal: 12,
      digits: 1,
    },
    ...warm,
    { what: "a shift's longest transaction", measured: shift.longest.ms, goal: 1_000, unit: "ms" },
    { what: "an idle minute, times an empty module", measured: minute, goal: 250 / QUIET_MS, digits: 1 },
    {
      what: "action time of a model call, times its own",
      measured: await timesBilled(progress),
      goal: 1.05,
      digits: 2,
    },
    {
      what: "a send of 20 wallets side by side beside a plain client's, times an empty module",
      measured: send / clock.emptyMs(),
      goal: 3 / QUIET_MS,
      digits: 2,
    },
    { what: "retries under the conflicts bench", measured: retries, goal: 2, digits: 1, unit: "%" },
  ];
  return {
    inputs: [
      "Calls and bytes of documents (without indexes) as the host bills them: 24 idle hours with blocks every two seconds,",
      "and what a shift of eight hours adds to as many idle ones. Code: on the exact bundle, with all imports.",
      `Times: the processor's, of each function's module evaluated alone, as multiples of Convex's own code (${figure(clock.emptyMs(), 1)} ms here,`,
      `${QUIET_MS} on a quiet core); of a request, http.js with what its handler loads, and each function that it calls.`,
    ],
    columns: ["", "measured", "goal", "holds"],
    rows: rows.map(({ what, measured, goal, digits = 0, unit = "" }) => [
      what,
      `${figure(measured, digits)} ${unit}`.trim(),
      `≤ ${figure(goal, digits)} ${unit}`.trim(),
      measured <= goal ? "yes" : "NO",
    ]),
    notes: [
      ...dearest(idle).map((line) => `idle day: ${line}`),
      ...dearest(shift).map((line) => `shift: ${line}`),
      `shift: the longest transaction, ${shift.longest.name}`,
      `a send: ${figure(send, 2)} ms`,
    ],
    measured: { idle: { hours: IDLE_HOURS, ...useOf(idle) }, shift: useOf(shift) },
  };
}

type Stopwatch = ((path: string, ...later: readonly string[]) => Promise<number>) & { emptyMs: () => number };

/** Measures a module's time, with its later imports, in multiples of an empty one's. */
function createStopwatch(modules: readonly BundledModule[]): Stopwatch {
  const convex = modules.find(({ source }) => EMPTY.test(source));
  if (convex === undefined) throw new Error("The bundle has none of Convex's own code");
  const empty = { path: "empty.js", source: `import "./${convex.path}";` };
  const all = [...modules, empty];
  const times: number[] = [];
  /** Beside an empty one each time: a machine that is busier for a while is so for both. */
  const timed = async (path: string, ...later: readonly string[]) => {
    const multiples: number[] = [];
    for (let i = 0; i < TIMED; i++) {
      const alone = await timeAlone(all, empty.path);
      times.push(alone);
      multiples.push((await timeAlone(all, path, ...later)) / alone);
    }
    return median(multiples);
  };
  const known = new Map<string, number>();
  const multiple = async (path: string, ...later: readonly string[]) => {
    const name = [path, ...later].join(" ");
    const found = known.get(name) ?? (await timed(path, ...later));
    known.set(name, found);
    return found;
  };
  return Object.assign(multiple, { emptyMs: () => median(times) });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

async function warmCalls(clock: Stopwatch, progress: Progress): Promise<Row[]> {
  const world = await createWorld();
  const calls = [
    { what: "a warm market" as const, goal: 80, ask: () => world.call("GET", "/mcp/market") },
    { what: "health" as const, goal: 60, ask: () => world.call("GET", "/health") },
    {
      what: "chat" as const,
      goal: 200,
      ask: () => world.call("POST", "/mcp/chat", { userId: "bench", question: "What moves?" }),
    },
  ];
  try {
    const rows: Row[] = [];
    for (const { what, goal, ask } of calls) {
      progress(what);
      await ask();
      const { usage } = await measure(ask);
      let measured = 0;
      for (const module of usage.modules)
        measured += await clock(`${module}.js`, ...(module === "http" ? LOADED[what] : []));
      rows.push({ what: `${what}, times an empty module`, measured, goal: goal / QUIET_MS, digits: 1 });
    }
    return rows;
  } finally {
    world.stop();
  }
}

/** The most expensive functions, with both parts of the bill. */
function dearest({ byFunction }: Costs): string[] {
  const costs = Object.entries(byFunction);
  const by = (weight: (cost: Cost) => number) =>
    costs.toSorted(([, a], [, b]) => weight(b) - weight(a)).slice(0, TOLD);
  const names = new Map([...by(({ calls }) => calls), ...by(trafficOf)]);
  return [...names].map(
    ([name, cost]) =>
      `${name}, ${figure(cost.calls)} calls, ${figure(cost.readBytes / MB, 2)} MB read, ${figure(cost.writtenBytes / MB, 2)} MB written`,
  );
}

/** In multiples of an empty module. */
async function idleMinute({ byFunction }: Bill, clock: Stopwatch): Promise<number> {
  let sum = 0;
  for (const [name, { calls }] of Object.entries(byFunction)) {
    const [module = ""] = name.split(":");
    if (!name.startsWith("rateLimiter")) sum += calls * (await clock(`${module}.js`).catch(() => 1));
  }
  return sum / ((24 * HOUR) / MINUTE);
}

/** The billed action time of a scheduled model call, as a multiple of the model's own time. */
async function timesBilled(progress: Progress): Promise<number> {
  progress("a model call");
  const world = await createWorld({ answerMs: { llm: MODEL_MS } });
  try {
    const begun = { focus: "", caller: { address: null }, forService: true };
    await world.t.mutation(internal.market.snapshots.begin, begun);
    await world.clock.advance(MINUTE);
    return world.host.core.billing.told().actionMs / MODEL_MS;
  } finally {
    world.stop();
  }
}

async function shareOfRetries(progress: Progress): Promise<number> {
  const { rows } = await conflicts.run(progress);
  return Number.parseFloat(rows[0]?.[4] ?? "");
}

function useOf({ calls, readBytes, writtenBytes, actionMs }: Cost): Cost {
  return { calls, readBytes, writtenBytes, actionMs };
}

function trafficOf({ readBytes, writtenBytes }: Cost): number {
  return readBytes + writtenBytes;
}
