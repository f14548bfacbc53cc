import { AsyncLocalStorage } from "node:async_hooks";
import rateLimiter from "@convex-dev/rate-limiter/test";
import { convexTest } from "convex-test";
import { expect, onTestFinished, TestRunner, vi } from "vitest";
import * as z from "zod";
import type { Id, TableNames } from "../../convex/_generated/dataModel";
import { takeUsage } from "../../convex/platform/outside/calls";
import { deadlines } from "../../convex/platform/outside/deadlines";
import schema from "../../convex/schema";
import { fetchFromLoopback, listen, type Listener } from "../../scripts/sockets";
import { createCountingFetch } from "../../scripts/stack/clock";
import { createStandins } from "../../scripts/standins";
import { assertDocumented } from "./document";
import { developersWordsIn, developersWordsOn } from "./plainWords";

/**
 * The application under test: the real functions with their components on Convex's own test library, the providers'
 * stand-ins in the same process, and no connection to anything else but a chain on this machine.
 */

type Modules = Record<string, () => Promise<unknown>>;

const modules: Modules = import.meta.glob(["../../convex/**/*.*s", "../../convex/**/*.tsx"]);
// Loading a module later takes real time, during which simulated time would run ahead. One that needs more than Node is
// for a function that no test runs.
await Promise.allSettled(Object.values(modules).map((load) => load()));
/** Drawing costs a second of processor time: cards have no pictures unless a test is about them. */
const drawing: Modules = { "../../convex/pictures/drawings.ts": () => import("./noPictures") };
const PROVIDERS = "http://providers.test";
const restores: (() => void)[] = [];
/** In whose world something runs: what a closed world has left under way reaches nobody in the next one. */
const running = new AsyncLocalStorage<object>();
const closed = new WeakSet<object>();
const LEVELS = ["log", "warn", "error", "info", "debug"] as const;
for (const level of LEVELS) {
  const tell = console[level].bind(console);
  console[level] = (...words: unknown[]) => {
    if (!closed.has(running.getStore() ?? {})) tell(...words);
  };
}
const usualDeadlines = { ...deadlines };
const jsonObject = z.record(z.string(), z.unknown());

export type Answer = { status: number; headers: Headers; body: Record<string, unknown>; text: string };
/** `as`: with the token of the signed-in person of this name. */
export type CallInit = RequestInit & { ip?: string; as?: string };

const ISSUER = "https://issuer.test";

/** The identity in a person's token. */
export function identityOf(subject: string) {
  return { subject, issuer: ISSUER, tokenIdentifier: `${ISSUER}|${subject}` };
}

export type WorldOptions = {
  env?: Record<string, string | undefined>;
  /** A chain on this machine, once one runs. */
  chainUrl?: () => string;
  /** Whether pictures are drawn. */
  pictures?: boolean;
  /** Modules of functions that replace the application's, by their path in `convex/` without its ending. */
  replaced?: Modules;
};

