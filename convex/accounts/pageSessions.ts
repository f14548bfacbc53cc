import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, mutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { type Account, createRandomHex, findOwner } from "../identity/model";
import { requireSetter } from "../identity/access";
import { sha256Hex } from "../lib/crypto";
import { getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { HOUR, MINUTE } from "../lib/time";
import { findLink } from "../messenger/model";
import { defineMutation } from "../platform/changes";
import { requireIdentity } from "../platform/limits/callers";
import { queryBy } from "../platform/records";
import { freezeAccount } from "./freeze";

/**
 * Access to the owner's page: links that work once within ten minutes, and the sessions of an hour that they open. A
 * session reads the page and freezes the account, nothing else. It ends with any change of its basis: the account's
 * login, its id, its linked chat, or a freeze.
 */

const LINK_MS = 10 * MINUTE;
export const SESSION_MS = HOUR;

/** The most links and sessions of an account: a further one takes the place of the oldest. */
const MOST_ROWS = 5;

type Row = Doc<"pageSessions">;

/** The address of a link. @param token Its text, with 256 random bits. */
export function buildPageUrl(token: string): string {
  return `${getSiteUrl()}/me/open?token=${token}`;
}

/** The state on which a session depends, hashed. */
async function computeBasis(ctx: QueryCtx, { userId, login, name, frozenAt }: Account): Promise<string> {
  const link = await findLink(ctx, userId);
  return sha256Hex(JSON.stringify([login, name, frozenAt, link?._id]));
}

/**
 * Stores a link to an account's page. The caller is already authorized. @param by The recipient: the login, or a linked
 * chat.
 */
export async function storePageLink(
  ctx: MutationCtx,
  account: Account,
  by: Row["by"],
  token: string,
): Promise<number> {
  const { userId } = account;
  const rows = await queryBy(ctx.db.query("pageSessions"), "userId", userId).take(MOST_ROWS);
  const [oldest] = rows;
  if (oldest !== undefined && rows.length === MOST_ROWS) await ctx.db.delete("pageSessions", oldest._id);
  const expiresAt = Date.now() + LINK_MS;
  const basis = await computeBasis(ctx, account);
  await ctx.db.insert("pageSessions", {
    userId,
    kind: "link",
    by,
    tokenHash: sha256Hex(token),
    basis,
    expiresAt,
  });
  return expiresAt;
}

const vPageLink = v.object({ url: v.string(), expiresAt: v.number() });

async function createLinkByLogin(ctx: MutationCtx, account: Account): Promise<Infer<typeof vPageLink>> {
  const token = createRandomHex(32);
  return { expiresAt: await storePageLink(ctx, account, "login", token), url: buildPageUrl(token) };
}

/**
 * Creates a link to the caller's own page, which shows what the account has and stops it. It works once, within ten minutes.
 * @returns `expiresAt` in epoch ms.
 * @throws AppError `rate_limited`
 */
export const createLink = mutation({
  args: {},
  returns: vPageLink,
  handler: async (ctx) => createLinkByLogin(ctx, await requireSetter(ctx)),
});

/** `createLink` for an account that the caller names. @throws AppError `unauthorized` without a token; `forbidden`. */
export const createLinkFor = internalMutation({
  args: { userId: v.string() },
  returns: vPageLink,
  handler: async (ctx, { userId }) => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    const account = await findOwner(ctx, userId);
    if (account?.login !== tokenIdentifier)
      throw new AppError(
        "forbidden",
        "This needs the token of the owner of this userId: sign in as the owner",
      );
    return createLinkByLogin(ctx, account);
  },
});

/** The unexpired link or session of a token, with its account as it is now; `null` if there is none. */
export async function findPageSession(
  ctx: QueryCtx,
  kind: Row["kind"],
  tokenHash: string,
  now: number,
): Promise<{ row: Row; account: Account } | null> {
  const row = await getOneFrom(ctx.db, "pageSessions", "by_tokenHash", tokenHash);
  if (row?.kind !== kind || row.expiresAt <= now) return null;
  const account = await findOwner(ctx, row.userId);
  if (account === null || row.basis !== (await computeBasis(ctx, account))) return null;
  return { row, account };
}

/**
 * Uses a link up: it becomes a session, in place of the one that the browser has had.
 * @param args.former SHA-256 of that one's token.
 * @throws AppError `not_found` for a link that is unknown, used, older than ten minutes, or void.
 */
export const openSession = defineMutation(
  { linkHash: v.string(), sessionHash: v.string(), former: v.optional(v.string()) },
  async (ctx, { linkHash, sessionHash, former }) => {
    const now = Date.now();
    const found = await findPageSession(ctx, "link", linkHash, now);
    if (found === null)
      throw new AppError(
        "not_found",
        "This link was used, is older than 10 minutes, or is void: /me in the bot makes a new one",
      );
    if (former !== undefined) await deleteSession(ctx, former);
    const session = { kind: "session", tokenHash: sessionHash, expiresAt: now + SESSION_MS } as const;
    await ctx.db.patch("pageSessions", found.row._id, session);
  },
);

async function deleteSession(ctx: MutationCtx, tokenHash: string): Promise<void> {
  const row = await getOneFrom(ctx.db, "pageSessions", "by_tokenHash", tokenHash);
  if (row?.kind === "session") await ctx.db.delete("pageSessions", row._id);
}

/** Ends a session, if there is one. */
export const endSession = defineMutation({ sessionHash: v.string() }, (ctx, { sessionHash }) =>
  deleteSession(ctx, sessionHash),
);

/** Freezes the account of a session, which ends by it. @throws AppError `conflict` for a session that has ended. */
export const freezeBySession = defineMutation({ sessionHash: v.string() }, async (ctx, { sessionHash }) => {
  const found = await findPageSession(ctx, "session", sessionHash, Date.now());
  if (found === null) throw new AppError("conflict", PAGE_CLOSED);
  await freezeAccount(ctx, found.account.userId, found.row.by);
  await ctx.db.delete("pageSessions", found.row._id);
});

export const PAGE_CLOSED =
  "This page has closed, and nothing is frozen by it: get a new link, or send /freeze to the bot";
