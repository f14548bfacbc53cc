import type { Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { defined } from "../lib/objects";
import type { Past } from "./tables";
import { enterMove, type Leg, type Move } from "./result";

/** Moves are entered into a past and stored as rows, in one step of their caller's mutation. */

/** A move and its time. */
export type Dated = Move & { at: number; orderId?: Id<"orders"> };

const writeLeg = (leg: Leg | undefined) =>
  leg && { token: leg.token, raw: leg.raw.toString(), ...defined({ value: leg.value?.toString() }) };

/** Stores moves of a wallet, or of its book by its id, and enters them into its past, which the caller stores. */
export async function storeMoves(
  ctx: MutationCtx,
  { walletId, userId }: { walletId: string; userId: string },
  past: Past,
  moves: readonly Dated[],
): Promise<void> {
  for (const move of moves) {
    const { kind, at, out, in: into, fee, orderId } = move;
    const { realised, flow, cost } = enterMove(past, move);
    past.count += 1;
    if (past.count === 1) past.since = at;
    past.at = at;
    await ctx.db.insert("moves", {
      ...{ walletId, userId, n: past.count, at, kind, flow: flow.toString() },
      ...defined({
        out: writeLeg(out),
        in: writeLeg(into),
        fee: writeLeg(fee),
        orderId,
        realised: realised?.toString(),
        cost: kind === "send" ? cost.toString() : undefined,
      }),
    });
  }
}
