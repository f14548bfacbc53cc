import { hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getOptional } from "../lib/env";
import { AppError, getErrorMessage } from "../lib/errors";
import { defineEndpoint, type MountedEndpoint } from "../platform/http/endpoint";
import { EXAMPLE_TX } from "../platform/http/input";
import { log } from "../lib/log";
import { deadlines } from "../platform/outside/deadlines";
import { isEqualBytes, hmacSha256 } from "../lib/crypto";
import { raceDeadline } from "../lib/time";

/** Transactions of a webhook that the answer covers. */
const MOST_NAMED = 100;

const hash = z
  .string("must be a string")
  .trim()
  .regex(/^0[xX][0-9a-fA-F]{64}$/, "must be a transaction hash: 0x and 64 hex digits")
  .toLowerCase();

/** Any provider's payload: a hint to read the chain, and the transactions that the answer covers. */
const payload = z.looseObject({ txHash: hash.optional() }).transform((body) => {
  const txHashes = JSON.stringify(body)
    .toLowerCase()
    .match(/0x[0-9a-f]{64}(?![0-9a-f])/g);
  return { requestedHashes: [...new Set(txHashes ?? [])].slice(0, MOST_NAMED), plainHash: body.txHash };
});

const deposit: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/indexer/deposit",
  summary: "Webhook for chain indexers: reads the USDC transfers to the platform wallet from the chain now.",
  description:
    "The service reads these transfers from the chain every minute; a webhook makes it read at once. The payload is never trusted, so any provider's form is accepted. The answer covers the first 100 transaction hashes in it, as far as they are known after 3 seconds. `pending` has the `txHash` of the plain form while it is unknown.",
  needs: ["PLATFORM_WALLET_ADDRESS"],
  limit: "deposit",
  errors: { unauthorized: "A webhook secret is configured, and the signature is missing or wrong." },
  headers: {
    "X-Webhook-Signature":
      "HMAC-SHA256 of the raw body under the webhook secret, in hex; also as `X-Alchemy-Signature`.",
  },
  example: {
    input: { txHash: EXAMPLE_TX },
    output: {
      success: true,
      credited: [{ txHash: EXAMPLE_TX, logIndex: 12, amountUsdc: "25.5", credits: 2_550 }],
      pending: [],
      ignored: [],
    },
  },
  guard: requireSignature,
  input: payload,
  returns: z.object({
    success: z.boolean(),
    credited: z.array(
      z.object({ txHash: z.string(), logIndex: z.int(), amountUsdc: z.string(), credits: z.int() }),
    ),
    pending: z.array(z.object({ txHash: z.string() })).describe("Not known yet"),
    ignored: z.array(z.object({ txHash: z.string(), reason: z.string() })).describe("Credits nothing"),
  }),
  handler: async (ctx, { requestedHashes, plainHash }) => {
    await raceDeadline(AbortSignal.timeout(deadlines.deposit), readNow(ctx));
    const { credited, ignored } = await ctx.runQuery(internal.payments.deposits.findKnownTransactions, {
      requestedHashes,
    });
    const isKnown = [...credited, ...ignored].some(({ txHash }) => txHash === plainHash);
    const pending = plainHash === undefined || isKnown ? [] : [{ txHash: plainHash }];
    return { success: true, credited, pending, ignored };
  },
});

/** Reads deposits now. The next minute's reading resumes one that failed or was cut off with the answer. */
async function readNow(ctx: ActionCtx): Promise<void> {
  try {
    const { readDeposits } = await import("./depositReader");
    await readDeposits(ctx, await ctx.runQuery(internal.payments.deposits.getReading, {}));
  } catch (error) {
    log.warn("deposits.not read", { reason: getErrorMessage(error) });
  }
}

/** @throws AppError `unauthorized` if a secret is configured and the request is not signed with it. */
function requireSignature(headers: Headers, body: string): void {
  const secret = getOptional("DEPOSIT_WEBHOOK_SECRET");
  if (secret === undefined) return;
  const mac = hmacSha256(utf8ToBytes(secret), utf8ToBytes(body));
  const isSigned = ["x-webhook-signature", "x-alchemy-signature"].some((name) => {
    const given = headers.get(name)?.trim().toLowerCase() ?? "";
    return /^[0-9a-f]{64}$/.test(given) && isEqualBytes(mac, hexToBytes(given));
  });
  if (!isSigned)
    throw new AppError(
      "unauthorized",
      "The webhook signature is missing or wrong: send the hex HMAC-SHA256 of the raw body under DEPOSIT_WEBHOOK_SECRET in X-Webhook-Signature",
    );
}

export const depositEndpoints: MountedEndpoint[] = [deposit];
