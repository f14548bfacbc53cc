import * as z from "zod";
import { internal } from "../_generated/api";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { EXAMPLE_USER } from "../lib/http/examples";
import { userId } from "../lib/http/input";

const endClaim: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/claim/end",
  summary: "Ends the claim of a userId that waits: it stays without an owner.",
  description:
    "While somebody's claim of a `userId` with a wallet waits, every answer to the `userId` has `claimPending` (when it takes effect) and `claimEndUrl` (this address). Whoever knows the `userId` may end the claim; nobody can claim it for a week then.",
  limit: "settings",
  errors: { not_found: "No claim of this userId waits." },
  example: { input: { id: EXAMPLE_USER }, output: { success: true } },
  input: z.object({ id: userId.describe("The userId whose claim waits") }),
  returns: z.object({ success: z.literal(true) }),
  handler: async (ctx, input) => {
    await ctx.runMutation(internal.accounts.claims.end, { name: input.id });
    return { success: true as const };
  },
});

export const accountEndpoints: MountedEndpoint[] = [endClaim];
