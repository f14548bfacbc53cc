import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import type { Asked, Known } from "../../lib/http/router";
import type { Credential } from "../../lib/limits/callers";
import { iso } from "../../lib/time";
import type { NamedId } from "./namedIds";

/** What a request is told of the `userId` that it names. Every request evaluates this: what few need is loaded when they do. */

/** For actions. @throws AppError `not_found` for an id in whose place its owner has put another. */
export async function knownId(ctx: ActionCtx, name: string, { keyHash, shows }: Asked): Promise<Known> {
  const asked = { name, ...(keyHash === undefined ? {} : { keyHash }), shows, now: Date.now() };
  const id: NamedId | null = await ctx.runQuery(internal.account.ids.namedIds.known, asked);
  if (id === null) {
    const { replacedId } = await import("../../users/names");
    throw replacedId();
  }
  const { userId, credential, level, claim } = id;
  if (credential === "key") {
    const { noted } = await import("../../users/access");
    await noted(ctx, credential, keyHash);
  }
  return {
    userId,
    credential,
    told: (by) => {
      if (level !== null && SHOWN.includes(by ?? "unclaimed")) return { owner: { level } };
      if (claim === null) return {};
      return { claimPending: iso(claim.dueAt), claimContest: claim.told ? "code" : "operator" };
    },
  };
}

/**
 * To these every answer tells besides its own that the id has an owner, so that nobody who only guessed it pays money in;
 * to others that a claim of it waits.
 */
const SHOWN: readonly Credential[] = ["id", "owner", "key"];
