import { AsyncResource } from "node:async_hooks";
import { vi } from "vitest";
import { deadlines } from "../../../convex/platform/outside/deadlines";
import { startChain, type Chain } from "../../../scripts/chain";
import { listPrices } from "../../../scripts/stack/stack";
import { real } from "../../../scripts/real";
import { createMarket } from "../../../scripts/standins/market";
import { createWorld, replace, verbs, type WorldOptions } from "../world";
import { intercept } from "../outside";
import { until } from "../waits";

/**
 * The application under test on a real local chain, in real time on which no outcome depends: deadlines are out of
 * reach unless a test sets them, pauses are short, and transactions are mined when they are sent.
 */

export type WalletApp = ReturnType<typeof createWalletApp>;

type DeadlineName = keyof typeof deadlines;

/** Longer than a test may take. */
const OUT_OF_REACH_MS = 3_600_000;
/** What all nodes of one chain show at once is final after one more look. */
const NO_LAG_MS = 20;
/** The application's longest pause: until its turn to ask the source with the rarest turns. */
const LONGEST_PAUSE_MS = 48_000;
const SHORTENED_BY = 20;
/** About the time of one read. */
const LOOK_MS = 5;
/** How far the library's transactions, of which each has a time of its own, may be ahead of the clock. */
const AHEAD_MS = 50;

/** A test file's own chain, which keeps nothing. Its dollars are worth one dollar at every time of day. */
export function startTestChain(): Promise<Chain> {
  const market = createMarket({ seed: "tests", now: () => Date.now() });
  return startChain({
    port: 0,
    clock: () => Date.now() / 1000,
    speed: 1,
    stateFile: null,
    prices: () => ({ ...listPrices(market), USDC: 1, USDT: 1, DAI: 1 }),
    log: () => undefined,
  });
}

export function createWalletApp(chain: Chain, options: WorldOptions = {}) {
  const world = createWorld({ chainUrl: () => chain.url, ...options });
  const http = verbs(world.call);
  unreachDeadlines();
  const runOverdue = shortenPauses();
  mineWhatIsSent(chain);

  /** The scheduled work that has not ended: the rows of what has ended stay, and reading them would slow down each look. */
  const listJobs = () =>
    world.t.run(({ db }) =>
      db.system
        .query("_scheduled_functions")
        .filter((q) => {
          const kind = q.field("state.kind");
          return q.or(q.eq(kind, "pending"), q.eq(kind, "inProgress"));
        })
        .collect(),
    );
  const listRunning = async () => (await listJobs()).filter(({ state }) => state.kind === "inProgress");

  /** Waits until no scheduled work is due or running. */
  const settle = (): Promise<void> =>
    until(async () => {
      // Its world's work will never be over.
      if (world.hasEnded()) return new Promise(() => undefined);
      runOverdue();
      return (await listJobs()).every(
        ({ state, scheduledTime }) => state.kind === "pending" && scheduledTime > Date.now() + AHEAD_MS,
      );
    });

  /** What ran when the process died will never end: the scheduler gives it up, as the platform's does. */
  async function giveUpTheDead(): Promise<void> {
    const dead = await listRunning();
    await world.t.run(async (ctx) => {
      for (const { _id } of dead) await ctx.scheduler.cancel(_id);
    });
  }

  /** A user's custody wallet with money. @param ip Of who connects it: a network gets so many in an hour. */
  async function fundedWallet(
    userId: string,
    amounts: Parameters<Chain["fund"]>[1],
    ip?: string,
  ): Promise<`0x${string}`> {
    const from = ip === undefined ? {} : { ip };
    const { body } = await http.post("/mcp/defi/connect", { userId }, from);
    const address = String(body.address);
    if (!isHexAddress(address)) throw new Error(`connect answered ${JSON.stringify(body)}`);
    await chain.fund(address, amounts);
    return address;
  }

  return { ...world, ...http, settle, listRunning, giveUpTheDead, fundedWallet, chain };
}

/**
 * Makes all deadlines unreachable, so that nothing is given up on a slow machine: but for the lag of nodes, which only
 * tests with lagging nodes have (`waitForLaggingNodes`).
 */
export function unreachDeadlines(): void {
  for (const name of Object.keys(deadlines) as DeadlineName[]) deadlines[name] = OUT_OF_REACH_MS;
  deadlines.lag = NO_LAG_MS;
}

/** Lets every payment wait for nodes that lag, however slow the machine is. To be called after the application is made. */
export function waitForLaggingNodes(): void {
  deadlines.lag = OUT_OF_REACH_MS;
}

/**
 * Lets a deadline of the service pass only when the test calls the returned function. After that, it has passed for
 * everything that starts with it, until the test sets it again.
 */
export function deadlineByHand(name: DeadlineName): () => void {
  const controller = new AbortController();
  // The deadline is recognised by its length.
  const mark = OUT_OF_REACH_MS + 1 + Object.keys(deadlines).indexOf(name);
  deadlines[name] = mark;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  replace(AbortSignal, "timeout", (ms) => (ms === mark ? controller.signal : timeout(ms)));
  return () => controller.abort(new DOMException("The time is up", "TimeoutError"));
}

/**
 * Shortens the application's pauses, which let a real chain or other work continue, to a twentieth; they are longer if
 * many wait at the same time, because their reads would slow down that work.
 * @returns Runs what was put off for longer and is due by a clock that the test has moved on.
 */
function shortenPauses(): () => void {
  let waiting = 0;
  const later = new Map<unknown, { at: number; run: () => void }>();
  vi.stubGlobal("setTimeout", (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    if (ms > LONGEST_PAUSE_MS) {
      const run = AsyncResource.bind(() => {
        if (!later.delete(timer)) return;
        clearTimeout(timer);
        work(...args);
      });
      const timer = real.setTimeout(run, ms);
      later.set(timer, { at: Date.now() + ms, run });
      return timer;
    }
    if (!(ms > 0)) return real.setTimeout(work, ms, ...args);
    const pause = Math.min(ms, Math.max(ms / SHORTENED_BY, waiting * LOOK_MS));
    waiting++;
    return real.setTimeout(() => {
      waiting--;
      work(...args);
    }, pause);
  });
  const stop = globalThis.clearTimeout;
  vi.stubGlobal("clearTimeout", (timer: Parameters<typeof clearTimeout>[0]) => {
    later.delete(timer);
    stop(timer);
  });
  return () => {
    for (const { at, run } of [...later.values()]) if (at <= Date.now()) run();
  };
}

/** Mines blocks when there is something to mine, unless the test has paused the miner. */
function mineWhatIsSent(chain: Chain): void {
  intercept(async ({ body }, pass) => {
    const response = await pass();
    if (body.includes("eth_sendRawTransaction")) await chain.miner.look();
    return response;
  });
}

function isHexAddress(text: string): text is `0x${string}` {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

/** An address that nobody has used. */
export function freshAddress(): `0x${string}` {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
