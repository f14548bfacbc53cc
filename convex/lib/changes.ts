import type { RegisteredMutation } from "convex/server";
import { v, type ObjectType, type PropertyValidators } from "convex/values";
import { internalMutation, type MutationCtx } from "../_generated/server";

/** A mutation without a return value. */
export function change<Args extends PropertyValidators>(
  args: Args,
  work: (ctx: MutationCtx, given: ObjectType<Args>) => Promise<void>,
): RegisteredMutation<"internal", ObjectType<Args>, Promise<null>>;
export function change(
  args: PropertyValidators,
  work: (ctx: MutationCtx, given: Record<string, unknown>) => Promise<void>,
) {
  return internalMutation({
    args,
    returns: v.null(),
    handler: async (ctx, given): Promise<null> => {
      await work(ctx, given);
      return null;
    },
  });
}
