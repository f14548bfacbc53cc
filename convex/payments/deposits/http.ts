import * as z from "zod";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { waitingAs } from "../../lib/limits/crowd";
import { deadlines } from "../../lib/outside/deadlines";
import { optional } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { EXAMPLE_TX } from "../../lib/http/examples";
import { endpoint, type MountedEndpoint, type RequestHead } from "../../lib/http/endpoint";
import { createPauses } from "../../lib/time";
import type { DepositAnswer } from "./hints";
import { answerShape, depositPayload, type DepositHint } from "./payloads";
import { isSigned } from "./signatures";

/** How many transactions of a payload are stored, and looked up, at once: it can name thousands. */
const TAKEN_TOGETHER = 100;

/** Pause between two reads of the rows. */
const ROW_PAUSE_MS = 50;

const SIGNATURES = {
  "X-Webhook-Signature": "HMAC-SHA256 of the raw body under the webhook secret, in hex.",
  "X-Alchemy-Signature": "Alchemy's: HMAC-SHA256 of the raw body, in hex.",
  "X-QN-Signature":
    "QuickNode's: HMAC-SHA256 of `X-QN-Nonce`, `X-QN-Timestamp` (epoch seconds) and the raw body, in hex.",
  "X-QN-Nonce": "Part of what QuickNode signs.",
  "X-QN-Timestamp": "Epoch seconds, at most 5 minutes away from now; part of what QuickNode signs.",
  "X-Hook0-Signature":
    "Coinbase CDP's: `t=<epoch seconds>,v0=<hex>`, where v0 is the HMAC-SHA256 of the timestamp, a dot and the raw body.",
};

const deposit: MountedEndpoint = endpoint({
  methods: ["POST"],
  path: "/indexer/deposit",
  summary:
    "Webhook of a chain indexer: every named transaction is read from the chain, and its USDC transfers to the platform wallet are credited to their senders, each once.",
  description:
    "The payload is only a hint: amounts, senders and receivers are read from the chain alone. Taken in the forms of Alchemy (Address Activity), Coinbase CDP, QuickNode Streams and a plain one. A payload may name as many transactions as its 1 MiB holds; of one transaction, the answer goes into the first 100 named logs. What is `pending` after 3 seconds is settled later. The same payload again credits nothing twice. Without a webhook secret, transactions named for the first time are counted, 100 at a time: after a 429, those that were taken stay, and the same payload again goes on with the rest.",
  needs: ["PLATFORM_WALLET_ADDRESS"],
  limit: "deposit",
  errors: { unauthorized: "A webhook secret is configured, and the signature is missing, old or wrong." },
  headers: SIGNATURES,
  example: {
    input: { txHash: EXAMPLE_TX, logIndex: 12 },
    output: {
      success: true,
      credited: [{ txHash: EXAMPLE_TX, logIndex: 12, amountUsdc: "25.5", credits: 2_550 }],
      pending: [],
      ignored: [],
    },
  },
  guard: requireSignature,
  input: depositPayload,
  returns: z.object({ success: z.boolean(), ...answerShape.shape }),
  handler: async (ctx, hints, { caller }) => {
    // A refusal or a failure in between loses nothing: what is stored is known when the payload comes again.
    for (let start = 0; start < hints.length; start += TAKEN_TOGETHER) {
      const named = hints.slice(start, start + TAKEN_TOGETHER);
      await ctx.runMutation(internal.payments.deposits.hints.receive, {
        hints: named.map(({ txHash, removed }) => ({ txHash, removed })),
        caller,
      });
    }
    const { credited, pending, ignored } = await waitingAs(
      ctx,
      caller,
      () => awaitAnswer(ctx, hints, deadlines.deposit),
      () => awaitAnswer(ctx, hints, 0),
    );
    return { success: true, credited, pending, ignored };
  },
});

/** @throws AppError `unauthorized` if a secret is configured and the request is not signed with it. */
function requireSignature({ header }: RequestHead, body: string): void {
  const secret = optional("DEPOSIT_WEBHOOK_SECRET");
  if (secret === undefined || isSigned(header, body, secret, Date.now())) return;
  throw new AppError("unauthorized", "The webhook's signature is missing or wrong");
}

/** Waits as long as providers accept; the rest is settled in the background. */
async function awaitAnswer(
  ctx: ActionCtx,
  hints: readonly DepositHint[],
  patienceMs: number,
): Promise<Omit<DepositAnswer, "unsettled">> {
  const deadline = AbortSignal.timeout(patienceMs);
  const pause = createPauses(ROW_PAUSE_MS);
  const whole: Omit<DepositAnswer, "unsettled"> = { credited: [], pending: [], ignored: [] };
  for (let start = 0; start < hints.length;) {
    const named = hints.slice(start, start + TAKEN_TOGETHER);
    const { answer, looked } = await ctx.runQuery(internal.payments.deposits.hints.stand, {
      hints: named.map(({ txHash, logIndexes }) => ({ txHash, logIndexes })),
    });
    if (answer.unsettled && patienceMs > 0 && !deadline.aborted) {
      await pause();
      continue;
    }
    whole.credited.push(...answer.credited);
    whole.pending.push(...answer.pending);
    whole.ignored.push(...answer.ignored);
    start += looked;
  }
  return whole;
}

export const depositEndpoints: MountedEndpoint[] = [deposit];
