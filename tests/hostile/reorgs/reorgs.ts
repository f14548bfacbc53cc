import type { Chain } from "../../../scripts/chain";
import { random } from "../../../scripts/standins/random";
import { authorize, versionTwo } from "../../payments/payer";
import { freshAddress } from "../../support/chain/walletApp";
import { closeApp } from "../../support/world";
import { holdings, wrongs } from "./reorgFindings";
import { createWorld, ordersOf, place, type Order, type World } from "./reorgOrders";
import { comesToRest, unrest } from "./reorgRest";
import { BURIED, hostileNode, torment } from "../torments";

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
  /** Orders that had to be signed again. */
  replaced: number;
  /** What was lost, done twice, or does not move; empty when all is well. */
  found: string[];
};

const ROUNDS_PER_WORLD = 20;

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

async function play(chain: Chain, world: World, seed: number): Promise<Round> {
  const { app } = world;
  const chance = random("reorgs", seed);
  for (let block = 0; block < BURIED; block++) await chain.miner.mine();
  const before = await holdings(chain, world);
  const known = (await app.rows("orders")).length;
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
  const rows = (await app.rows("orders")).slice(known);
  const replaced = rows.filter(
    ({ tries }) => new Set(tries.map(({ nonce }) => nonce)).size < tries.length,
  ).length;
  return { seed, orders: orders.length, done, replaced, found };
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
  const known = (await app.rows("orders")).length;
  const answers = probes.map((probe) => place(app, probe));
  if (!(await comesToRest(chain, world, answers, known))) return [await unrest(chain, app)];
  const refused = answers.flatMap(({ status }) => (status === 200 ? [] : [`A probe was answered ${status}`]));
  return [...refused, ...(await wrongs(chain, world, probes, before))];
}
