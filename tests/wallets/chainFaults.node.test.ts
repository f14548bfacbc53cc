import { expect } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { buy, payer, transfer, test } from "../payments/payer";
import { chain, useChain } from "../support/chain/chain";
import { unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
import { hang, intercept, type Outgoing } from "../support/outside";

/** The chain fails in front of whatever needs it at once; then it is back, and so is the service. */

useChain();

/** What the chain answers; whether it answers at all is for the caller's deadline to see. */
type Answer = (call: Outgoing) => Promise<Response>;

/** @returns What brings the chain back. */
const breakChain = (answer: Answer): (() => void) =>
  intercept((call, pass) => (call.url.startsWith(chain.url) ? answer(call) : pass()));

const TOO_SLOW = "The chain RPC did not answer in time";

const faults: [string, Answer, string][] = [
  [
    "cannot be reached",
    () => Promise.reject(new TypeError("fetch failed")),
    "The chain RPC could not be reached",
  ],
  ["is too slow", hang, TOO_SLOW],
];

/** What is asked twice, with the chain down and with the chain back. */
function usesOf(app: WalletApp, hash: string): Record<string, () => ReturnType<WalletApp["post"]>> {
  const order = { userId: "alice", amount: "1000000" };
  return {
    "a send": () =>
      app.post("/mcp/defi/send", { ...order, token: "USDC", toAddress: `0x${"b0".repeat(20)}` }),
    "a swap": () => app.post("/mcp/defi/swap", { ...order, fromToken: "USDC", toToken: "DAI" }),
    "a portfolio": () => app.get("/mcp/defi/portfolio?userId=alice"),
    "a paid report": () => buy(app, { "X-PAYMENT": hash }),
  };
}

test.for(faults)(
  "a chain that %s is a 502 that names it wherever it is needed, leaves nothing signed, and is forgiven",
  async ([_name, answer, error], { app }) => {
    await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 5_000_000n });
    const uses = usesOf(app, await transfer(chain, await payer(chain)));
    const mend = breakChain(answer);
    if (error === TOO_SLOW) deadlines.chain = 150;
    // A payment is looked for as long as it may have been made.
    deadlines.receipt = 100;
    for (const [name, ask] of Object.entries(uses)) {
      const { status, body } = await ask();
      expect([name, status, body.error]).toEqual([name, 502, expect.stringContaining(error)]);
    }
    for (const { state, tries } of await app.rows("orders")) expect([state, tries]).toEqual(["failed", []]);
    expect(await app.rows("paymentClaims")).toEqual([]);

    mend();
    unreachDeadlines();
    for (const [name, ask] of Object.entries(uses)) {
      const good = await ask();
      expect([name, good.status, good.text.slice(0, 200)]).toEqual([name, 200, good.text.slice(0, 200)]);
    }
    const orders = (await app.rows("orders")).filter(({ tries }) => tries.length > 0);
    expect(orders.map(({ state }) => state)).toEqual(["confirmed", "confirmed"]);
  },
);
