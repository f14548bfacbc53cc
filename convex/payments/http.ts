import * as z from "zod";
import { holdSlot } from "../platform/limits/slots";
import { getRequired } from "../lib/env";
import { getErrorData } from "../lib/errors";
import { defined } from "../lib/objects";
import { defineEndpoint, Reply, type MountedEndpoint, type Asker } from "../platform/http/endpoint";
import { optionalUnlessBlank, optionalToken, userId } from "../platform/http/input";
import { charge } from "../platform/limits/charges";
import { parseBodyInput, parseInput } from "../platform/http/request";
import { resultExample, resultFields, toPublicResult } from "../research/views";
import { NOTHING_TO_SELL, buildPaymentRequired, PAYMENT_REQUIRED, RECEIPT_HEADERS } from "./challenge";
import { PAID_PATH } from "./terms";

/** Loaded on demand: only purchases need it. */
const loadProofs = () => import("./proofs");

const input = z.strictObject({ userId: optionalUnlessBlank(userId), token: optionalToken });

/** Checks the body of an unpaid request before the caller pays. @returns The problem; `null` if a payment would buy a report. */
async function findInputProblem(
  body: string,
  { ctx, caller, resolveAccount }: Asker,
): Promise<string | null> {
  try {
    const { token, userId } = parseInput(input, parseBodyInput(body));
    if (userId !== undefined) await resolveAccount(ctx, userId, {});
    if (token === undefined) return null;
    // Loaded on demand: it loads the price sources.
    const { getListing, explainUnknownToken: unknownTokenMessage } = await import("../market/listing");
    // Beyond the limit of unpaid look-ups the token stays unchecked: invented tokens would use up the exchange's rate limit.
    const { kind, symbol } = await getListing(ctx, token, caller, "unpaid");
    return kind === "unknown" ? unknownTokenMessage(symbol) : null;
  } catch (error) {
    const failure = getErrorData(error);
    // `not_found`: the owner of the userId has replaced it.
    if (failure?.code !== "invalid_request" && failure?.code !== "not_found") throw error;
    return `${failure.message}: correct this before you pay, because a payment would buy nothing`;
  }
}

const report: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: PAID_PATH,
  summary: "A research report for 1.00 USDC on Base: by x402 (versions 1 and 2) or by transaction hash.",
  description:
    "A request without a payment gets a 402 with the terms, whatever its body. A payment of at least 1.00 USDC is verified on chain and buys one report; the amount above the price is credited to its sender as a deposit. After a 502 or a timeout, send the same proof with the same body: it joins the running work and is not charged again. An unlisted field is a 400 and leaves the proof unspent. `result` has at least 400 words, and each figure in it cites a fact in `sources`.",
  needs: ["PLATFORM_WALLET_ADDRESS", "LLM_GATEWAY_API_KEY"],
  limit: "order",
  headers: {
    "X-Payment":
      "The payment proof: the hash of a transaction that has paid, a JSON object `{txHash, signature?}` (plain or in base64), or an x402 version 1 payload.",
    "Payment-Signature": "An x402 version 2 payload, in base64; takes precedence over `X-Payment`.",
  },
  answerHeaders: RECEIPT_HEADERS,
  errors: {
    not_found: NOTHING_TO_SELL,
    unauthorized: "The API key is invalid.",
    payment_required: PAYMENT_REQUIRED,
    paused:
      "The LLM gateway is down: the signed payment was not executed. Send the same proof again after Retry-After.",
    upstream: {
      when: "The chain, the payment facilitator or the LLM gateway failed, or the report is not finished yet. The payment is kept: send the same proof again.",
      headers: RECEIPT_HEADERS,
    },
    internal: {
      when: "The report could not be written. The payment is kept: send the same proof again.",
      headers: RECEIPT_HEADERS,
    },
  },
  example: {
    input: { token: "BTC" },
    output: { success: true, result: resultExample, token: "BTC" },
  },
  guard: async (headers, body, asker) => {
    // No sale without a payee and a model that can write the report.
    getRequired("PLATFORM_WALLET_ADDRESS");
    getRequired("LLM_GATEWAY_API_KEY");
    if ((await loadProofs()).getProofHeader(headers) !== null) return;
    const problem = await findInputProblem(body, asker);
    throw buildPaymentRequired(problem === null ? undefined : { error: problem });
  },
  input,
  returns: z.object({
    success: z.literal(true),
    result: z.object(resultFields),
    token: z.string().describe("The symbol asked for; empty for the whole market"),
  }),
  handler: async (ctx, { userId, token }, { headers, caller, requestedId }) => {
    const { parseProof, getProofHeader, hashPresented } = await loadProofs();
    const paymentProof = parseProof(getProofHeader(headers) ?? "");
    if (paymentProof.kind === "refused") throw buildPaymentRequired(paymentProof);
    const order = { focus: token ?? "", ...defined({ userId }) };
    if (paymentProof.kind === "hash") await charge(ctx, "lookUp", caller);
    const { redeem } = await import("./redemption");
    const by = defined({ keyHash: caller.keyHash, requestedId });
    const purchase = { proof: paymentProof, order, presentedHash: hashPresented(paymentProof, order), ...by };
    const redeemed = await holdSlot(ctx, caller, () => redeem(ctx, purchase), { isOrder: true });
    if (redeemed.kind === "refused") throw buildPaymentRequired(redeemed);
    const { focus, headers: receipt } = redeemed;
    const result = toPublicResult(redeemed.result);
    return new Reply({ success: true as const, result, token: focus }, receipt);
  },
});

/** The terms alone: a GET never checks or claims a proof. */
const terms: MountedEndpoint = defineEndpoint({
  methods: ["GET"],
  path: PAID_PATH,
  summary: "The price and payment terms of a report: always 402.",
  description: "The same answer as a POST without a payment. Proofs are checked by POST alone.",
  needs: ["PLATFORM_WALLET_ADDRESS", "LLM_GATEWAY_API_KEY"],
  errors: { payment_required: PAYMENT_REQUIRED },
  example: { input: {}, output: {} },
  input: z.object({}),
  returns: z.object({}).describe("Never"),
  handler: async (_ctx, _input, { headers }) => {
    const isPaid = (await loadProofs()).getProofHeader(headers) !== null;
    throw buildPaymentRequired(
      isPaid ? { error: "Send this payment with POST: a GET only returns the terms" } : undefined,
    );
  },
});

export const paidReportEndpoints: MountedEndpoint[] = [report, terms];
