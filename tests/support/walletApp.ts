import { startChain, type Chain } from "../../scripts/stack/chain";
import { pricesOf } from "../../scripts/stack/localChain";
import { createMarket } from "../../scripts/stack/standins/market";
import { createWorld, verbs, type WorldOptions } from "./world";

/** The application under test in real time, on a real local chain. */

export type WalletApp = ReturnType<typeof createWalletApp>;

/** A chain of a test file's own, which keeps nothing. */
export function startTestChain(): Promise<Chain> {
  const market = createMarket({ seed: "tests", now: () => Date.now() });
  return startChain({
    port: 0,
    clock: () => Date.now() / 1000,
    speed: 1,
    stateFile: null,
    prices: () => pricesOf(market),
    log: () => undefined,
  });
}

export function createWalletApp(chain: Chain, options: WorldOptions = {}) {
  const world = createWorld({ chainUrl: () => chain.url, ...options });
  const http = verbs(world.call);

  /** Lets scheduled work end, as far as it does within some real time. */
  async function settle(ms = 300): Promise<void> {
    const until = performance.now() + ms;
    while (performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
    await world.t.finishInProgressScheduledFunctions();
  }

  /** A user's custody wallet with money in it. */
  async function fundedWallet(userId: string, amounts: Parameters<Chain["fund"]>[1]): Promise<`0x${string}`> {
    const { body } = await http.post("/mcp/defi/connect", { userId });
    const address = String(body.address);
    if (!isHexAddress(address)) throw new Error(`connect answered ${JSON.stringify(body)}`);
    await chain.fund(address, amounts);
    return address;
  }

  return { ...world, ...http, settle, fundedWallet, chain };
}

function isHexAddress(text: string): text is `0x${string}` {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

/** An address that nobody has used. */
export function freshAddress(): `0x${string}` {
  const bytes = crypto.getRandomValues(new Uint8Array(20));
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
