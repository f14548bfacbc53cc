import * as z from "zod";
import { signalStats } from "../../convex/signals/statistics/shapes";
import { publicSignal } from "../../convex/signals/views/shapes";
import { createWorld, type World } from "../bench/world";
import { bold, columns, createStatusLine, dim, framedCard, nextStep, progressBar } from "../terminal";
import { chartOf } from "./chart";
import { calibrationTable, latestTable, recordTable, type Records, type Signals } from "./trackRecord";

/**
 * `npm run demo -- signals`: 60 days of the signal jobs on a seeded simulated market, as fast as the machine can. The
 * application is the real one, on a simulated clock; the language model, the tickers and the messenger are stand-ins.
 * Shows the track record from `/mcp/signals/history`, the cumulative PnL, and the last weekly recap.
 */

const DAYS = 60;
const SEED = "demo";
/** A Monday, before the day's signals. */
export const START = Date.UTC(2026, 8, 21);

const SECOND = 1_000;
const HALF_HOUR = 30 * 60 * SECOND;
const DAY = 48 * HALF_HOUR;
/** Half hours of the day: signals come at 08:00, and by 15:00 the tracker has closed them all. */
const ISSUED = 16;
const OVER = 30;
const PAGE = 100;

const history = z.object({ signals: z.array(publicSignal), stats: signalStats });
const proof = z.object({ head: z.object({ sequence: z.number(), hash: z.string() }).nullable() });

/** @param json Prints only the result. @returns The exit code. */
export async function play(json: boolean): Promise<number> {
  const startedAt = performance.now();
  if (!json) {
    console.log(bold(`${DAYS} days of BTC and ETH signals on a simulated market (seed "${SEED}")`));
    console.log(dim("The providers are simulated; jobs, tracker and statistics are the service's own.\n"));
  }
  const world = await createWorld({ seed: SEED, start: START });
  try {
    await live(world, DAYS, json ? process.stderr : process.stdout);
    const signals = await allSignals(world);
    const records = await recordsOf(world);
    const { head } = proof.parse(await world.call("GET", "/signals/proof?limit=1"));
    const seconds = Math.round((performance.now() - startedAt) / SECOND);
    if (json) console.log(JSON.stringify({ days: DAYS, seconds, records, signals, head }, null, 2));
    else {
      show(world, { signals, records, head });
      console.log(dim(`\n${DAYS} days in ${seconds} s.`));
      console.log(nextStep("npm start runs the service; npm run verify-signals -- URL checks its record"));
    }
    return 0;
  } finally {
    world.stop();
  }
}

/** Runs the jobs at their times: prices every hour, the tracker every half hour while signals are open, signals daily, the recap weekly. */
export async function live(world: World, days: number, stream: NodeJS.WriteStream): Promise<void> {
  const line = createStatusLine(stream);
  for (let day = 0; day < days; day++) {
    for (let half = 0; half < 48; half++) {
      const due = START + day * DAY + half * HALF_HOUR;
      await world.clock.advance(due - world.clock.now());
      if (half % 2 === 0) await run(world, "market/samples:takeDue");
      if (half >= ISSUED && half <= OVER) await run(world, "signals/outcomes/tracker:track");
      if (half === ISSUED) await run(world, "signals/desk/runs:openDay");
    }
    if (day % 7 === 6) {
      await world.clock.advance(25 * 60 * SECOND - (world.clock.now() % HALF_HOUR));
      await run(world, "signals/recaps/weeks:openDue");
    }
    const { stats } = history.parse(await world.call("GET", "/mcp/signals/history?limit=1"));
    const date = dayName(START + day * DAY);
    const isShown = process.stdout.isTTY || day % 10 === 9;
    if (isShown) {
      line.show(`${progressBar((day + 1) / days)}  ${date}  ${stats.wins} won, ${stats.losses} lost`);
    }
  }
  line.end();
}

/** Runs a job, and lets its scheduled work continue for a moment. */
async function run(world: World, name: string): Promise<void> {
  await world.run(name);
  await world.clock.advance(name === "market/samples:takeDue" ? SECOND : 5 * SECOND);
}

type Told = { signals: Signals; records: Records; head: z.infer<typeof proof>["head"] };

function show(world: World, { signals, records, head }: Told): void {
  const width = columns();
  console.log(`\n${bold("Track record")}  ${dim("GET /mcp/signals/history")}\n`);
  console.log(recordTable(records));

  console.log(
    `\n${bold("Cumulative result after costs")}  ${dim("percentage points, same stake on every signal")}\n`,
  );
  console.log(chartOf(curveOf(signals), width));

  console.log(`\n${bold("Calibration")}  ${dim("how often a confidence came true")}\n`);
  console.log(calibrationTable(records.all));

  console.log(`\n${bold("Latest signals")}\n`);
  console.log(latestTable(signals.slice(0, 8)));

  const recap = world.standins.sent("messenger").findLast(({ text }) => /week/i.test(text.slice(0, 80)));
  if (recap !== undefined) {
    console.log(`\n${bold("The last weekly recap, as the messenger received it")}\n`);
    console.log(framedCard(recap.text, Math.min(width, 96)));
  }
  if (head !== null) {
    console.log(`\n${bold("Tamper evidence")}  ${dim("GET /signals/proof")}\n`);
    console.log(`  events  ${head.sequence}\n  head    ${head.hash}`);
  }
}

/** Every signal, newest first. */
async function allSignals(world: World): Promise<Signals> {
  const all: Signals = [];
  for (let before = ""; ;) {
    const page = history.parse(
      await world.call("GET", `/mcp/signals/history?limit=${PAGE}&before=${before}`),
    ).signals;
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return all;
    before = last.generatedAt;
  }
}

async function recordsOf(world: World): Promise<Records> {
  const of = async (query: string) =>
    history.parse(await world.call("GET", `/mcp/signals/history?limit=1${query}`)).stats;
  return { BTC: await of("&token=BTC"), ETH: await of("&token=ETH"), all: await of("") };
}

/** The sum of results after each day, from the first day's start on. */
function curveOf(newestFirst: Signals): { at: number; value: number }[] {
  const curve = [{ at: START, value: 0 }];
  for (let day = 0; day < DAYS; day++) {
    const closed = newestFirst.filter(({ closedAt }) => closedAt?.startsWith(dayName(START + day * DAY)));
    const sum = closed.reduce((total, { afterCostsPercent }) => total + (afterCostsPercent ?? 0), 0);
    curve.push({ at: START + (day + 1) * DAY, value: (curve.at(-1)?.value ?? 0) + sum });
  }
  return curve;
}

function dayName(at: number): string {
  return new Date(at).toISOString().slice(0, "2026-01-01".length);
}
