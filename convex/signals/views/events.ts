import type { MutationCtx } from "../../_generated/server";
import { tellEverybody } from "../../messenger/webhooks/events";
import { signalIn, findSlot } from "../record/model";
import type { Slot } from "../record/rows";
import { signalView } from "./signals";

/** Posts a daily signal to webhooks as it is stored now, in the form that callers see. */
export async function tellOfSignal(
  ctx: MutationCtx,
  type: "signal.issued" | "signal.closed",
  slot: Pick<Slot, "arm" | "slot" | "token">,
): Promise<void> {
  const row = await findSlot(ctx, slot);
  if (row !== null) await tellEverybody(ctx, type, signalView(signalIn(row)));
}
