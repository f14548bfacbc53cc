import { erc20Abi, type Address, type Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { Doc } from "../../convex/_generated/dataModel";
import { hashesOf, project } from "../../convex/wallets/rows";
import type { Chain } from "../../scripts/stack/chain";
import { TOKENS } from "../../scripts/stack/chain/addresses";
import { random, type Random } from "../../scripts/stack/standins/random";
import { clientOf, until } from "../chain/support";
import {
  authorize,
  buy,
  createPaidApp,
  now,
  ONE,
  payer,
  PLATFORM,
  RELAYER,
  versionTwo,
} from "../payments/paying";
import { answering } from "../support/rpc";
import { freshAddress, type WalletApp } from "../support/walletApp";
import { closeApp } from "../support/world";

/**
 * Rounds of a chain at its worst: blocks are dropped, one to five at a time, fees outgrow what is on its way, answers are
 * lost before or behind their effect, and nodes lie about nonces, while users send and buy. Then the chain is honest again
 * and time passes. What is done to whom when belongs to the round's seed.
 */

export type Round = {
  seed: number;
  orders: number;
  /** What was done to the chain. */
  done: string[];
  /** Nonces that had to be filled, and transactions that had to be replaced. */
  filled: number;
  replaced: number;
  /** What was lost, done twice, or does not move; empty when all is well. */
  found: string[];
};

const ETHER = 10n ** 18n;
const WALLETS = ["alice", "bob", "carol"] as const;
const PAYERS = 3;
const ROUNDS_PER_WORLD = 20;
/** Deeper than any reorganisation of a round: what came before it stays. */
const BURIED = 6;
const MOST_PASSES = 40;
/** Where nobody asks the chain anything until the crons come by. */
const MOST_LOOKS = 20;
const PASS_MS = 61_000;
/** Ends what hangs. */
const REST_LIMIT_MS = 120_000;

type World = {
  app: WalletApp;
  owners: readonly { userId: string; address: Address }[];
  payers: PrivateKeyAccount[];
};
type Order =
  | { kind: "send"; userId: string; to: Address; key: string; token: "ETH" | "USDC"; amount: bigint }
  | { kind: "report"; headers: Record<string, string> };

/** Plays rounds of orders on a hostile chain. */
export async function playReorgs(
  chain: Chain,
  { seed: first, rounds }: { seed: number; rounds: number },
): Promise<Round[]> {
  const played: Round[] = [];
  let world: World | null = null;
  for (let seed = first; seed < first + rounds; seed++) {
    if (world === null || played.length % ROUNDS_PER_WORLD === 0) {
      closeApp();
      world = await createWorld(chain, seed);
    }
    const round: Round = await play(chain, world, seed);
    played.push(round);
    // What is left of a failed round is not the next one's.
    if (round.found.length > 0) world = null;
  }
  return played;
}

async function createWorld(chain: Chain, seed: number): Promise<World> {
  const app = createPaidApp(chain);
  chain.miner.resume();
  const owners = [];
  for (const name of WALLETS) {
    const userId = `${name}-of-the-world-of-round-${seed}`;
    owners.push({
      userId,
      address: await app.fundedWallet(userId, { ETH: 10n * ETHER, USDC: 1_000n * ONE }),
    });
  }
  const payers = [];
  for (let i = 0; i < PAYERS; i++) payers.push(await payer(chain, 1_000n * ONE));
  return { app, owners, payers };
}

async function play(chain: Chain, world: World, seed: number): Promise<Round> {
  const { app } = world;
  const chance = random("reorgs", seed);
  for (let block = 0; block < BURIED; block++) await chain.miner.mine();
  const before = await holdings(chain, world);
  const known = (await app.rows("transactions")).length;
  await chain.miner.pause();
  const orders = await ordersOf(chance, world, seed);
  const node = hostileNode(chance);
  const answers = orders.map((order) => place(app, order));
  const done = await torment(chain, world, node, chance, answers);
  node.isHonest();
  // Where fees stay up they fall by an eighth a block, and what is stuck has to be replaced.
  if (chance.between(0, 1) < 0.5) await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
  chain.miner.resume();
  const found: string[] = [];
  if (!(await comesToRest(chain, world, answers, known))) found.push(await unrest(chain, app));
  else {
    found.push(...(await wrongs(chain, world, orders, before)));
    found.push(...(await standstills(chain, world, orders, seed)));
  }
  const rows = (await app.rows("transactions")).slice(known);
  const filled = rows.filter(({ request }) => request.kind === "fill").length;
  const replaced = rows.filter(({ replacement }) => replacement !== undefined).length;
  return { seed, orders: orders.length, done, filled, replaced, found };
}

async function ordersOf(chance: Random, { owners, payers }: World, seed: number): Promise<Order[]> {
  const orders: Order[] = [];
  for (let n = chance.whole(2, 4); n > 0; n--) {
    const token = chance.pick(["ETH", "USDC"] as const);
    const { userId } = chance.pick(owners);
    const amount = BigInt(chance.whole(1, 1_000));
    orders.push({ kind: "send", userId, to: freshAddress(), key: `round-${seed}-${n}`, token, amount });
  }
  for (let n = chance.whole(0, 2); n > 0; n--) {
    const authorized = await authorize(chance.pick(payers), { validBefore: now() + 36_000n });
    orders.push({ kind: "report", headers: versionTwo(authorized) });
  }
  return chance.shuffled(orders);
}

/** A promise of an order's last answer, and whether there is one. A payment is shown again until it has bought. */
function place(app: WalletApp, order: Order): { isThere: boolean; status: number } {
  const state = { isThere: false, status: 0 };
  const ask = () => {
    if (order.kind === "report") return buy(app, order.headers);
    const { userId, to, key, token, amount } = order;
    const body = { userId, toAddress: to, token, amount: amount.toString() };
    return app.post("/mcp/defi/send", body, { headers: { "Idempotency-Key": key } });
  };
  const finish = async () => {
    do state.status = (await ask()).status;
    while (order.kind === "report" && state.status === 502 && (await nextPass(app)));
    state.isThere = true;
  };
  finish().catch((error: unknown) => {
    state.isThere = true;
    state.status = -1;
    console.error(error);
  });
  return state;
}

/** Between two answers that say "send the same proof again" the payer waits for the service's next try. */
const passes = new WeakMap<WalletApp, (() => void)[]>();
function nextPass(app: WalletApp): Promise<true> {
  return new Promise((resolve) => {
    const waiting = passes.get(app) ?? [];
    passes.set(app, [...waiting, () => resolve(true)]);
  });
}

/** A node that can be made to lose answers and to lie about nonces. */
function hostileNode(chance: Random) {
  const inner = globalThis.fetch;
  let calls = 0;
  let losing = 0;
  let lies = new Map<string, Hex>();
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const body = typeof init?.body === "string" ? init.body : "";
    if (body.includes('"jsonrpc"')) calls++;
    if (!body.includes("eth_sendRawTransaction") || chance.between(0, 1) >= losing) return inner(input, init);
    // Half of them have arrived.
    if (chance.between(0, 1) < 0.5) await inner(input, init);
    throw new TypeError("The connection was lost");
  });
  const honest = answering(({ method, params }) => {
    const lie = method === "eth_getTransactionCount" ? lies.get(String(params[0]).toLowerCase()) : undefined;
    return lie === undefined ? null : { result: lie };
  });
  return {
    calls: () => calls,
    lose: (share: number) => (losing = share),
    lie: (nonces: Map<string, Hex>) => (lies = nonces),
    isHonest: () => {
      honest();
      vi.stubGlobal("fetch", inner);
    },
  };
}
type Node = ReturnType<typeof hostileNode>;

