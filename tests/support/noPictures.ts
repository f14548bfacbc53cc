import { v } from "convex/values";
import { internalAction } from "../../convex/_generated/server";

/** Replaces `convex/pictures/drawings`: there is never anything to draw. */

const nothing = internalAction({
  args: { subject: v.string() },
  returns: v.null(),
  handler: () => null,
});

export { nothing as alert, nothing as deposit, nothing as signals, nothing as week, nothing as worth };
