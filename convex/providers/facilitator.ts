import * as z from "zod";
import { deadlines } from "../lib/outside/deadlines";
import { required } from "../lib/env";
import { answered, askProvider, postJson, statusFailure, unusableFailure } from "./call";

/** An x402 facilitator without accounts: executes signed payments in place of a relayer (x402 specification, /settle). */
const UPSTREAM = "The payment facilitator";

const settledShape = z.object({ success: z.boolean() });

/**
 * Has a payment of x402 version 1 executed. Safe to repeat: an authorization is used once.
 * @param requirement This service's own, never one that a client has sent.
 * @returns Whether it reports success; the chain decides.
 * @throws AppError `upstream`: it is unknown whether the payment was executed.
 */
export async function settleByFacilitator(payment: object, requirement: object): Promise<boolean> {
  const url = `${required("X402_FACILITATOR_URL")}/settle`;
  const body = { x402Version: 1, paymentPayload: payment, paymentRequirements: requirement };
  const result = await askProvider("facilitator", url, postJson(body), deadlines.facilitator);
  const answer = answered(UPSTREAM, result);
  const parsed = settledShape.safeParse(answer.body);
  if (!parsed.success) {
    throw answer.status === 200 ? unusableFailure(UPSTREAM) : statusFailure(UPSTREAM, answer.status);
  }
  return parsed.data.success;
}
