import type { Address, Hex } from "viem";
import type { Chain } from "../../scripts/chain";
import type { Random } from "../../scripts/standins/random";
import { clientOf } from "../chain/support";
import { until } from "../support/waits";
import { RELAYER } from "../payments/payer";
import { answering } from "../support/chain/rpc";
import type { World } from "./reorgs/reorgOrders";
import { cronsComeBy } from "./reorgs/reorgRest";
import { intercept } from "../support/outside";

/** What is done to the chain and by its nodes. */

/** Deeper than any reorganisation: what came before it stays. */
export const BURIED = 6;
/** Where nobody asks the chain anything until the crons come by. */
const MOST_LOOKS = 20;

/** A node that can be made to lose answers and to lie about nonces. */
export function hostileNode(chance: Random) {
  let calls = 0;
  let losing = 0;
  let lies = new Map<string, Hex>();
  const answerAll = intercept(async ({ body }, pass) => {
    if (body.includes('"jsonrpc"')) calls++;
    if (!body.includes("eth_sendRawTransaction") || chance.between(0, 1) >= losing) return pass();
    // Half of them have arrived.
    if (chance.between(0, 1) < 0.5) await pass();
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
      answerAll();
    },
  };
}
type Node = ReturnType<typeof hostileNode>;

/** @returns What was done, deed by deed. */
export async function torment(
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
      for (const { hash } of (await app.rows("orders")).flatMap(({ tries }) => tries))
        await chain.rpc("anvil_dropTransaction", [hash]);
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
