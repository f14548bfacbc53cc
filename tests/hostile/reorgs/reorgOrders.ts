import type { Address } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import type { Chain } from "../../../scripts/chain";
import type { Random } from "../../../scripts/standins/random";
import { authorize, buy, createPaidApp, now, ONE, payer, versionTwo } from "../../payments/payer";
import { freshAddress, type WalletApp } from "../../support/chain/walletApp";

/** Who sends and buys while the chain is hostile, and what. */

const ETHER = 10n ** 18n;
const WALLETS = ["alice", "bob", "carol"] as const;
const PAYERS = 3;

export type World = {
  app: WalletApp;
  owners: readonly { userId: string; address: Address }[];
  payers: PrivateKeyAccount[];
};
export type Order =
  | { kind: "send"; userId: string; to: Address; key: string; token: "ETH" | "USDC"; amount: bigint }
  | { kind: "report"; headers: Record<string, string> };

export async function createWorld(chain: Chain, seed: number): Promise<World> {
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

export async function ordersOf(chance: Random, { owners, payers }: World, seed: number): Promise<Order[]> {
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

let callers = 0;

/** A promise of an order's last answer, and whether there is one. A payment is shown again until it has bought. */
export function place(app: WalletApp, order: Order): { isThere: boolean; status: number } {
  const state = { isThere: false, status: 0 };
  // Everybody's own address: one address keeps two orders waiting, and no more.
  const ip = `198.51.100.${(callers = (callers + 1) % 250)}`;
  const ask = () => {
    if (order.kind === "report") return buy(app, order.headers, {}, { ip });
    const { userId, to, key, token, amount } = order;
    const body = { userId, toAddress: to, token, amount: amount.toString() };
    return app.post("/mcp/defi/send", body, { headers: { "Idempotency-Key": key }, ip });
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

/** The service has had another try. */
export function passedBy(app: WalletApp): void {
  for (const goOn of passes.get(app) ?? []) goOn();
  passes.delete(app);
}
