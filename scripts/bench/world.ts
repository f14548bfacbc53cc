import { fileURLToPath } from "node:url";
import { makeFunctionReference } from "convex/server";
import * as z from "zod";
import type { DataModel } from "../../convex/_generated/dataModel";
import crons from "../../convex/crons";
import { createHost } from "../stack/host";
import { createClient } from "../stack/host/client";
import { real } from "../stack/real";
import { applyVariables } from "../stack/env";
import { captureLogs } from "../stack/logs";
import { loadParts, preloaded } from "../stack/modules";
import { createStandins, type Provider } from "../stack/standins/index";
import { createSteppedClock } from "./steppedClock";

export type World = Awaited<ReturnType<typeof createWorld>>;

const cronArgs = z.tuple([z.record(z.string(), z.json())]);
const START = Date.UTC(2026, 0, 5, 9);
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
 */
export async function createWorld(
  options: { answerMs?: Partial<Record<Provider, number>>; seed?: string; start?: number } = {},
) {
  const parts = await loadParts(fileURLToPath(new URL("../../convex", import.meta.url)));
  // Loading a module while the application runs would take a time the clock does not see.
  const loaded = await Promise.all(parts.map(preloaded));
  const clock = createSteppedClock(options.start ?? START);
  const standins = createStandins({ seed: options.seed ?? "bench", now: clock.now });
  const restoreLogs = captureLogs(() => {}, clock.now);
  const restoreVariables = applyVariables({
    ...standins.env(PROVIDERS),
    // A crowd's day, which is not what is measured here.
    DAILY_BUDGET_USD: "100000",
    WALLET_ENCRYPTION_KEY: "ab".repeat(32),
    // Malformed, so that no chain is asked: there is none, and viem loads modules on the way to saying so.
    CHAIN_RPC_URL: "none",
    LOG_LEVEL: "REPORT",
  });
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { origin, pathname } = new URL(request.url);
    if (origin !== PROVIDERS) throw new Error(`The bench reaches nothing outside, and not ${origin}`);
    const provider = PROVIDER_OF[pathname.split("/")[1] ?? ""];
    const wait = provider === undefined ? 0 : (options.answerMs?.[provider] ?? 0);
    const response = standins.handle(request);
    if (wait > 0) await new Promise<void>((resolve) => clock.after(wait, resolve));
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

  const host = createHost({ parts: loaded });
  const t = createClient<DataModel>(host);

  return {
    t,
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
    crons: Object.entries(crons.crons).map(([id, { name, args }]) => ({
      id,
      /** The function it runs, as in `research/shifts:collectDue`. */
      name,
      tick: async (): Promise<void> => {
        const [named] = cronArgs.parse(args);
        await t.mutation(makeFunctionReference<"mutation">(name), named);
      },
    })),
    stop: () => {
      clock.stop();
      globalThis.fetch = real.fetch;
      restoreVariables();
      restoreLogs();
    },
  };
}