export function createWorld({ env = {}, chainUrl, pictures = false, replaced }: WorldOptions = {}) {
  let outside = 0;
  const self = {};
  // The platform gives every action module state of its own: what an ended world has noted is nobody's.
  takeUsage();
  const networkFetch = createCountingFetch(fetchFromLoopback, () => {
    outside += 1;
    return () => void (outside -= 1);
  });
  for (const name of ["importKey", "encrypt", "decrypt"] as const) {
    const counted = new Proxy(crypto.subtle[name], {
      apply: (method, self, args) => {
        const result: unknown = Reflect.apply(method, self, args);
        outside += 1;
        const done = () => void (outside -= 1);
        if (result instanceof Promise) result.then(done, done);
        else done();
        return result;
      },
    });
    replace(crypto.subtle, name, counted);
  }
  const standins = createStandins({
    seed: "tests",
    now: () => Date.now(),
    ...(chainUrl === undefined ? {} : { rpcUrl: chainUrl, fetch: networkFetch }),
  });
  const variables = {
    ...standins.env(PROVIDERS),
    WALLET_ENCRYPTION_KEY: "ab".repeat(32),
    // People of tests have short names.
    UNOWNED_DAILY_USD: "1000000000",
    CONVEX_SITE_URL: "https://some.convex.site",
    ...(chainUrl === undefined ? {} : { CHAIN_RPC_URL: chainUrl() }),
    ...env,
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    if ((running.getStore() ?? self) !== self) return new Promise(() => undefined);
    const url = new URL(input instanceof Request ? input.url : input);
    // The platform sends it all the same.
    if (init?.signal?.aborted === true) sentTooLate.push(url.href);
    if (url.origin === PROVIDERS) return standins.handle(new Request(input, init));
    if (url.hostname === "127.0.0.1") return networkFetch(input, init);
    throw new Error(`A test reached for ${url.origin}`);
  });
  const sentTooLate: string[] = [];
  const logged: unknown[][] = [];
  restores.push(() => closed.add(self));
  for (const level of LEVELS) {
    replace(console, level, (...words: unknown[]) => void logged.push(words));
  }

  const others = Object.entries(replaced ?? {}).map(([name, load]) => [`../../convex/${name}.ts`, load]);
  const all: Modules = { ...modules, ...(pictures ? {} : drawing), ...Object.fromEntries(others) };
  // An action that waits for an answer for ever would go on through the time of later worlds.
  const whileOpen = Object.entries(all).map(([name, load]): [string, () => Promise<unknown>] => [
    name,
    () => (closed.has(self) ? new Promise(() => undefined) : load()),
  ]);
  const t = convexTest({ schema, transactionLimits: true, modules: Object.fromEntries(whileOpen) });
  rateLimiter.register(t);
  // A world ends with its test; a world for a whole file has to be closed by the file.
  if (TestRunner.getCurrentTest() !== undefined)
    onTestFinished(() => {
      closeApp();
      expectPlainCards(standins.sent("messenger"));
      expect(sentTooLate).toEqual([]);
    });

  async function call(method: string, path: string, { ip, as, ...init }: CallInit = {}): Promise<Answer> {
    const client = t.withRequestMetadata({ ip: ip ?? null, userAgent: null });
    const caller = as === undefined ? client : client.withIdentity(identityOf(as));
    const response = await caller.fetch(path, { method, ...init });
    const text = await response.text();
    assertDocumented(method, path, { status: response.status, headers: response.headers, text });
    if (response.headers.get("content-type")?.startsWith("text/html") === true)
      expect(developersWordsOn(path, text)).toEqual([]);
    const isJson =
      text !== "" && response.headers.get("content-type")?.startsWith("application/json") === true;
    const body = isJson ? jsonObject.parse(JSON.parse(text)) : {};
    return { status: response.status, headers: response.headers, body, text };
  }

  return {
    t,
    standins,
    /** The console's output, call by call. */
    logged,
    /** Work outside this loop: calls over the network, and the engine's own cryptography. */
    outside: () => outside,
    call: (method: string, path: string, init?: CallInit) =>
      running.run(self, () => call(method, path, init)),
    /** Ends all that runs in this world: what it calls never answers. */
    end: (): void => void closed.add(self),
    hasEnded: () => closed.has(self),
    /** What this starts belongs to this world. */
    within: <Value>(work: () => Value) => running.run(self, work),
    /** Every row of a table, oldest first. */
    rows: <Table extends TableNames>(table: Table) => t.run((ctx) => ctx.db.query(table).collect()),
    row: <Table extends TableNames>(table: Table, id: Id<Table>) => t.run((ctx) => ctx.db.get(table, id)),
  };
}

/** In every test: no card for users contains a developer's word. */
function expectPlainCards(sent: readonly { text: string }[]): void {
  expect(sent.flatMap(({ text }) => developersWordsIn(text))).toEqual([]);
}

/** The verbs of an HTTP client. */
export function verbs(call: (method: string, path: string, init?: CallInit) => Promise<Answer>) {
  return {
    call,
    get: (path: string, init?: CallInit) => call("GET", path, init),
    post: (path: string, body?: unknown, init?: CallInit) =>
      call("POST", path, { ...init, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
  };
}

/** The application behind an address of this machine, for clients that speak HTTP themselves. */
export function serve({ call }: Pick<ReturnType<typeof createWorld>, "call">): Promise<Listener> {
  return listen(0, "PORT", async (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = method === "POST" ? { body: await request.text() } : {};
    const answer = await call(method, pathname + search, { headers, ...body });
    return new Response(answer.text, answer);
  });
}

/** Replaces a method of a global until the test's world ends. Unlike a spy it keeps no calls. */
export function replace<Holder, Name extends keyof Holder>(
  holder: Holder,
  name: Name,
  method: Holder[Name],
): void {
  const usual = holder[name];
  restores.push(() => void (holder[name] = usual));
  holder[name] = method;
}

/** Ends a test's world: nothing of it runs any more; real clock, fetch and environment return. */
export function closeApp(): void {
  Object.assign(deadlines, usualDeadlines);
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  for (const restore of restores.splice(0).toReversed()) restore();
}
