import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { worker } from "../../lib/work/desk";
import { readBlocks, readSafe } from "../../providers/chain/blocks";
import { CONTRACTS } from "../coins";
import { feedPrices, type Prices } from "../values";
import { alertsIn } from "./alerts";
import { PARTIES } from "./labels";

/**
 * Follows Base, block by block, and makes alerts of the large movements of labelled exchanges, and of minted and burned
 * coins. Ether is only seen if a transaction itself carries it, not in internal calls of contracts or when the bridge
 * mints it.
 */

/** Blocks per run: ten minutes of the chain, so that an outage is made up ten times as fast as it lasted. */
const MOST_BLOCKS = 300;
/** Blocks to request at once, half as many after each refusal. */
const SPAN = 60;

/** One run. What it has read stays read, whatever happens next. */
export const follow = worker({}, async (ctx) => {
  try {
    await readOn(ctx);
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) throw error;
    log.warn("whales.unmeasured", { reason: failure.message });
  }
  return "over";
});

async function readOn(ctx: ActionCtx): Promise<void> {
  const safe = await readSafe();
  let from = await ctx.runQuery(internal.whales.chain.cursor.current, {});
  if (from === null) {
    // Blocks before the first run are not read.
    const at = { number: safe.number, time: safe.time };
    await ctx.runMutation(internal.whales.chain.cursor.advance, { from, at, movements: [] });
    return;
  }
  const last = Math.min(safe.number, from + MOST_BLOCKS);
  let board: Promise<Prices> | null = null;
  const prices = () => (board ??= feedPrices());
  let span = SPAN;
  while (from < last) {
    const to: number = Math.min(from + span, last);
    const reading = await readBlocks(from + 1, to, { tokens: CONTRACTS, parties: PARTIES });
    if (reading.kind === "too much") {
      if (span === 1) return log.error("whales.block refused", { block: to });
      span = Math.max(1, Math.floor(Math.min(span, to - from) / 2));
      continue;
    }
    const movements = await alertsIn(reading.blocks, reading.logs, prices);
    const end = reading.blocks.at(-1);
    if (end === undefined) return;
    const at = { number: end.number, time: end.time };
    if (!(await ctx.runMutation(internal.whales.chain.cursor.advance, { from, at, movements }))) return;
    from = to;
  }
}
