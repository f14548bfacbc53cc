import { describe, expect } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { buy, payer, transfer, test } from "../payments/payer";
import { chain, useChain } from "../support/chain/chain";
import { freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
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

type Asked = ReturnType<WalletApp["post"]>;

/** What is asked twice, with the chain down and with the chain back. */
const uses: [string, (app: WalletApp) => Promise<() => Asked>][] = [
  [
    "a send",
    (app) => {
      const order = { userId: "alice", token: "USDC", toAddress: freshAddress(), amount: "1000000" };
      return Promise.resolve(() => app.post("/mcp/defi/send", order));
    },
  ],
  [
    "a swap",
    (app) => {
      const order = { userId: "alice", fromToken: "USDC", toToken: "DAI", amount: "1000000" };
      return Promise.resolve(() => app.post("/mcp/defi/swap", order));
    },
  ],
  ["a portfolio", (app) => Promise.resolve(() => app.get("/mcp/defi/portfolio?userId=alice"))],
  [
    "a paid report",
    async (app) => {
      const hash = await transfer(chain, await payer(chain));
      return () => buy(app, { "X-PAYMENT": hash });
    },
  ],
];

describe.each(faults)("a chain that %s", (_, answer, error) => {
  test.for(uses)(
    "makes %s a 502 that names it, leaves nothing signed, and is forgiven",
    async ([_use, prepare], { app }) => {
      await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 5_000_000n });
      const ask = await prepare(app);
      const mend = breakChain(answer);
      if (error === TOO_SLOW) deadlines.chain = 150;
      // A payment is looked for as long as it may have been made.
      deadlines.receipt = 100;
      const failed = await ask();
      expect([failed.status, failed.body.error]).toEqual([502, expect.stringContaining(error)]);
      for (const row of await app.rows("orders")) {
        expect(row.state).toBe("failed");
        expect(row.tries).toEqual([]);
      }
      expect(await app.rows("paymentClaims")).toEqual([]);

      mend();
      unreachDeadlines();
      const good = await ask();
      expect([good.status, good.text.slice(0, 200)]).toEqual([200, good.text.slice(0, 200)]);
      for (const { state, tries } of await app.rows("orders"))
        expect([state, tries.length]).toEqual(
          tries.length === 0 ? ["failed", 0] : ["confirmed", tries.length],
        );
    },
  );
});
