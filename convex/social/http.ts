import * as z from "zod";
import { internal } from "../_generated/api";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { endpoint, type MountedEndpoint, type RequestHead } from "../lib/http";
import { deliveryShape } from "./payloads";
import { isSigned, signatureOf } from "./signatures";

const PATH = "/social/mention";

const challenge: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: PATH,
  summary: "The social network's challenge (CRC): proves that this webhook knows the secret.",
  needs: ["SOCIAL_WEBHOOK_SECRET"],
  input: z.object({
    crc_token: z.string("must be a string").min(1, "is required").max(1_000, "is too long"),
  }),
  returns: z.object({ response_token: z.string() }),
  handler: (_ctx, { crc_token: token }) =>
    Promise.resolve({ response_token: signatureOf(required("SOCIAL_WEBHOOK_SECRET"), token) }),
});

const mention: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: PATH,
  summary:
    "Webhook of the social network: mentions of the service's account, each stored once; trade commands of linked authors are carried out behind.",
  needs: ["SOCIAL_WEBHOOK_SECRET"],
  guard: requireSignature,
  headers: { "X-Twitter-Webhooks-Signature": "`sha256=` and the HMAC-SHA256 of the raw body, in base64." },
  errors: { unauthorized: "The signature is missing or wrong." },
  input: deliveryShape,
  returns: z.object({
    success: z.boolean(),
    accepted: z.int().describe("Mentions that are new."),
    ignored: z.int().describe("Repeats, and posts that are no mention by somebody else."),
  }),
  handler: async (ctx, { posts, dropped }) => {
    const accepted: number = await ctx.runMutation(internal.social.mentions.receive, { posts });
    return { success: true, accepted, ignored: dropped + posts.length - accepted };
  },
});

/** @throws AppError `not_configured` without a secret; `unauthorized` when the request is not signed with it. */
function requireSignature({ header }: RequestHead, body: string): void {
  const secret = required("SOCIAL_WEBHOOK_SECRET");
  if (isSigned(header("x-twitter-webhooks-signature"), body, secret)) return;
  throw new AppError("unauthorized", "The webhook's signature is missing or wrong");
}

export const socialEndpoints: MountedEndpoint[] = [challenge, mention];
