import * as z from "zod";
import { refuseCrowd, waitingAs } from "../../lib/crowd";
import { sha256Hex } from "../../lib/crypto";
import { required } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { endpoint, Reply, type MountedEndpoint } from "../../lib/http";
import { absentWhenEmpty, optionalToken, userId } from "../../lib/input";
import { countGuess, refuseGuessing } from "../../lib/limits";
import {
  readingsExample,
  readingsShape,
  resultExample,
  resultFields,
  shownReadings,
  shownResult,
} from "../../research/shown";
import { PAID_PATH } from "../terms";
import { paymentRequired, paymentTerms, receipt, RECEIPT_HEADERS, termsExample } from "./challenge";
import { parseProof, proofHeader } from "./proofs";

const report: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: PAID_PATH,
  summary: "A research report for 1.00 USDC on Base: by x402 (versions 1 and 2) or by transaction hash.",
  description:
    "Without a payment it is 402, whatever the body is, and says what to pay and to whom. A payment is verified on chain and buys one report: asking again with the same proof and the same body joins the work under way, and yields the report after a failure without a new charge. `result` is written for this payment alone, of at least 400 words; every figure is held against the fact it cites, and `sources` lists them. A first report on a token may take more than a minute: until it is there, the answer is a 502 that says so, and the same proof yields it later.",
  needs: ["PLATFORM_WALLET_ADDRESS", "LLM_GATEWAY_API_KEY"],
  limit: "payment",
  headers: {
    "X-Payment":
      "The payment proof: the hash of a transaction that has paid, a JSON object `{txHash, requestId?, signature?}` (plain or in base64), or an x402 version 1 payload.",
    "Payment-Signature": "An x402 version 2 payload, in base64; goes before `X-Payment`.",
  },
  answerHeaders: RECEIPT_HEADERS,
  errors: {
    payment_required: {
      when: "No proof was sent, or this one buys nothing: `reason` says why.",
      body: z.object(paymentTerms),
      headers: {
        "Payment-Required": "What has to be paid, as x402 version 2 says it, in base64.",
        ...RECEIPT_HEADERS,
        "Retry-After": "Seconds; where time alone can make the proof good.",
      },
      example: termsExample,
    },
    upstream: {
      when: "The chain, the payment facilitator or the LLM gateway failed, or the report is still being written. The payment is kept: send the same proof again.",
      headers: RECEIPT_HEADERS,
    },
    internal: {
      when: "The report could not be written. The payment is kept: send the same proof again.",
      headers: RECEIPT_HEADERS,
    },
  },
  example: {
    input: { token: "BTC" },
    output: { success: true, result: { ...resultExample, readings: readingsExample }, token: "BTC" },
  },
  guard: ({ header }) => {
    // Nothing is sold that cannot be made.
    required("PLATFORM_WALLET_ADDRESS");
    required("LLM_GATEWAY_API_KEY");
    if (proofHeader(header) === null) throw paymentRequired();
  },
  input: z.object({ userId: absentWhenEmpty(userId), token: optionalToken }),
  returns: z.object({
    success: z.literal(true),
    result: z.object({
      ...resultFields,
      readings: readingsShape,
    }),
    token: z.string().describe("The symbol asked for; empty for the whole market"),
  }),
  handler: async (ctx, { userId, token }, { head, caller }) => {
    const proof = parseProof(proofHeader(head.header) ?? "");
    if (proof.kind === "refused") throw paymentRequired(proof);
    const focus = token ?? "";
    const bodyHash = sha256Hex(JSON.stringify([userId ?? "", focus]));
    const order = { focus, bodyHash, ...(userId === undefined ? {} : { userId }) };
    if (proof.kind === "hash") await refuseGuessing(ctx, "unknownHash", caller);
    const { redeem } = await import("./redemption");
    const redeeming = () => redeem(ctx, proof, order);
    // Hashes cost nothing to make up; signed payments are nobody's to make up.
    const redeemed =
      proof.kind === "hash" ? await waitingAs(ctx, caller, redeeming, refuseCrowd) : await redeeming();
    if (redeemed.kind === "refused") {
      if (redeemed.reason === "payment_not_found") await countGuess(ctx, "unknownHash", caller);
      throw paymentRequired(redeemed);
    }
    const headers =
      redeemed.receipt === null
        ? {}
        : receipt({ success: true, transaction: redeemed.receipt.txHash, payer: redeemed.receipt.payer });
    if (redeemed.kind === "failed") throw new AppError(redeemed.code, redeemed.message, { headers });
    const { result, sources } = redeemed.report;
    const shown = { ...shownResult(result), readings: shownReadings(sources) };
    return new Reply({ success: true as const, result: shown, token: focus }, headers);
  },
});

export const paidReportEndpoints: MountedEndpoint[] = [report];