async function torment(
  chain: Chain,
  { app, owners }: World,
  node: Node,
  chance: Random,
  answers: readonly { isThere: boolean }[],
): Promise<string[]> {
  const accounts = [RELAYER, ...owners.map(({ address }) => address)];
  const countOf = (address: Address) => clientOf(chain).getTransactionCount({ address });
  const deeds: Record<string, () => Promise<unknown>> = {
    mine: () => chain.miner.mine(),
    reorg: async () => {
      await chain.rpc("anvil_reorg", [chance.whole(1, BURIED - 1), []]);
      await chain.feeds.tick();
    },
    dear: async () => {
      // Two to four times what anything offers.
      const fee = BigInt(chance.whole(5, 12)) * 10n ** 9n;
      await chain.rpc("anvil_setNextBlockBaseFeePerGas", [`0x${fee.toString(16)}`]);
      await chain.miner.mine();
    },
    lose: () => Promise.resolve(node.lose(chance.pick([0.5, 1]))),
    lie: async () => {
      const far = chance.pick([1, 2, 3, 5_000, -1]);
      const nonces = await Promise.all(
        chance
          .shuffled(accounts)
          .slice(0, 2)
          .map(async (address) => {
            const told = Math.max(0, (await countOf(address)) + far);
            return [address.toLowerCase(), `0x${told.toString(16)}`] as const;
          }),
      );
      node.lie(new Map(nonces));
    },
    forget: async () => {
      for (const { txHash } of await app.rows("transactions")) {
        if (txHash !== undefined) await chain.rpc("anvil_dropTransaction", [txHash]);
      }
    },
    cron: () => cronsComeBy(app),
  };
  const done: string[] = [];
  for (let step = chance.whole(4, 8); step > 0; step--) {
    const deed = chance.pick([
      "mine",
      "mine",
      "mine",
      "reorg",
      "reorg",
      "dear",
      "lose",
      "lie",
      "forget",
      "cron",
    ]);
    await deeds[deed]?.();
    done.push(deed);
    const goal = node.calls() + chance.whole(2, 20);
    let looks = 0;
    await until(
      () => node.calls() >= goal || answers.every(({ isThere }) => isThere) || looks++ > MOST_LOOKS,
    );
    if (deed !== "lose" && deed !== "lie") {
      node.lose(0);
      node.lie(new Map());
    }
  }
  return done;
}

