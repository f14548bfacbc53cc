import { isHash, type Hex } from "viem";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { UPSTREAM } from "../../providers/chain/rpc/client";
import type { Block, TransferLog } from "../../providers/chain/blocks";
import { readOutcomes, type Outcome } from "../../providers/chain/receipts";
import { CHAIN, coinAt } from "../coins";
import type { Measured } from "../tables";
import { priceIn, type Prices } from "../values";
import { LABELS } from "./labels";
import { isLarge, movementsOf, NATIVE, alertWords, worthOf, type Movement, type Transfer } from "./movements";

/** Makes alerts from blocks and logs. */

/** Transactions per round trip. */
const AT_ONCE = 15;

/**
 * The movements worth an alert in blocks that were read, in their order. Candidate transactions are looked up for the
 * positions of their transfers.
 * @param prices Called if something needs a value.
 * @throws AppError `upstream`, also if the node's answers contradict one another.
 */
export async function alertsIn(
  blocks: readonly Block[],
  logs: readonly TransferLog[],
  prices: () => Promise<Prices>,
): Promise<Measured[]> {
  requireFitting(blocks, logs);
  const seen = transfersByTransaction(blocks, logs);
  if (seen.size === 0) return [];
  const board = await prices();
  const isAlert = (one: Movement) => isLarge(one, priceIn(board, one.coin).usd);
  const hashes = [...seen].flatMap(([txHash, transfers]) =>
    isHash(txHash) && movementsOf(transfers).some(isAlert) ? [txHash] : [],
  );
  const alerts: Measured[] = [];
  for (let next = 0; next < hashes.length; next += AT_ONCE) {
    const batch = hashes.slice(next, next + AT_ONCE);
    const outcomes = await readOutcomes(batch);
    for (const [index, txHash] of batch.entries()) {
      const outcome = outcomes[index] ?? null;
      if (outcome === "too large") {
        // Whoever fills a receipt with logs shall not stop the observation of all others.
        log.warn("whales.unreadable", { txHash });
        continue;
      }
      if (outcome === null || !blocks.some(({ hash }) => hash === outcome.block.hash)) throw changed();
      alerts.push(...measuredIn(txHash, outcome, board));
    }
  }
  return alerts.toSorted(
    (a, b) => a.movement.blockNumber - b.movement.blockNumber || a.movement.position - b.movement.position,
  );
}

/** The alerts in one transaction. */
export function measuredIn(txHash: Hex, outcome: Outcome, prices: Prices): Measured[] {
  const large = movementsIn(outcome).filter((one) => isLarge(one, priceIn(prices, one.coin).usd));
  return large.map((one): Measured => {
    const price = priceIn(prices, one.coin);
    return {
      token: one.coin,
      ...alertWords(one),
      amount: worthOf(one, price.usd),
      txHash,
      chain: CHAIN,
      occurredAt: outcome.block.time,
      movement: {
        from: endOf(one.from),
        to: endOf(one.to),
        quantity: one.amount.toString(),
        position: one.position,
        blockNumber: outcome.block.number,
        blockHash: outcome.block.hash,
        price,
      },
    };
  });
}

/** The movements of one transaction; none if it failed. */
function movementsIn({ succeeded, payment, transfers }: Outcome): Movement[] {
  if (!succeeded) return [];
  const tokens = transfers.flatMap(({ token, from, to, amount, position }): Transfer[] => {
    const coin = coinAt(token);
    return coin === null ? [] : [{ coin, from, to, amount, position }];
  });
  return movementsOf([...(payment === null ? [] : [ether(payment)]), ...tokens]);
}

function ether({ from, to, amount }: { from: string; to: string; amount: bigint }): Transfer {
  return { coin: "ETH", from, to, amount, position: NATIVE };
}

function endOf(address: string): Measured["movement"]["from"] {
  const label = LABELS.get(address);
  return label === undefined ? { address } : { address, label };
}

/** Positions are those in the block here, which is enough to distinguish the transfers of a transaction. */
function transfersByTransaction(
  blocks: readonly Block[],
  logs: readonly TransferLog[],
): Map<string, Transfer[]> {
  const seen = new Map<string, Transfer[]>();
  const add = (txHash: string, one: Transfer) => seen.set(txHash, [...(seen.get(txHash) ?? []), one]);
  for (const { txHash, ...payment } of blocks.flatMap(({ payments }) => payments))
    add(txHash, ether(payment));
  for (const { token, from, to, amount, txHash, logIndex } of logs) {
    const coin = coinAt(token);
    if (coin !== null) add(txHash, { coin, from, to, amount, position: logIndex });
  }
  return seen;
}

/** Blocks and logs come in separate answers: between them, or between two nodes, the chain may have changed. */
function requireFitting(blocks: readonly Block[], logs: readonly TransferLog[]): void {
  const hashes = new Set(blocks.map(({ hash }) => hash));
  const isChain = blocks.every(({ parentHash }, i) => i === 0 || parentHash === blocks[i - 1]?.hash);
  if (!isChain || logs.some(({ blockHash }) => !hashes.has(blockHash))) throw changed();
}

function changed(): AppError {
  return new AppError("upstream", `${UPSTREAM} changed its answers while the chain was read`);
}
