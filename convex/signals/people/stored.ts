import { v } from "convex/values";

import { literals } from "../../lib/literals";

/** What is stored of the shapes of `signals/people/shapes`. Written by `npm run codegen`; a test holds both against one another. */

export const vOwnArm = v.object({
  arm: v.string(),
  name: v.union(v.string(), v.null()),
  nameState: literals("waiting", "shown", "refused"),
  number: v.number(),
  of: v.number(),
  since: v.string(),
  endedAt: v.union(v.string(), v.null()),
  left: v.boolean(),
  listed: v.boolean(),
  needed: v.number(),
});
