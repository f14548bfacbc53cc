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
 * The application on a simulated clock, with the stand-ins in its own process, for counting its work as fast as the
 * machine can. One at a time. Time only passes on command; crons only run when they are called.
 * @param options.answerMs How long each provider takes to answer, in simulated ms; 0 by default.
 * @param options.seed The seed of the simulated market.
 * @param options.start Where the clock starts, in epoch ms.
 * @param options.chain A chain on this machine, which mines transactions when they are sent.
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
    processorMs?: () => number;
  } = {},
) {
  const { answerMs = {}, chain, durationMs, platformClass, processorMs } = options;
  const parts = await loadParts(own);
  // Loading a module while the application runs would take time that the clock does not see.
  const loaded = await Promise.all(parts.map(preloaded));
  const clock = createSteppedClock(options.start ?? START, () => host.busy().length > 0);
  const standins = createStandins({ seed: options.seed ?? "bench", now: clock.now });
  const restoreLogs = captureLogs(null, clock.now);
  const restoreVariables = applyVariables({
    ...standins.env(PROVIDERS),
    // The budget of a crowd's day, which is not measured here.
    DAILY_BUDGET_USD: "100000",
    WALLET_ENCRYPTION_KEY: "ab".repeat(32),
    // The platform sets it; it is in the user agent for public sources.
    CONVEX_SITE_URL: "http://bench.invalid",
    // Malformed if there is no chain, so that none is called: viem loads modules before it reports a failure.
    CHAIN_RPC_URL: chain?.url ?? "none",
    LOG_LEVEL: "REPORT",
    ...options.variables,
  });
  /** With the caller's own timers: the host knows who waits for them. */
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { origin, pathname } = new URL(request.url);
    if (chain !== undefined && request.url.startsWith(chain.url)) {
      await pause(answerMs.chain ?? 0);
      return received(mined(chain, input, init));
    }
    if (origin !== PROVIDERS) throw new Error(`The bench reaches nothing outside, and not ${origin}`);
    const provider = PROVIDER_OF[pathname.split("/")[1] ?? ""];
    const wait = provider === undefined ? 0 : (answerMs[provider] ?? 0);
    const response = standins.handle(request);
    if (wait > 0) await pause(wait);
    return received(response);
  };
  /** The answer, which the application then reads without time passing. */
  const received = async (response: Promise<Response>): Promise<Response> => {
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
    ...(processorMs === undefined ? {} : { processorMs }),
  });
  const t = createClient<DataModel>(host);

  return {
    t,
    host,
    clock,
    standins,
    /** Calls an endpoint. @returns The answer's body. @throws Error unless the status is 200. */
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

/** The chain's answer; its transactions are in a block by then. */
async function mined(
  { miner }: Pick<Chain, "miner">,
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await loopbackFetch(input, init);
  if (typeof init?.body === "string" && init.body.includes("eth_sendRawTransaction")) await miner.look();
  return response;
}
