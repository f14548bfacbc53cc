import { makeFunctionReference } from "convex/server";
import * as z from "zod";
import type { DataModel } from "../../convex/_generated/dataModel";
import crons from "../../convex/crons";
import type { Chain } from "../chain/index";
import { createHost, type HostOptions } from "../host";
import { createClient } from "../host/client";
import { loopbackFetch } from "../sockets/loopback";
import { real } from "../real";
import { applyVariables } from "../stack/env";
import { captureLogs } from "../stack/logs";
import { loadParts, own, preloaded } from "../stack/modules";
import { createStandins, type Provider } from "../standins/index";
import { createSteppedClock } from "./steppedClock";

export type World = Awaited<ReturnType<typeof createWorld>>;

const cronArgs = z.tuple([z.record(z.string(), z.json())]);
export const START = Date.UTC(2026, 0, 5, 9);
const PROVIDERS = "http://providers.invalid";
const PROVIDER_OF: Record<string, Provider> = {
  llm: "llm",
  "agent-api": "agent",
  sentiment: "sentiment",
  messenger: "messenger",
  tickers: "tickers",
};

/**
 * The application on a simulated clock, with the stand-ins in its own process: for counting what it does, as fast as
 * the machine can. One at a time. Time passes only where it is told to; crons run only where they are called.
 * @param options.answerMs How long each provider takes to answer, in simulated ms; 0 where none is given.
 * @param options.seed What the simulated market is made from.
 * @param options.start Where the clock starts, in epoch ms.
 * @param options.chain A chain on this machine, which mines what it is sent when it is sent.
 * @param options.durationMs How long a mutation takes, in simulated ms; without it, none overlap.
 */
export async function createWorld(
  options: {
    answerMs?: Partial<Record<Provider | "chain", number>>;
    seed?: string;
    start?: number;
    chain?: Pick<Chain, "url" | "miner">;
    durationMs?: () => number;
    platformClass?: HostOptions["platformClass"];
    variables?: Record<string, string>;
  } = {},
) {
  const { answerMs = {}, chain, durationMs, platformClass } = options;
  const parts = await loadParts(own);
  // Loading a module while the application runs would take a time the clock does not see.
  const loaded = await Promise.all(parts.map(preloaded));
  const clock = createSteppedClock(options.start ?? START, () => host.busy().length > 0);
  const standins = createStandins({ seed: options.seed ?? "bench", now: clock.now });
  const restoreLogs = captureLogs(null, clock.now);
  const restoreVariables = applyVariables({
    ...standins.env(PROVIDERS),
    // A crowd's day, which is not what is measured here.
    DAILY_BUDGET_USD: "100000",
    WALLET_ENCRYPTION_KEY: "ab".repeat(32),
    // The platform sets it; public sources are told by it who asks.
    CONVEX_SITE_URL: "http://bench.invalid",
    // Malformed where there is no chain, so that none is asked: viem loads modules on the way to saying so.
    CHAIN_RPC_URL: chain?.url ?? "none",
    LOG_LEVEL: "REPORT",
    ...options.variables,
  });
  /** By the caller's own timers: the host knows what waits for them. */
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { origin, pathname } = new URL(request.url);
    if (chain !== undefined && request.url.startsWith(chain.url)) {
      await pause(answerMs.chain ?? 0);
      return held(mined(chain, input, init));
    }
    if (origin !== PROVIDERS) throw new Error(`The bench reaches nothing outside, and not ${origin}`);
    const provider = PROVIDER_OF[pathname.split("/")[1] ?? ""];
    const wait = provider === undefined ? 0 : (answerMs[provider] ?? 0);
    const response = standins.handle(request);
    if (wait > 0) await pause(wait);
    return held(response);
  };
  /** The answer, which the application then reads without the clock going on. */
  const held = async (response: Promise<Response>): Promise<Response> => {
    const release = clock.hold();
    try {
      const { status, headers, body } = await response;
      const bytes = body === null ? null : await new Response(body).arrayBuffer();
      return new Response(bytes, { status, headers });
    } finally {
      real.setImmediate(release);
    }
  };

  const host = createHost({
    parts: loaded,
    ...(durationMs === undefined ? {} : { contention: { durationMs } }),
    ...(platformClass === undefined ? {} : { platformClass }),
  });
  const t = createClient<DataModel>(host);

  return {
    t,
    host,
    clock,
    standins,
    /** Calls an endpoint. @returns The answer's body. @throws Error when the answer is not a 200. */
    call: async (method: "GET" | "POST", path: string, body?: object): Promise<unknown> => {
      const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const client = t.withRequestMetadata({ ip: "127.0.0.1", userAgent: "bench" });
      const response = await clock.during(client.fetch(path, init));
      if (response.status !== 200)
        throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    /** Runs a mutation that needs no arguments, as in `market/samples:takeDue`. */
    run: async (name: string): Promise<void> => {
      await t.mutation(makeFunctionReference<"mutation">(name), {});
    },
    crons: Object.entries(crons.crons).map(([id, { name, args, schedule }]) => ({
      id,
      /** The function it runs, as in `research/shifts:collectDue`. */
      name,
      schedule,
      tick: async (): Promise<void> => {
        const [named] = cronArgs.parse(args);
        await t.mutation(makeFunctionReference<"mutation">(name), named);
      },
    })),
    stop: () => {
      host.stop();
      clock.stop();
      globalThis.fetch = real.fetch;
      restoreVariables();
      restoreLogs();
    },
  };
}

/** The chain's answer; what it was sent is in a block by then. */
async function mined(
  { miner }: Pick<Chain, "miner">,
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await loopbackFetch(input, init);
  if (typeof init?.body === "string" && init.body.includes("eth_sendRawTransaction")) await miner.look();
  return response;
}
