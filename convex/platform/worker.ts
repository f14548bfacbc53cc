import type { RegisteredAction } from "convex/server";
import type { ObjectType, PropertyValidators } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getErrorData, getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { defineProviderAction } from "./outside/calls";
import { vJob, type WorkFailure, type Job } from "./work";

/** The action side of the queue: what does a piece of work. */

/** `over`: nothing is left to do, and no mutation has ended the work. */
type Outcome = void | "over";

/**
 * An action that does a piece of work. The mutation that stores its result ends the work; an action that throws fails the
 * attempt. Its calls to providers are counted.
 */
export function defineWorker<Args extends PropertyValidators>(
  args: Args,
  work: (ctx: ActionCtx, given: ObjectType<Args> & { job: Job }) => Promise<Outcome>,
): RegisteredAction<"internal", ObjectType<Args> & { job: Job }, Promise<null>>;
export function defineWorker(
  args: PropertyValidators,
  work: (ctx: ActionCtx, given: Record<string, unknown> & { job: Job }) => Promise<Outcome>,
) {
  return defineProviderAction(
    { ...args, job: vJob },
    async (ctx: ActionCtx, given: Record<string, unknown> & { job: Job }) => {
      const { job } = given;
      try {
        if ((await work(ctx, given)) === "over")
          await ctx.runMutation(internal.platform.work.discardWork, { job });
      } catch (thrown) {
        await ctx.runMutation(internal.platform.work.fail, { job, ...toWorkFailure(thrown, job) });
      }
    },
  );
}

function toWorkFailure(thrown: unknown, { workId }: Job): Omit<WorkFailure, "isLast"> {
  const error = getErrorMessage(thrown);
  const failure = getErrorData(thrown);
  if (failure === null) log.error("work.unexpected", { workId, error });
  return failure === null ? { error } : { error, code: failure.code };
}
