import * as z from "zod";
import { internal } from "../../_generated/api";
import { AppError } from "../../lib/errors";
import { EXAMPLE_TIME, EXAMPLE_TX, EXAMPLE_USER } from "../../lib/http/examples";
import { USER_TOKEN, USER_TOKEN_ERRORS } from "../../lib/http/headers";
import { endpoint, type MountedEndpoint } from "../../lib/http/endpoint";
import { text, userId } from "../../lib/http/input";
import { iso } from "../../lib/time";
import { assertMay } from "../../users/access";
import { shortfallOf } from "../transactions/states";
import { shownStatus } from "./execution";
import { status } from "./shapes";

/** The state of requests that wait for their owner. */

const approval: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/defi/approval",
  summary: "The state of a request that waits for its owner's approval.",
  description:
    "For an order or a change of delivery settings that was answered with 202. The call only reads; to wait for the owner, repeat the request with its idempotency key.",
  limit: "settings",
  access: (ctx, { userId }, caller) => assertMay(ctx, userId, "holdings", caller),
  headers: USER_TOKEN,
  errors: { ...USER_TOKEN_ERRORS, not_found: "This user has no question with this id." },
  example: {
    input: { userId: EXAMPLE_USER, approvalId: "k57d0c2v6s3m8q4x9z1b7n5t2h6j8w3y" },
    output: {
      approvalId: "k57d0c2v6s3m8q4x9z1b7n5t2h6j8w3y",
      status: "approved",
      kind: "send",
      expiresAt: EXAMPLE_TIME,
      txHash: EXAMPLE_TX,
      transaction: "confirmed",
    },
  },
  input: z.object({ userId, approvalId: text(64).describe("The id from the answer.") }),
  returns: z.object({
    approvalId: z.string(),
    status: z
      .enum(["awaiting_approval", "approved", "refused", "failed", "expired", "void", "undelivered"])
      .describe(
        "failed: approved, but it could not be started; expired: not answered within 10 minutes; void: the owner's rules or link have changed since; undelivered: the owner's chat did not take the question",
      ),
    kind: z.enum(["send", "swap", "delivery"]),
    expiresAt: z.iso.datetime(),
    txHash: z.string().optional().describe("Once the approved transaction is signed"),
    transaction: status.optional(),
    error: z.string().optional().describe("Why it failed"),
  }),
  handler: async (ctx, { userId, approvalId }) => {
    const asked = await ctx.runQuery(internal.wallets.orders.proposals.view, {
      ...{ userId, approvalId, now: Date.now() },
    });
    if (asked === null) throw new AppError("not_found", "This user has no question with this id");
    const { transactionId, expiresAt, idempotencyKey: _, error, ...question } = asked;
    const { orders } = internal.wallets.transactions;
    const view = transactionId === null ? null : await ctx.runQuery(orders.view, { transactionId });
    const fault = view === null ? error : (view.error ?? shortfallOf(view) ?? error);
    return {
      ...{ ...question, expiresAt: iso(expiresAt) },
      ...(view?.txHash === undefined ? {} : { txHash: view.txHash, transaction: shownStatus(view.state) }),
      ...(fault === null ? {} : { error: fault }),
    };
  },
});

export const approvalEndpoints: MountedEndpoint[] = [approval];
