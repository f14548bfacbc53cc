import { AsyncLocalStorage } from "node:async_hooks";
import * as z from "zod";
import { createSteppedClock, type SteppedClock } from "../../../scripts/bench/steppedClock";
import { createApplication, type Application, type Dump } from "../../../scripts/stack/application";
import type { Chain } from "../../../scripts/chain";
import type { Clock } from "../../../scripts/stack/time/clock";
import { startCrons, type Crons, type DueTimes } from "../../../scripts/stack/time/crons";
import { applyVariables } from "../../../scripts/stack/env";
import { paymentAccounts } from "../../../scripts/stack/localChain";
import { loopbackFetch } from "../../../scripts/sockets/loopback";
import { captureLogs } from "../../../scripts/stack/logs";
import { own as service } from "../../../scripts/stack/modules";
import { real } from "../../../scripts/real";
import { createStandins, type Standins } from "../../../scripts/standins";

/**
 * The application on a simulated clock, and its deaths: at an outside call or a commit the instance is abandoned, and a
 * new one goes on from what was committed. The chain, the stand-ins and the time belong to the world, and live on.
 */

/** Where an instance dies: at its n-th call to the outside, before it leaves or after its effect, or with the
 * transaction of its n-th write. */
type Death = { point: "before" | "after" | "write"; n: number };

/** @property againMs When its caller is told to come back; `null` where they are not. */
export type Answer = { status: number; body: Record<string, unknown>; againMs: number | null };

export type Host = {
  chain: Chain;
  standins: Standins;
  now: () => number;
  /** Has the running instance die there. */
  arm: (death: Death) => void;
  /** Lets it live. */
  disarm: () => void;
  /** Rejects when the instance that was asked has died before its answer. */
  post: (
    path: string,
    body: object,
    from: { ip: string; headers?: Record<string, string> },
  ) => Promise<Answer>;
  /** Calls back whenever a new instance is up. */
  reborn: (work: () => void) => void;
  /** Lets time pass, through deaths. */
  pass: (until: number) => Promise<void>;
  /** Lets time pass until it is settled. To be used while no death is armed. */
  during: <Value>(promise: Promise<Value>) => Promise<Value>;
  /** All rows by table, as they are. */
  rows: () => Promise<Rows>;
  /** The rows that each dead instance left behind. */
  remains: Rows[];
  /** What it wrote to its log, the latest last. */
  log: string[];
  stop: () => void;
};

export type Rows = (table: string) => Record<string, unknown>[];

/** An instance of the application. */
type Life = {
  dead: boolean;
  /** What was committed is safe: whatever of it still runs may run into errors. */
  buried: boolean;
  /** Ends the calls to the outside that were never answered. */
  lost: (() => void)[];
};
const born = (): Life => ({ dead: false, buried: false, lost: [] });

const PROVIDERS = "http://providers.invalid";
const BLOCK_MS = 2_000;
const FEEDS_MS = 600_000;

const lives = new AsyncLocalStorage<Life>();
const jsonObject = z.record(z.string(), z.unknown());
/**
 * A call of a dead instance: it is never answered, as far as what is committed can tell. Afterwards it fails, because
 * libraries remember the calls under way; on the platform that memory dies with the instance.
 */
