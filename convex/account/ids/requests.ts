import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import type { IdQuestion, Known } from "../../lib/http/router";
import type { Credential } from "../../lib/limits/callers";
import { iso } from "../../lib/time";
import type { NamedId } from "./namedIds";

/** What a request learns of the `userId` that it names. Every request loads this file, so it imports rare parts lazily. */

/** For actions. @throws AppError `not_found` if the owner has replaced the id. */
export async function knownId(ctx: ActionCtx, name: string, { keyHash, shows }: IdQuestion): Promise<Known> {
  const args = { name, ...(keyHash === undefined ? {} : { keyHash }), shows, now: Date.now() };
  const id: NamedId | null = await ctx.runQuery(internal.account.ids.namedIds.known, args);
  if (id === null) {
    const { replacedId } = await import("../../users/names");
    throw replacedId();
  }
  const { userId, credential, level, claim } = id;
  if (credential === "key") {
    const { recordKeyUse } = await import("../../users/access");
    await recordKeyUse(ctx, credential, keyHash);
  }
  return {
    userId,
    credential,
    notes: (by) => {
      if (level !== null && SHOWN.includes(by ?? "unclaimed")) return { owner: { level } };
      if (claim === null) return {};
      return { claimPending: iso(claim.dueAt), claimContest: claim.told ? "code" : "operator" };
    },
  };
}

/**
 * Answers to these callers add that the id has an owner, so that nobody who only guessed it pays money in; answers to
 * others add that a claim is pending.
 */
const SHOWN: readonly Credential[] = ["id", "owner", "key"];
