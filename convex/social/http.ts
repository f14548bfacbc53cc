import * as z from "zod";
import { internal } from "../_generated/api";
import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { deliveryExample, deliveryShape, isSigned, signText } from "./payloads";

const PATH = "/social/mention";

const challenge: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: PATH,
  summary: "The social network's challenge (CRC): proves that this webhook knows the secret.",
  description: "Asked by the network when the webhook is registered, and again from time to time.",
  needs: ["SOCIAL_WEBHOOK_SECRET"],
  example: {
    input: { crc_token: "Zm9vYmFyLTE3Njc2MDU0MDA" },
    output: { response_token: "sha256=yIknZS6DxwZ4dCvIgqoBZAqWPXbTHmQfRQEDp1hOwk8=" },
  },
  input: z.object({
    // One key signs challenges and deliveries, so no text that could be a delivery is ever signed.
    crc_token: z
      .string("must be a string")
      .regex(/^[A-Za-z0-9_+/=.-]{1,512}$/, "must be 1 to 512 letters, digits and _+/=.-")
      .describe("The text that the network wants signed."),
  }),
  returns: z.object({
    response_token: z.string().describe("`sha256=` and the HMAC-SHA256 of it under the secret, in base64"),
  }),
  handler: (_ctx, { crc_token: token }) =>
    Promise.resolve({ response_token: signText(getRequired("SOCIAL_WEBHOOK_SECRET"), token) }),
});

const mention: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: PATH,
  summary:
    "Webhook of the social network: mentions of the service's account, each stored once; trade commands of linked authors are executed in the background.",
  description:
    "Answers as soon as the mentions are stored. Each then ends as `processed`, `failed` when its trade did not work, or `ignored` with a reason, and the author is told in the messenger. A repeated delivery changes nothing.",
  needs: ["SOCIAL_WEBHOOK_SECRET"],
  errors: { unauthorized: "The signature is missing or wrong." },
  headers: {
    "X-Twitter-Webhooks-Signature":
      "`sha256=` and the HMAC-SHA256 of the raw body under the webhook's secret, in base64.",
  },
  example: {
    input: deliveryExample,
    output: { success: true, accepted: 1, ignored: 0 },
  },
  guard: requireSignature,
  input: deliveryShape,
  returns: z.object({
    success: z.boolean(),
    accepted: z.int().describe("Mentions that are new."),
    ignored: z.int().describe("Repeats, and posts that are not mentions by others."),
  }),
  handler: async (ctx, { post }) => {
    const isNew = post !== null && (await ctx.runMutation(internal.social.mentions.storeMention, { post }));
    return { success: true, accepted: isNew ? 1 : 0, ignored: isNew ? 0 : 1 };
  },
});

/** @throws AppError `not_configured` without a secret; `unauthorized` if the request is not signed with it. */
function requireSignature(headers: Headers, body: string): void {
  const secret = getRequired("SOCIAL_WEBHOOK_SECRET");
  if (isSigned(headers.get("x-twitter-webhooks-signature"), body, secret)) return;
  throw new AppError("unauthorized", SIGN_IT);
}

const SIGN_IT =
  "The webhook's signature is missing or wrong: send sha256= and the base64 HMAC-SHA256 of the raw body under SOCIAL_WEBHOOK_SECRET in X-Twitter-Webhooks-Signature";

export const socialEndpoints: MountedEndpoint[] = [challenge, mention];