function unanswered<Value>(life: Life): Promise<Value> {
  return new Promise<Value>((_, reject) => {
    const fail = () => reject(new TypeError("fetch failed"));
    if (life.buried) fail();
    else life.lost.push(fail);
  });
}
/** @param options.downtime How long a dead instance is missed, in ms. */
export async function startHost(options: {
  chain: Chain;
  start: number;
  seed: string;
  downtime: () => number;
}): Promise<Host> {
  const { chain } = options;
  let clock: SteppedClock = simulatedClock(options.start);
  let life = born();
  let armed: Death | null = null;
  let outside = 0;
  let writes = 0;
  let diedAt = 0;
  let application: Application;
  let crons: Crons;
  const log: string[] = [];
  let reborn: () => void = () => undefined;
  const remains: Rows[] = [];

  const standins = createStandins({ seed: options.seed, now: () => clock.now(), rpcUrl: () => chain.url });
  const restoreLogs = captureLogs(
    (line) => void log.push(line),
    () => clock.now(),
  );
  const errors = console.error;
  console.error = (...data: unknown[]) => void log.push(data.map(String).join(" ").slice(0, 400));
  const restoreVariables = applyVariables({
    ...standins.env(PROVIDERS),
    ...paymentAccounts(chain),
    CHAIN_RPC_URL: chain.url,
    WALLET_ENCRYPTION_KEY: "ab".repeat(32),
    CONVEX_SITE_URL: "https://some.convex.site",
    LOG_LEVEL: "REPORT",
  });

  const die = (): void => {
    life.dead = true;
    armed = null;
    diedAt = clock.now();
    clock.freeze();
  };
  const written = (own: Life) => {
    if (own === life && !own.dead && armed?.point === "write" && armed.n === ++writes) die();
  };

  globalThis.fetch = async (input, init) => {
    const own = lives.getStore();
    if (own === undefined) throw new Error("Only the application calls the outside");
    const isDead = () => own.dead;
    if (isDead()) return unanswered(own);
    const isLast = armed !== null && armed.point !== "write" && armed.n === ++outside;
    if (isLast && armed?.point === "before") die();
    if (isDead()) return unanswered(own);
    const release = clock.hold();
    try {
      const response = await forwarded(new Request(input, init));
      if (isLast && !isDead()) die();
      return isDead() ? await unanswered<Response>(own) : response;
    } finally {
      real.setImmediate(release);
    }
  };
  const forwarded = async (request: Request): Promise<Response> => {
    if (request.url.startsWith(PROVIDERS)) return whole(await lives.exit(() => standins.handle(request)));
    if (!request.url.startsWith(chain.url)) throw new Error(`It reached for ${request.url}`);
    const body = await request.clone().text();
    const response = await whole(await loopbackFetch(request));
    if (body.includes("eth_sendRawTransaction")) mineSoon();
    return response;
  };

  /** The world's own doings, in its time. */
  const inTheWorld = (ms: number, work: () => Promise<unknown>) => {
    lives.exit(() => {
      clock.after(ms, () => {
        const release = clock.hold();
        void work().finally(() => real.setImmediate(release));
      });
    });
  };
  let waiting = false;
  const mineSoon = () => {
    if (waiting) return;
    waiting = true;
    inTheWorld(BLOCK_MS, async () => {
      waiting = false;
      await chain.miner.mine();
    });
  };
  const keepFeeds = () =>
    inTheWorld(FEEDS_MS, async () => {
      await chain.miner.mine();
      await chain.feeds.tick();
      keepFeeds();
    });

  const boot = async (rows: Dump | null, due: DueTimes) => {
    const own = born();
    const time = clockOf(() => clock, own);
    life = own;
    outside = 0;
    writes = 0;
    application = await createApplication({
      source: service,
      clock: time,
      preload: true,
      // One that is to be the last still commits with its transaction, and nothing gets out behind it.
      onWrite: () => written(lives.getStore() ?? own),
    });
    if (rows !== null) await application.restore(rows);
    crons = await startCrons(application, time, due);
    keepFeeds();
  };

  const rebirth = async () => {
    const due = crons.dueTimes();
    // A death waits for nothing.
    void crons.stop();
    const rows = application.dump();
    remains.push(byTable(rows));
    life.buried = true;
    for (const fail of life.lost) fail();
    clock.flush();
    clock.stop();
    clock = simulatedClock(diedAt + options.downtime());
    await chain.miner.mine();
    await chain.feeds.tick();
    waiting = false;
    await boot(rows, due);
    mineSoon();
    reborn();
  };

  await chain.miner.mine();
  await chain.feeds.tick();
  await boot(null, {});

  return {
    chain,
    standins,
    remains,
    log,
    now: () => clock.now(),
    arm: (death) => {
      armed = death;
      outside = 0;
      writes = 0;
    },
    disarm: () => void (armed = null),
    reborn: (work) => void (reborn = work),
    post: async (path, body, { ip, headers = {} }) => {
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const own = life;
      const response = await application.fetch(path, init, { ip });
      const again = response.headers.get("retry-after");
      const answer = {
        status: response.status,
        body: jsonObject.parse(await response.json()),
        againMs: again === null ? null : Number(again) * 1_000,
      };
      if (own.dead) throw new Error("The instance has died");
      return answer;
    },
    pass: async (until) => {
      while (clock.now() < until || life.dead) {
        if (life.dead) await rebirth();
        const step = Math.min(3_600_000, until - clock.now());
        if (step > 0) await clock.advance(step);
        if (!life.dead) application.forgetJobs(clock.now() - 1_800_000);
      }
    },
    during: (promise) => clock.during(promise),
    rows: () => Promise.resolve(byTable(application.dump())),
    stop: () => {
      void crons.stop();
      life.dead = true;
      clock.freeze();
      clock.stop();
      globalThis.fetch = real.fetch;
      restoreVariables();
      console.error = errors;
      restoreLogs();
    },
  };
}

/** A stepped clock whose timers are the application's alone: what Node sets for a connection stays on real time. */
function simulatedClock(start: number): SteppedClock {
  const clock = createSteppedClock(start);
  const { setTimeout: simulated, clearTimeout: simulatedEnd } = globalThis;
  Object.assign(globalThis, {
    setTimeout: (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const life = lives.getStore();
      if (life?.buried === true) return ms > 1 ? null : real.setImmediate(work, ...args);
      return (life === undefined ? real.setTimeout : simulated)(work, ms, ...args);
    },
    clearTimeout: (timer: Parameters<typeof clearTimeout>[0]) => {
      if (lives.getStore() === undefined) real.clearTimeout(timer);
      else simulatedEnd(timer);
    },
  });
  return clock;
}

function clockOf(clock: () => SteppedClock, life: Life): Clock {
  return {
    // Above 1: a cron that is late after a death is no news.
    speed: 2,
    now: () => clock().now(),
    notBefore: () => undefined,
    inside: (work) => lives.run(life, work),
    after: (ms, work) => {
      let wanted = true;
      clock().after(ms, () => {
        if (wanted) work();
      });
      return () => void (wanted = false);
    },
    stop: () => undefined,
  };
}

function byTable(dump: Dump): Rows {
  return (table) => (dump[""] ?? []).filter((row) => row.table === table).map(({ document }) => document);
}

/** The answer with all of its body, as it stood when it came. */
async function whole(response: Response): Promise<Response> {
  const { status, headers } = response;
  return new Response(response.body === null ? null : await response.arrayBuffer(), { status, headers });
}