/** A minute passes for all that waits for its time, and the crons come by. */
async function cronsComeBy(app: WalletApp): Promise<void> {
  await app.t.run(async (ctx) => {
    for (const row of await ctx.db.query("transactions").collect()) {
      if (row.nextCheckAt === Number.MAX_SAFE_INTEGER) continue;
      const earlier = (time: number | undefined) => (time === undefined ? undefined : time - PASS_MS);
      const { replacedSince, handedOutAt, nextCheckAt } = row;
      await ctx.db.patch("transactions", row._id, {
        // What was not signed yet belongs to a caller who still waits.
        ...(row.state === "prepared" ? {} : { nextCheckAt: nextCheckAt - PASS_MS }),
        replacedSince: earlier(replacedSince),
        handedOutAt: earlier(handedOutAt),
      });
    }
    for (const { _id, state, leaseUntil, unlocatedSince } of await ctx.db.query("paymentClaims").collect()) {
      if (state !== "settling") continue;
      const since = unlocatedSince === undefined ? {} : { unlocatedSince: unlocatedSince - PASS_MS };
      await ctx.db.patch("paymentClaims", _id, { leaseUntil: leaseUntil - PASS_MS, ...since });
    }
  });
  await app.t.mutation(internal.wallets.transactions.followUpDue, {});
  await app.t.mutation(internal.payments.claims.resumeLost, {});
  for (const goOn of passes.get(app) ?? []) goOn();
  passes.delete(app);
}

/** Lets time pass until every order is answered and the chain agrees with what is stored. @returns Whether it came to that. */
async function comesToRest(
  chain: Chain,
  world: World,
  answers: readonly { isThere: boolean }[],
  known: number,
): Promise<boolean> {
  const end = performance.now() + REST_LIMIT_MS;
  for (let pass = 0; pass < MOST_PASSES && performance.now() < end; pass++) {
    await chain.miner.mine();
    await cronsComeBy(world.app);
    // Some wait for receipts, which may take a further visit of the crons.
    let looks = 0;
    await until(() => looks++ >= 20 || answers.every(({ isThere }) => isThere));
    if (answers.every(({ isThere }) => isThere) && (await isSettled(chain, world, known))) return true;
  }
  return false;
}

/** Whether all that the round has signed has ended as the chain says, and no nonce is open. */
async function isSettled(chain: Chain, { app }: World, known: number): Promise<boolean> {
  const rows = (await app.rows("transactions")).slice(known);
  if (rows.some(({ endedAt }) => endedAt === undefined)) return false;
  for (const row of rows) {
    if (row.state === "confirmed" && (await receiptOf(chain, row)) === null) return false;
  }
  for (const { address, nextNonce = 0 } of await app.rows("wallets")) {
    if ((await countOf(chain, address)) !== nextNonce) return false;
  }
  return true;
}

async function countOf(chain: Chain, address: string): Promise<number> {
  return Number(await chain.rpc("eth_getTransactionCount", [address, "latest"]));
}

