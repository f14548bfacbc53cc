import { bytesToHex } from "@noble/hashes/utils.js";
import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { charge } from "../../lib/limits/charges";
import { takeCommonNow } from "../../lib/limits/pools";
import { OPERATOR, recordAudit } from "../../lib/records/audit";
import { sha256Hex } from "../../lib/security/digests";
import { DAY, dayOf, iso } from "../../lib/time";
import { recentHourlyCloses } from "../../prices/model";
import { goodKey } from "../../users/keys";
import { requireUser } from "../../users/model";
import { findArm } from "../arms/arms";
import { noteDay } from "../arms/days";
import { HOURS, slotAt } from "../arms/slots";
import { append } from "../record/chain";
import { issueSignal, nextIssueTime } from "../record/changes";
import { findSlot, signalIn, totalsOf } from "../record/model";
import { vPriceAtIssue, vSignal, vToken, type OwnedArm } from "../record/rows";
import { DECISIVE } from "../statistics/inference";
import { vOwnArm } from "../validators";
import { dayAgo, momentumOf } from "../trade/controls";
import { problemsOf, volatilityOf } from "../trade/rules";
import type { OwnArm } from "./shapes";

/**
 * Arms of people: signed-in users propose signals in advance. The code of the service's own signals measures their
 * entry, ends them, counts them and chains them. Neither a signal nor an arm can be taken back.
 */

/** The most arms of an owner, including ended ones: otherwise losing arms would be ended and others begun. */
const MOST_ARMS = 10;

type Arm = Extract<Doc<"signalArms">, { number: number }>;

function ownedIn(rows: readonly (Doc<"signalArms"> | null)[]): Arm[] {
  return rows.filter((row) => row !== null && "number" in row);
}

async function armsOf(ctx: QueryCtx, userId: string): Promise<Arm[]> {
  const rows = await ctx.db
    .query("signalArms")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .take(MOST_ARMS);
  return ownedIn(rows);
}

/** An owner's arm that accepts signals. @throws AppError `not_found`; `conflict` if it has ended. */
async function armToUse(ctx: QueryCtx, userId: string, arm: string): Promise<Arm> {
  const [row] = ownedIn([await findArm(ctx, arm)]);
  if (row?.userId !== userId) throw new AppError("not_found", `You have no arm ${arm}`);
  if (row.endedAt !== undefined) throw new AppError("conflict", `The arm ${arm} has ended`);
  return row;
}

/**
 * The user whose arms the caller may use: the signed-in user, or the owner of a key with the scope `record`.
 * @throws AppError `unauthorized`, `forbidden`, `not_found` before the first sign-in
 */
async function ownerAsking(ctx: QueryCtx, keyHash?: string, now?: number): Promise<string> {
  if (keyHash === undefined) return (await requireUser(ctx)).userId;
  const { userId, scopes } = await goodKey(ctx, keyHash, now ?? Date.now());
  if (!scopes.includes("record")) throw new AppError("forbidden", "This key lacks the scope record");
  return userId;
}

/** @param isOwners Whether the owner is asking, who sees the name before the operator has accepted it. */
async function view(ctx: QueryCtx, row: OwnedArm, isOwners: boolean): Promise<OwnArm> {
  const { arm, userId, name = null, nameState, number, since, endedAt, listed } = row;
  // How much more its e-value has to show: the best of several arms seems good sooner than a single arm.
  const of = userId === undefined ? MOST_ARMS : Math.max(number, (await armsOf(ctx, userId)).length);
  return {
    ...{ arm, name: isOwners || nameState === "shown" ? name : null, nameState, number, of, listed },
    ...{ since: iso(since), endedAt: endedAt === undefined ? null : iso(endedAt) },
    ...{ left: userId === undefined, needed: DECISIVE * of },
  };
}

const vAsking = { keyHash: v.optional(v.string()) };

