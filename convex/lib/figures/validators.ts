import { v } from "convex/values";

/** What is stored of the shapes of `lib/figures/shapes`. Written by `npm run codegen`; a test holds both against one another. */

export const vCitedSource = v.object({
  id: v.number(),
  name: v.string(),
  url: v.union(v.string(), v.null()),
  observedAt: v.number(),
  says: v.string(),
});
