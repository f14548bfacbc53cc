import * as z from "zod";
import { internal } from "../_generated/api";
import { sha256Hex } from "../lib/crypto";
import { required } from "../lib/env";
import { AppError } from "../lib/errors";
import { endpoint, Reply, type MountedEndpoint } from "../lib/http";
import { absentWhenEmpty, optionalToken, userId } from "../lib/input";
import { resultFields } from "../research/http";
import { paymentRequired, receipt } from "./challenge";
import { parseProof, proofHeader } from "./proofs";
import { PAID_PATH } from "./terms";

const report: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: PAID_PATH,
  summary: "A research report for 1.00 USDC on Base: by x402 (versions 1 and 2) or by transaction hash.",
  needs: ["PLATFORM_WALLET_ADDRESS", "LLM_GATEWAY_API_KEY"],
  limit: "payment",
  guard: ({ header }) => {
    // Nothing is sold that cannot be made.
    required("PLATFORM_WALLET_ADDRESS");
    required("LLM_GATEWAY_API_KEY");
    if (proofHeader(header) === null) throw paymentRequired();
  },
  input: z.object({ userId: absentWhenEmpty(userId), token: optionalToken }),
  returns: z.object({
    success: z.literal(true),
    result: z.object(resultFields),
    token: z.string().describe("The symbol asked for; empty for the whole market"),
  }),
  handler: async (ctx, { userId, token }, { head }) => {
    const proof = parseProof(proofHeader(head.header) ?? "");
    if (proof.kind === "refused") throw paymentRequired(proof);
    const focus = token ?? "";
    const bodyHash = sha256Hex(JSON.stringify([userId ?? "", focus]));
    const order = { focus, bodyHash, ...(userId === undefined ? {} : { userId }) };
    const redeemed = await ctx.runAction(internal.payments.redemption.redeem, { proof, order });
    if (redeemed.kind === "refused") throw paymentRequired(redeemed);
    const headers =
      redeemed.receipt === null
        ? {}
        : receipt({ success: true, transaction: redeemed.receipt.txHash, payer: redeemed.receipt.payer });
    if (redeemed.kind === "failed") throw new AppError(redeemed.code, redeemed.message, { headers });
    return new Reply({ success: true as const, result: redeemed.result, token: focus }, headers);
  },
});

export const paidReportEndpoints: MountedEndpoint[] = [report];
