import type { MutationCtx } from "../../_generated/server";
import { NOBODY } from "./records";

/** The actor of what was done by the operator: no user. */
export const OPERATOR = NOBODY;

/** One line of the audit trail. It contains no secret. */
export type AuditEvent = {
  /** The user for whom it was done; the payer's or the relayer's address if no user was named; or `OPERATOR`. */
  actor: string;
  action:
    | "key created"
    | "key rotated"
    | "transaction signed"
    | "payment accepted"
    | "nonces repaired"
    | "limit set"
    | "account frozen"
    | "account unfrozen"
    | "recipient added"
    | "recipient removed"
    | "delivery changed"
    | "userId replaced"
    | "link dropped"
    | "API key made"
    | "API key revoked"
    | "link restored"
    | "claim opened"
    | "claim done"
    | "claim refused"
    | "claim ended"
    | "change of login opened"
    | "change of login ended"
    | "login changed";
  /** The id of the wallet, transaction, key or claim. */
  subject: string;
  detail?: string;
};

/** Records an act in the transaction that does it. */
export async function recordAudit(ctx: MutationCtx, event: AuditEvent): Promise<void> {
  await ctx.db.insert("auditEvents", { at: Date.now(), ...event });
}