async function receiptOf(chain: Chain, row: Doc<"transactions">): Promise<unknown> {
  for (const hash of hashesOf(project(row))) {
    const receipt = await chain.rpc("eth_getTransactionReceipt", [hash]);
    if (receipt !== null) return receipt;
  }
  return null;
}

/** What does not come to rest, in words. */
async function unrest(chain: Chain, app: WalletApp): Promise<string> {
  const open = (await app.rows("transactions")).filter(({ endedAt }) => endedAt === undefined);
  const accounts = await Promise.all(
    (await app.rows("wallets")).map(
      async ({ address, nextNonce = 0 }) =>
        `${address} is at ${await countOf(chain, address)} of ${nextNonce}`,
    ),
  );
  const rows = open.map(
    ({ request, nonce, state, error = "" }) => `${request.kind} ${nonce} ${state} ${error}`,
  );
  const claims = (await app.rows("paymentClaims")).map(
    ({ state, trouble }) => `${state} ${trouble?.message ?? ""}`,
  );
  return `It does not come to rest: ${[...accounts, ...rows, ...claims].join("; ")}`;
}

const usdcOf = (chain: Chain, address: Address) =>
  clientOf(chain).readContract({
    address: TOKENS.USDC,
    abi: erc20Abi,
    functionName: "balanceOf",
    args: [address],
  });

async function holdings(chain: Chain, { app, payers }: World) {
  const paid = await Promise.all(payers.map(({ address }) => usdcOf(chain, address)));
  return {
    received: await usdcOf(chain, PLATFORM),
    paid: paid.reduce((sum, one) => sum + one, 0n),
    delivered: (await app.rows("paymentClaims")).filter(({ state }) => state === "delivered").length,
  };
}

/** What was lost or done twice. */
async function wrongs(
  chain: Chain,
  world: World,
  orders: readonly Order[],
  before: Awaited<ReturnType<typeof holdings>>,
): Promise<string[]> {
  const found: string[] = [];
  const rows = await world.app.rows("transactions");
  for (const order of orders) {
    if (order.kind !== "send") continue;
    const { to, token, amount, key } = order;
    const arrived =
      token === "ETH" ? await clientOf(chain).getBalance({ address: to }) : await usdcOf(chain, to);
    const states = rows.filter(({ idempotencyKey }) => idempotencyKey === key).map(({ state }) => state);
    const owed = states[0] === "confirmed" ? amount : 0n;
    if (states.length > 1 || arrived !== owed) {
      found.push(`${arrived} ${token} of ${amount} arrived by what is ${states.join(" and ")}`);
    }
  }
  const after = await holdings(chain, world);
  const reports = orders.filter(({ kind }) => kind === "report").length;
  const counted = [
    after.received - before.received,
    before.paid - after.paid,
    BigInt(after.delivered - before.delivered) * ONE,
  ];
  if (counted.some((one) => one !== BigInt(reports) * ONE)) {
    found.push(`${reports} reports were bought; received, paid and delivered: ${counted.join(", ")}`);
  }
  return found;
}

/** Which accounts do not go on, now that the chain is honest and cheap. */
async function standstills(
  chain: Chain,
  world: World,
  orders: readonly Order[],
  seed: number,
): Promise<string[]> {
  const { app, owners, payers } = world;
  await chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x1"]);
  await chain.miner.mine();
  const probes: Order[] = owners
    .filter(({ userId }) => orders.some((one) => one.kind === "send" && one.userId === userId))
    .map(({ userId }) => {
      const key = `probe-${seed}-${userId}`;
      return { kind: "send", userId, to: freshAddress(), key, token: "ETH", amount: 1n };
    });
  const [first] = payers;
  if (first !== undefined && orders.some(({ kind }) => kind === "report")) {
    probes.push({ kind: "report", headers: versionTwo(await authorize(first)) });
  }
  const before = await holdings(chain, world);
  const known = (await app.rows("transactions")).length;
  const answers = probes.map((probe) => place(app, probe));
  if (!(await comesToRest(chain, world, answers, known))) return [await unrest(chain, app)];
  const refused = answers.flatMap(({ status }) => (status === 200 ? [] : [`A probe was answered ${status}`]));
  return [...refused, ...(await wrongs(chain, world, probes, before))];
}