/** The caller's arms. */
export const mine = internalQuery({
  args: { ...vAsking, now: v.optional(v.number()) },
  returns: v.array(vOwnArm),
  handler: async (ctx, { keyHash, now }) => {
    const rows = await armsOf(ctx, await ownerAsking(ctx, keyHash, now));
    return Promise.all(rows.map(async (row) => view(ctx, row, true)));
  },
});

/** The form of a name, which must not look like an arm's id. */
const NAME = /^(?!arm-)[a-z][a-z0-9-]{2,29}$/;

export const make = internalMutation({
  args: { ...vAsking, name: v.string() },
  returns: vOwnArm,
  handler: async (ctx, args) => {
    const userId = await ownerAsking(ctx, args.keyHash);
    await charge(ctx, "settings", { userId, address: null });
    const name = args.name.trim();
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
    const [arm, since] = [newArm(), Date.now()];
    const row = { arm, userId, name, nameState: "waiting" as const, number, since, listed: false };
    await ctx.db.insert("signalArms", row);
    const content = { arm, number, at: iso(since) };
    await append(ctx, { desk: "people", statement: { kind: "begun", content } });
    return view(ctx, row, true);
  },
});

/** `arm-` and 64 random bits. The chain, from which nothing can be removed, contains only this of an arm. */
function newArm(): string {
  return `arm-${bytesToHex(crypto.getRandomValues(new Uint8Array(8)))}`;
}

/** Ends an arm: it accepts no more proposals. Its signals are ended, counted and shown as before. */
export const end = internalMutation({
  args: { ...vAsking, arm: v.string() },
  returns: vOwnArm,
  handler: async (ctx, { keyHash, arm }) => {
    const userId = await ownerAsking(ctx, keyHash);
    await charge(ctx, "settings", { userId, address: null });
    const row = await armToUse(ctx, userId, arm);
    const ended = { ...row, endedAt: Date.now() };
    await ctx.db.patch("signalArms", row._id, { endedAt: ended.endedAt });
    return view(ctx, ended, true);
  },
});

/** Counts a proposal against its owner's limit, before a provider is asked for a price. */
export const admit = internalMutation({
  args: { ...vAsking, arm: v.string(), token: vToken },
  returns: v.null(),
  handler: async (ctx, { keyHash, arm, token }) => {
    const userId = await ownerAsking(ctx, keyHash);
    await charge(ctx, "signal", { userId, address: null });
    await armToUse(ctx, userId, arm);
    await assertFree(ctx, { arm, token, slot: slotAt("people", Date.now()) });
    return null;
  },
});

/** Issues a proposed signal at the price that was measured after the proposal: row, event and controls. */
export const issue = internalMutation({
  args: {
    ...vAsking,
    arm: v.string(),
    token: vToken,
    signal: v.union(v.literal("BUY"), v.literal("SELL")),
    ...{ tp1: v.number(), tp2: v.number(), sl: v.number(), confidence: v.number() },
    price: vPriceAtIssue,
    costBps: v.number(),
  },
  returns: vSignal,
  handler: async (ctx, { keyHash, arm, token, price, costBps, ...proposed }) => {
    const userId = await ownerAsking(ctx, keyHash);
    await armToUse(ctx, userId, arm);
    const proposal = { ...proposed, entry: price.usd };
    const problem = problemsOf(proposal, { priceUsd: price.usd, costBps });
    if (problem !== null) throw new AppError("invalid_request", problem);
    const generatedAt = await nextIssueTime(ctx, arm, Date.now());
    const slot = slotAt("people", generatedAt);
    await assertFree(ctx, { arm, token, slot });
    await takeCommonNow(ctx, "signal", [sha256Hex(`own:${userId}`)]);
    const closes = await recentHourlyCloses(ctx, token, { before: generatedAt, count: HOURS });
    const hours = closes.map(({ hourEndsAt, priceUsd }) => ({ endsAt: hourEndsAt, close: priceUsd }));
    const momentum = momentumOf(price.usd, dayAgo(hours, generatedAt));
    const of = { desk: "people" as const, arm, slot, token, generatedAt, record: arm };
    const by = {
      model: OWN,
      promptVersion: OWN,
      reasoning: "",
      ...volatilityOf(hours.map(({ close }) => close)),
    };
    await issueSignal(ctx, { ...of, ...by, ...proposal, price, costBps, momentum, missingHours: 0 });
    await noteDay(ctx, arm, slot, slot + DAY);
    const row = await findSlot(ctx, { arm, slot, token });
    if (row === null) throw new Error("The row was just written");
    return signalIn(row);
  },
});

