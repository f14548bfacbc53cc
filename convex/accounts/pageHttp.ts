import * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { createRandomHex } from "../identity/model";
import { sha256Hex } from "../lib/crypto";
import { AppError } from "../lib/errors";
import { SECOND, toIso } from "../lib/time";
import { defineEndpoint, Reply, type Call, type MountedEndpoint } from "../platform/http/endpoint";
import { EXAMPLE_TIME, EXAMPLE_USER, requiredText, userId } from "../platform/http/input";
import { charge } from "../platform/limits/charges";
import type { Overview } from "./overview";
import { PAGE_CLOSED, SESSION_MS } from "./pageSessions";

/** Access to the owner's page over HTTP: its link, the session that the link opens, and log-out. */

const COOKIE = "__Host-page";
/** A browser sends such a cookie to this host alone, over TLS (or to its own machine), and for no other site's request. */
const buildCookie = (value: string, seconds: number) =>
  `${COOKIE}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Strict`;
/** The header that makes a browser forget its session. */
export const FORGET = { "Set-Cookie": buildCookie("", 0) };

export const READS_COOKIE = { Cookie: `\`${COOKIE}\`: the session that a link has opened.` };
export const SETS_COOKIE = { "Set-Cookie": `\`${COOKIE}\`, \`HttpOnly\`, \`Secure\`, \`SameSite=Strict\`.` };
export const FROM_ELSEWHERE = { forbidden: "Another site's page sends it." };

/** The token of a link or of a form. */
export const pageToken = requiredText(64).describe("As the link to the page, or its form, has it.");

/** The session's token of a browser, or `null`. */
function readSessionToken(headers: Headers): string | null {
  const [, value] = /(?:^|;\s*)__Host-page=([0-9a-f]{64})(?:;|$)/.exec(headers.get("cookie") ?? "") ?? [];
  return value ?? null;
}

/** The token of the freeze form, against requests forged by other sites: only a page of this session has it. */
const toFormToken = (session: string) => sha256Hex(`freeze ${session}`);

/** The overview for a browser's session, and the token of its freeze form; `null` without a session. */
export async function readOpenPage(
  ctx: ActionCtx,
  { headers, caller }: Call,
  now: number,
): Promise<{ overview: Overview; form: string } | null> {
  const session = readSessionToken(headers);
  if (session === null) return null;
  const query = { sessionHash: sha256Hex(session), now };
  const overview = await ctx.runQuery(internal.accounts.overview.readOverview, query);
  if (overview === null) return null;
  // Each look at the page reads the wallets from the chain.
  await charge(ctx, "chain", { ...caller, userId: overview.pseudonym, credential: "owner" });
  return { overview, form: toFormToken(session) };
}

/** Freezes the account of a browser's session. @throws AppError `conflict` without one, or with another page's form. */
export async function freezeFromPage(ctx: ActionCtx, { headers }: Call, form: string): Promise<void> {
  const session = readSessionToken(headers);
  if (session === null || form !== toFormToken(session)) throw new AppError("conflict", PAGE_CLOSED);
  await ctx.runMutation(internal.accounts.pageSessions.freezeBySession, { sessionHash: sha256Hex(session) });
}

/**
 * Refuses requests that another site has sent: its forms could replace this browser's session, or end it. @throws
 * AppError `forbidden`
 */
export function refuseOtherSites(headers: Headers): void {
  if (/^(?:cross|same)-site$/i.test(headers.get("sec-fetch-site")?.trim() ?? ""))
    throw new AppError("forbidden", "Another site has sent this: open the page yourself");
}

const link: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/me/link",
  summary: "A link to the owner's page, which shows what the account has, and freezes it.",
  description:
    "It works once, within ten minutes, and opens `/me` for an hour. Only the owner's token makes one (also the bot's `/me`, and the web application's `accounts/pageSessions:createLink`); the `userId` alone, a key and another user's token do not.",
  limit: "settings",
  headers: { Authorization: "`Bearer <token>`: the web application's token (JWT) of the owner." },
  errors: {
    unauthorized: "There is no token, or it is not valid.",
    forbidden: "The token is not that of the owner of this `userId`.",
  },
  example: {
    input: { userId: EXAMPLE_USER },
    output: { url: `https://some.convex.site/me/open?token=${"5e".repeat(32)}`, expiresAt: EXAMPLE_TIME },
  },
  input: z.object({ userId }),
  returns: z.object({ url: z.url(), expiresAt: z.iso.datetime() }),
  handler: async (ctx, { userId }) => {
    const made = await ctx.runMutation(internal.accounts.pageSessions.createLinkFor, { userId });
    return { url: made.url, expiresAt: toIso(made.expiresAt) };
  },
});

const open: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/me/open",
  summary: "Uses the link up, and opens the owner's page in this browser, in place of another one.",
  limit: "settings",
  guard: refuseOtherSites,
  headers: READS_COOKIE,
  media: "text/html",
  seeOther: "The page is open.",
  answerHeaders: { ...SETS_COOKIE, Location: "`/me`." },
  errors: { ...FROM_ELSEWHERE, not_found: "The link was used, is older than ten minutes, or is void." },
  input: z.object({ token: pageToken }),
  returns: z.string(),
  handler: async (ctx, { token }, { headers }) => {
    const session = createRandomHex(32);
    const former = readSessionToken(headers);
    await ctx.runMutation(internal.accounts.pageSessions.openSession, {
      linkHash: sha256Hex(token),
      sessionHash: sha256Hex(session),
      ...(former === null ? {} : { former: sha256Hex(former) }),
    });
    return new Reply("", { "Set-Cookie": buildCookie(session, SESSION_MS / SECOND), Location: "/me" }, 303);
  },
});

const logout: MountedEndpoint = defineEndpoint({
  methods: ["POST"],
  path: "/me/logout",
  summary: "Ends the session of this browser.",
  limit: "settings",
  guard: refuseOtherSites,
  headers: READS_COOKIE,
  media: "text/html",
  seeOther: "It has ended.",
  answerHeaders: { ...SETS_COOKIE, Location: "`/me`." },
  errors: FROM_ELSEWHERE,
  input: z.object({}),
  returns: z.string(),
  handler: async (ctx, _input, { headers }) => {
    const session = readSessionToken(headers);
    if (session !== null)
      await ctx.runMutation(internal.accounts.pageSessions.endSession, { sessionHash: sha256Hex(session) });
    return new Reply("", { ...FORGET, Location: "/me" }, 303);
  },
});

export const pageLinkEndpoints: MountedEndpoint[] = [link];
export const pageFormEndpoints: MountedEndpoint[] = [open, logout];
