import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { mutation, query } from "../../_generated/server";
import type { OwnArm } from "./shapes";
import { vOwnArm } from "../validators";

/** A signed-in user's arms for web applications; `signals/people/desk:propose` proposes a signal. */

/** The caller's arms, ended ones too. @throws AppError `unauthorized`, `not_found` before the first sign-in */
export const mine = query({
  args: {},
  returns: v.array(vOwnArm),
  handler: async (ctx): Promise<OwnArm[]> => ctx.runQuery(internal.signals.people.arms.mine, {}),
});

/** Begins an arm. @throws AppError `invalid_request`; `conflict` if the name is taken, or for the eleventh arm */
export const make = mutation({
  args: { name: v.string() },
  returns: vOwnArm,
  handler: async (ctx, args): Promise<OwnArm> => ctx.runMutation(internal.signals.people.arms.make, args),
});

/** Ends an arm for good; what it has proposed stays. @throws AppError `not_found`; `conflict` if it has ended */
export const end = mutation({
  args: { arm: v.string() },
  returns: vOwnArm,
  handler: async (ctx, args): Promise<OwnArm> => ctx.runMutation(internal.signals.people.arms.end, args),
});
