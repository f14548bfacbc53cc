import { expect } from "vitest";
import type { Fault, Provider } from "../../scripts/standins";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { chain, test, useChain } from "../support/chain/chain";
import { createApp, type App } from "../support/app";

/** A provider fails while its caller waits, in every way; then it works again, and so does the service. */

useChain();

const faults: [string, Fault][] = [
  ["refuses", { mode: "status", status: 403 }],
  ["fails", { mode: "status", status: 500 }],
  ["is overloaded", { mode: "status", status: 429, retryAfter: 1 }],
  ["talks rubbish", { mode: "garbage" }],
  ["breaks off in the middle", { mode: "drop", half: true }],
  ["hangs up", { mode: "drop" }],
  ["is too slow", { mode: "slow", ms: 1_500 }],
];

/** How the answer to a caller names a provider. */
const NAMES: Partial<Record<Provider, RegExp>> = { llm: /LLM gateway/, swap: /swap provider/ };

type Use = {
  provider: Provider;
  what: string;
  ask: (app: App) => ReturnType<App["post"]>;
  /** With the provider failing. */
  status: number;
};

const uses: Use[] = [
  {
    provider: "llm",
    what: "a token question",
    ask: (app) => app.get("/mcp/token?question=SOL"),
    status: 502,
  },
  {
    provider: "llm",
    what: "chat",
    ask: (app) => app.post("/mcp/chat", { question: "What moves?", userId: "alice" }),
    status: 502,
  },
  {
    provider: "llm",
    what: "research",
    ask: (app) => app.post("/mcp/research", { userId: "alice", token: "BTC" }),
    status: 502,
  },
  {
    provider: "sentiment",
    what: "research",
    ask: (app) => app.post("/mcp/research", { userId: "alice", token: "BTC" }),
    status: 200,
  },
  {
    provider: "swap",
    what: "a swap",
    ask: async (app) => {
      const { body } = await app.post("/mcp/defi/connect", { userId: "alice" });
      const address = String(body["address"]);
      if (/^0x[0-9a-fA-F]{40}$/.test(address)) await chain.fund(`0x${address.slice(2)}`, { ETH: 10n ** 18n });
      return app.post("/mcp/defi/swap", {
        userId: "alice",
        fromToken: "ETH",
        toToken: "USDC",
        amount: "1000000000000000",
      });
    },
    status: 502,
  },
];

/** Every fault once, and every use with one that answers and one that does not. */
const cases = uses.flatMap((use, i) =>
  faults
    .filter(([does]) => i === 0 || /^fails|slow$/.test(does))
    .map(([does, fault]) => ({ ...use, does, fault })),
);

test.each(cases)(
  "$provider, asked for $what, $does, and works again",
  async ({ provider, ask, status, fault }) => {
    const app = createApp({ chainUrl: () => chain.url, now: Date.now() });
    const usual = { ...deadlines };
    if (fault.mode === "slow")
      Object.assign(deadlines, { llmInteractive: 300, llmScheduled: 300, sentiment: 300, swap: 300 });
    app.standins.fail(provider, fault);
    const failed = await ask(app);
    expect({ status: failed.status, text: failed.text }).toEqual({ status, text: failed.text });
    if (status === 502) expect(failed.body["error"]).toMatch(NAMES[provider] ?? "");
    expect((await app.rows("orders")).filter(({ tries }) => tries.length > 0)).toEqual([]);

    app.standins.clear();
    Object.assign(deadlines, usual);
    // What was tried in vain rests for 15 s.
    await app.advance(20_000);
    const good = await ask(app);
    expect({ status: good.status, text: good.text }).toEqual({ status: 200, text: good.text });
  },
);