/** In the place of a model and a prompt. */
const OWN = "own";

/** @throws AppError `conflict` if the arm already has a signal for the token and day. */
async function assertFree(ctx: QueryCtx, slot: { arm: string; token: "BTC" | "ETH"; slot: number }) {
  if ((await findSlot(ctx, slot)) !== null)
    throw new AppError("conflict", `The arm has its ${slot.token} signal of ${dayOf(slot.slot)} already`);
}

/** An arm by its id, or by a name that the operator has accepted; `null` if there is none. */
export const called = internalQuery({
  args: { called: v.string() },
  returns: v.union(vOwnArm, v.null()),
  handler: async (ctx, { called }) => {
    const rows = [await findArm(ctx, called), await getOneFrom(ctx.db, "signalArms", "by_name", called)];
    const row = ownedIn(rows).find(({ arm, nameState }) => arm === called || nameState === "shown");
    return row === undefined ? null : view(ctx, row, false);
  },
});

const MOST_LISTED = 100;

/** The listed arms, newest first: those with 30 outcomes, no matter which. */
export const listed = internalQuery({
  args: {},
  returns: v.array(v.object({ arm: vOwnArm, n: v.number(), excess: v.union(v.number(), v.null()) })),
  handler: async (ctx) => {
    const rows = await ctx.db
      .query("signalArms")
      .withIndex("by_listed", (q) => q.eq("listed", true))
      .order("desc")
      .take(MOST_LISTED);
    return Promise.all(
      ownedIn(rows).map(async (row) => {
        const { wins, losses, expired, arms } = await totalsOf(ctx, row.arm, "ALL");
        const { days, sum } = arms.model.days.net;
        const arm = await view(ctx, row, false);
        return { arm, n: wins + losses + expired, excess: days === 0 ? null : (100 * sum) / days };
      }),
    );
  },
});

/** Names that wait for the operator. */
export const waiting = internalQuery({
  args: {},
  returns: v.array(vOwnArm),
  handler: async (ctx) => {
    const rows = await ctx.db
      .query("signalArms")
      .withIndex("by_nameState", (q) => q.eq("nameState", "waiting"))
      .take(MOST_LISTED);
    return Promise.all(ownedIn(rows).map(async (row) => view(ctx, row, true)));
  },
});

/**
 * The operator accepts or refuses a name, at any time: `npx convex run signals/people/arms:nameDecided
 * '{"arm":"arm-…","shown":true}'`. Without its name an arm is shown by its id.
 */
export const nameDecided = internalMutation({
  args: { arm: v.string(), shown: v.boolean() },
  returns: vOwnArm,
  handler: async (ctx, { arm, shown }) => {
    const [row] = ownedIn([await findArm(ctx, arm)]);
    if (row === undefined) throw new AppError("not_found", `There is no arm ${arm}`);
    const nameState = shown && row.name !== undefined ? ("shown" as const) : ("refused" as const);
    await ctx.db.patch("signalArms", row._id, { nameState });
    const detail = `${row.name ?? "no name"} ${nameState}`;
    await recordAudit(ctx, { actor: OPERATOR, action: "signal arm's name decided", subject: arm, detail });
    return view(ctx, { ...row, nameState }, true);
  },
});
