import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { iso } from "../../lib/time";
import { goodKey } from "../../users/keys";
import { requireUser } from "../../users/model";
import { findArm } from "../arms/arms";
import { append } from "../record/chain";
import type { OwnedArm } from "../record/tables";

/**
 * Arms of people: whoever is signed in proposes signals before the fact, and the same machine as the service's own measures
 * their entry, ends them, counts them and chains them. What was proposed stays: no signal is taken back, and no arm.
 */

/** An owner has so many in all, ended ones too: else those that lose would be ended, and others begun. */
const MOST_ARMS = 10;

type Arm = Extract<Doc<"signalArms">, { number: number }>;

/** @param arm By its id. */
export async function findOwned(ctx: QueryCtx, arm: string): Promise<Arm | null> {
  return ownedIn([await findArm(ctx, arm)]).at(0) ?? null;
}

export function ownedIn(rows: readonly (Doc<"signalArms"> | null)[]): Arm[] {
  return rows.filter((row) => row !== null && "number" in row);
}

/**
 * Whose arms the caller may use: the signed-in user's, or of a key with the scope `record` its owner's.
 * @throws AppError `unauthorized`, `forbidden`, `not_found` before the first sign-in
 */
export async function ownerAsking(ctx: QueryCtx, keyHash: string | undefined): Promise<string> {
  if (keyHash === undefined) return (await requireUser(ctx)).userId;
  const { userId, scopes } = await goodKey(ctx, keyHash, Date.now());
  if (!scopes.includes("record")) throw new AppError("forbidden", "This key lacks the scope record");
  return userId;
}

export async function armsOf(ctx: QueryCtx, userId: string): Promise<Arm[]> {
  const rows = await ctx.db
    .query("signalArms")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(MOST_ARMS);
  return ownedIn(rows);
}

/** An owner's arm that signals may be proposed to. @throws AppError `not_found`; `conflict` for one that has ended. */
export async function armToUse(ctx: QueryCtx, userId: string, arm: string): Promise<Arm> {
  const row = await findOwned(ctx, arm);
  if (row?.userId !== userId) throw new AppError("not_found", `You have no arm ${arm}`);
  if (row.endedAt !== undefined) throw new AppError("conflict", `The arm ${arm} has ended`);
  return row;
}

/** What a name may be: never what an arm's id looks like. */
const NAME = /^(?!arm-)[a-z][a-z0-9-]{2,29}$/;

/** Begins an arm. @throws AppError `invalid_request`; `conflict` for a name that is taken, or the eleventh arm. */
export async function begin(ctx: MutationCtx, userId: string, name: string): Promise<OwnedArm> {
  if (!NAME.test(name))
    throw new AppError(
      "invalid_request",
      "name must be 3 to 30 small letters, digits and hyphens, begin with a letter and not with arm-",
    );
  if ((await getOneFrom(ctx.db, "signalArms", "by_name", name)) !== null)
    throw new AppError("conflict", "This name is taken");
  const number = (await armsOf(ctx, userId)).length + 1;
  if (number > MOST_ARMS)
    throw new AppError("conflict", `You have ${MOST_ARMS} arms, ended ones included: no more can be made`);
  const arm = newArm();
  const since = Date.now();
  const row = { arm, userId, name, nameState: "waiting" as const, number, since, listed: false };
  await ctx.db.insert("signalArms", row);
  const content = { arm, number, at: iso(since) };
  await append(ctx, { desk: "people", statement: { kind: "begun", content } });
  return row;
}

/** `arm-` and 64 random bits: the chain, which nothing can be taken out of, knows an arm by this alone. */
function newArm(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `arm-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** An arm by its id, or by a name that the operator has let stand; `null` without one. */
export async function armCalled(ctx: QueryCtx, called: string): Promise<Arm | null> {
  const rows = [await findArm(ctx, called), await getOneFrom(ctx.db, "signalArms", "by_name", called)];
  return ownedIn(rows).find(({ arm, nameState }) => arm === called || nameState === "shown") ?? null;
}

/** Arms that an owner has had: so much more their e-value has to show, since one of several seems good sooner than one alone. */
export async function siblingsOf(ctx: QueryCtx, { userId, number }: OwnedArm): Promise<number> {
  return userId === undefined ? MOST_ARMS : Math.max(number, (await armsOf(ctx, userId)).length);
}
