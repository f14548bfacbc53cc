import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import * as z from "zod";
import type { Chain } from "../../scripts/chain";
import { seededRandom } from "../../scripts/host/globals";
import { real } from "../../scripts/real";
import { TOKENS } from "../../scripts/chain/addresses";
import { balanceOf } from "../chain/support";
import { freshAddress } from "../support/chain/walletApp";
import { until } from "../support/waits";
import { startMain, STRONG_KEY, temporaryDirectory } from "./processes";

/**
 * A stack that holds real money is killed at random moments, while callers make wallets and send from them, and started
 * again. The chain, which is real to it, goes on. Whatever was answered stands: each wallet has its key, each order is paid
 * once at most, and the same idempotency key gets the same transaction.
 */

const AMOUNT = 1_000_000n;
/** Orders that are under way when the process dies. */
const TOGETHER = 3;
/** An order takes about half of this long. */
const LATEST_MS = 600;
/** Between two tries of an order that found no place to wait in. */
const PAUSE_MS = 200;
/** A caller who repeats an order whose wallet waits for a dead driver's lease does not wait for that. */
const PATIENCE_MS = 1_500;

const placesShape = z.object({ http: z.string() });
const connectedShape = z.object({ address: z.templateLiteral(["0x", z.string()]), existing: z.boolean() });
const sentShape = z.object({ txHash: z.string(), status: z.enum(["confirmed", "submitted", "failed"]) });

type Wallet = { userId: string; address: `0x${string}` };
type Order = { userId: string; key: string; to: `0x${string}`; txHash: string | null };

/** What rounds have come to. */
type Toll = { rounds: number; wallets: number; orders: number; answered: number };

const id = (what: string) => `${what}-${randomBytes(16).toString("hex")}`;

async function startStack(chain: Chain, LOCAL_STATE_DIR: string) {
  const main = startMain(["--hold-real-money", "--json"], {
    CHAIN_RPC_URL: chain.url,
    WALLET_ENCRYPTION_KEY: STRONG_KEY,
    LOCAL_STATE_DIR,
    // Beside a real chain these are the public ones.
    TICKER_API_URL: "http://127.0.0.1:9",
    EVIDENCE_API_URL: "http://127.0.0.1:9",
  });
  const [line = ""] = await main.output(/^\{.*\}$/m);
  const { http } = placesShape.parse(JSON.parse(line));
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const [a, b] = randomBytes(2);
    // Everybody comes from a place of their own: what one address may do in an hour is not what is asked here.
    const caller = { "X-Forwarded-For": `10.0.${a}.${b}`, ...headers };
    const response = await fetch(http + path, {
      method: "POST",
      headers: caller,
      body: JSON.stringify(body),
    });
    return { status: response.status, body: z.json().parse(await response.json()) };
  };
  const connect = async (userId: string) => {
    const { status, body } = await post("/mcp/defi/connect", { userId });
    expect([status, body]).toEqual([200, expect.anything()]);
    return connectedShape.parse(body);
  };
  /** @returns `null` where nobody answers in time. */
  const order = async ({ userId, key, to }: Order, patienceMs: number | null = null) => {
    const fields = { userId, toAddress: to, token: "USDC", amount: AMOUNT.toString() };
    const ask = () => post("/mcp/defi/send", fields, { "Idempotency-Key": key }).catch(() => null);
    // All come from one address, which keeps few orders waiting, and what was killed holds its places for half a minute.
    const served = async () => {
      for (;;) {
        const answer = await ask();
        if (answer?.status !== 429) return answer;
        await new Promise((resolve) => real.setTimeout(resolve, PAUSE_MS));
      }
    };
    const sent = served();
    const late = new Promise<null>((resolve) => {
      if (patienceMs !== null) real.setTimeout(() => resolve(null), patienceMs);
    });
    return Promise.race([sent, late]);
  };
  return { main, connect, order };
}

/** @param settled Whether the rounds end only when every order has: the lease of a dead driver is a minute long. */
export async function killRounds(
  chain: Chain,
  { rounds, seed, settled }: { rounds: number; seed: number; settled: boolean },
): Promise<Toll> {
  const chance = seededRandom(seed);
  const directory = await temporaryDirectory();
  const wallets: Wallet[] = [];
  const orders: Order[] = [];
  let stack = await startStack(chain, directory);

  /** The same hash as ever, once one was told. */
  const take = (order: Order, answer: { status: number; body: unknown } | null) => {
    if (answer?.status !== 200) {
      // What was answered with a hash has one for ever.
      if (answer !== null) expect([answer.body, order.txHash]).toEqual([expect.anything(), null]);
      return null;
    }
    const { txHash, status } = sentShape.parse(answer.body);
    expect(order.txHash ?? txHash).toBe(txHash);
    order.txHash = txHash;
    return status;
  };

  for (let round = 0; round < rounds; round++) {
    const spenders = await Promise.all(
      Array.from({ length: TOGETHER }, async () => {
        const userId = id("spender");
        const { address } = await stack.connect(userId);
        await chain.fund(address, { ETH: 10n ** 18n, USDC: 10n * AMOUNT });
        return userId;
      }),
    );
    let isAlive = true;
    const sending = spenders.map(async (userId) => {
      while (isAlive) {
        const order: Order = { userId, key: id("order"), to: freshAddress(), txHash: null };
        orders.push(order);
        take(order, await stack.order(order));
      }
    });
    const connecting = (async () => {
      while (isAlive && wallets.length <= 2 * round) {
        const userId = id("owner");
        const connected = await stack.connect(userId).catch(() => null);
        if (connected !== null) wallets.push({ userId, address: connected.address });
      }
    })();
    await new Promise((resolve) => real.setTimeout(resolve, chance() * LATEST_MS));
    isAlive = false;
    stack.main.kill("SIGKILL");
    await Promise.all([...sending, connecting, stack.main.ended]);

    stack = await startStack(chain, directory);
    for (const { userId, address } of wallets) {
      if (chance() < 4 / wallets.length)
        expect(await stack.connect(userId)).toEqual({ address, existing: true });
    }
    await Promise.all(
      orders.slice(-3 * TOGETHER).map(async (order) => take(order, await stack.order(order, PATIENCE_MS))),
    );
  }

  // Each key opens still.
  for (const { userId, address } of wallets.slice(-20)) {
    await chain.fund(address, { ETH: 10n ** 18n, USDC: AMOUNT });
    const last: Order = { userId, key: id("last"), to: freshAddress(), txHash: null };
    expect(take(last, await stack.order(last))).toBe("confirmed");
  }
  if (settled) {
    await until(async () => {
      const answers = await Promise.all(orders.map((order) => stack.order(order)));
      const ends = answers.map((answer, i) => {
        const order = orders[i];
        return order === undefined ? null : take(order, answer);
      });
      return ends.every((end) => end !== "submitted");
    });
  }
  for (const order of orders) {
    const end = take(order, await stack.order(order, PATIENCE_MS));
    // Read after the answer: what was still on its way may arrive meanwhile.
    const paid = await balanceOf(chain, TOKENS.USDC, order.to);
    const exactly = end === "confirmed" ? [AMOUNT] : settled ? [0n] : [0n, AMOUNT];
    expect([order.key, exactly]).toEqual([order.key, expect.arrayContaining([paid])]);
  }
  stack.main.kill("SIGTERM");
  expect((await stack.main.ended).code).toBe(0);
  const answered = orders.filter(({ txHash }) => txHash !== null).length;
  return { rounds, wallets: wallets.length, orders: orders.length, answered };
}
