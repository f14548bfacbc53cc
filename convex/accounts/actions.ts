import { v, type Infer } from "convex/values";
import { hashMessage, isHex } from "viem";
import { createSiweMessage } from "viem/siwe";
import { internal } from "../_generated/api";
import { action, internalAction } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { AppError } from "../lib/errors";
import { charge } from "../platform/limits/charges";
import { requireIdentity } from "../platform/limits/callers";
import { CHAIN_ID, toChecksum } from "../lib/money/base";
import { withUsage } from "../platform/outside/calls";
import { derivePseudonym } from "../lib/crypto";
import { MINUTE, toIso } from "../lib/time";
import { isSignedBy } from "../providers/chain/usdc";
import { hashCode } from "../messenger/model";
import { vClaimed } from "../identity/tables";
import { SECTIONS } from "./data";
import { isGuessableId } from "../identity/model";

/** What is asked of accounts that takes more than one transaction, or viem; and their data as a file. */

/**
 * Makes the caller the owner of a `userId` that they already use over HTTP: at once or, if it has a wallet, after 48
 * hours. The caller gives up the id made at sign-in, so that account must not be in use. What others have set on the
 * claimed one (chat, bot, webhooks, alerts, shifts) ends when it is theirs.
 * @returns `pendingUntil`: when it takes effect (epoch ms), with a `note` of what would end it; `null` if it has.
 * @throws AppError `invalid_request` if it is not a userId; `not_found` if its owner has replaced it; `conflict` if it is
 * another user's, the caller has claimed another, another claim of it waits or was ended within a week, or the caller's
 * present account is in use; `rate_limited`.
 */
export const claimUserId = action({
  args: { userId: v.string() },
  returns: vClaimed,
  handler: withUsage(async (ctx, { userId }: { userId: string }): Promise<Infer<typeof vClaimed>> => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    // Counted in a transaction of its own, because a refused claim may be a guess and has to count too.
    await charge(ctx, "claim", { userId: tokenIdentifier, address: null });
    return ctx.runMutation(internal.accounts.claims.claimAccount, { userId });
  }),
});

/**
 * Makes the caller's login that of the account whose chat made a code (`/login` in the bot), two hours from now. The caller
 * gives up the id made at sign-in, so that account must not be in use. The chat stays linked, and a freeze cancels it.
 * @returns `account`: the account's pseudonym; `from`: when it takes effect (epoch ms).
 * @throws AppError `not_found` for a code that is unknown, expired or used; `conflict` if the login cannot own the account, or
 * another change is pending; `paused` while the account is frozen; `rate_limited`.
 */
export const useLoginCode = action({
  args: { code: v.string() },
  returns: v.object({ account: v.string(), from: v.number() }),
  handler: withUsage(async (ctx, { code }: { code: string }): Promise<{ account: string; from: number }> => {
    const { tokenIdentifier } = await requireIdentity(ctx);
    await charge(ctx, "link", { userId: tokenIdentifier, address: null });
    const codeHash = hashCode(code);
    return ctx.runMutation(internal.accounts.chats.redeemLoginCode, { codeHash, isConfirmed: true });
  }),
});

/** How long a message can be used. It is worth nothing without the token of its account, so a repeat gives nothing new. */
const CHALLENGE_MS = 10 * MINUTE;
/** Clocks of servers differ a little. */
const SKEW_MS = MINUTE;

/** @throws AppError `invalid_request` */
function parseAddress(text: string): `0x${string}` {
  const address = toChecksum(text);
  if (address === null) throw new AppError("invalid_request", "address must be 0x and 40 hex digits");
  return address;
}

/** The text to sign (EIP-4361): it names the account by its pseudonym, and no credential. */
function buildChallengeText(userId: string, address: `0x${string}`, issuedAt: number): string {
  const uri = getSiteUrl();
  return createSiweMessage({
    address,
    domain: new URL(uri).host,
    statement: `Link this address to my account ${derivePseudonym(userId)}: deposits sent from it are credited to that account.`,
    uri,
    version: "1",
    chainId: CHAIN_ID,
    nonce: issuedAt.toString(36),
    issuedAt: new Date(issuedAt),
    expirationTime: new Date(issuedAt + CHALLENGE_MS),
  });
}

/** `message` is the text to sign; `issuedAt` in epoch ms. */
const vChallenge = v.object({ message: v.string(), issuedAt: v.number() });

/**
 * The message to sign with an address's key, valid for ten minutes.
 * @throws AppError `invalid_request` if it is not an address.
 */
export const challenge = action({
  args: { address: v.string() },
  returns: vChallenge,
  handler: withUsage(async (ctx, { address }: { address: string }): Promise<Infer<typeof vChallenge>> => {
    const userId = await ctx.runQuery(internal.identity.access.getOwnUserId, {});
    const issuedAt = Date.now();
    return { message: buildChallengeText(userId, parseAddress(address), issuedAt), issuedAt };
  }),
});

const vProof = v.object({ address: v.string(), issuedAt: v.number(), signature: v.string() });

/**
 * Links an address to the caller's account.
 * @param args.issuedAt As `challenge` gave it with the message.
 * @param args.signature EIP-191 signature of the message by the address's key, 0x and hex digits; for a deployed contract
 * wallet, what its `isValidSignature` (ERC-1271) takes for the message's hash.
 * @returns The address, lower case.
 * @throws AppError `invalid_request` for a late message or another address's signature; `conflict` if the user has too
 * many addresses; `rate_limited`; `upstream` where the chain has to be asked and cannot be.
 */
export const linkAddress = action({
  args: vProof.fields,
  returns: vProof.pick("address"),
  handler: withUsage(
    async (ctx, { issuedAt, signature, ...given }: Infer<typeof vProof>): Promise<{ address: string }> => {
      const userId = await ctx.runQuery(internal.identity.access.getOwnUserId, {});
      await charge(ctx, "settings", { userId, address: null });
      const address = parseAddress(given.address);
      const age = Date.now() - issuedAt;
      if (!Number.isInteger(issuedAt) || age < -SKEW_MS || age > CHALLENGE_MS)
        throw new AppError("invalid_request", "The message has expired: request a new one and sign that");
      const message = buildChallengeText(userId, address, issuedAt);
      const isSigned = isHex(signature) && (await isSignedBy(address, hashMessage(message), signature));
      if (!isSigned)
        throw new AppError(
          "invalid_request",
          "The signature is not this address's: sign the message as it is, with the key of this address",
        );
      const linked = { address: address.toLowerCase() };
      await ctx.runMutation(internal.accounts.profile.storeLinkedAddress, { userId, ...linked });
      return linked;
    },
  ),
});

/** The most rows of a page of the file. */
const ROWS = 200;
/** The most characters of a file; an account has far fewer in the months for which its rows are kept. */
const MOST_CHARS = 20_000_000;

/**
 * The data of a messenger account's linked user as JSON, section by section. The account's pseudonym stands for its id, so
 * that a forwarded file opens nothing.
 * @param args.subject The messenger account, whose link has to be confirmed still.
 */
export const exportData = internalAction({
  args: { subject: v.string() },
  returns: v.union(v.bytes(), v.null()),
  handler: withUsage(async (ctx, { subject }: { subject: string }): Promise<ArrayBuffer | null> => {
    const link = await ctx.runQuery(internal.messenger.linking.findLinkedAccount, { messengerId: subject });
    if (link?.confirmed !== true) return null;
    const { userId, accountName } = link;
    const account = derivePseudonym(userId);
    const sections: string[] = [];
    let left = MOST_CHARS;
    for (const section of SECTIONS.keys()) {
      const rows: string[] = [];
      for (let cursor: string | null = null, isDone = false; !isDone && left > 0;) {
        const paginationOpts: { numItems: number; cursor: string | null } = { numItems: ROWS, cursor };
        const found: { page: string[]; continueCursor: string; isDone: boolean } = await ctx.runQuery(
          internal.accounts.data.readPage,
          { userId, section, paginationOpts },
        );
        rows.push(...found.page);
        left -= found.page.join("").length;
        ({ continueCursor: cursor, isDone } = found);
      }
      sections.push(`${JSON.stringify(section)}: [\n${rows.join(",\n")}\n]`);
    }
    const head = `"pseudonym": "${account}",\n"exportedAt": "${toIso(Date.now())}",\n"isComplete": ${left > 0}`;
    // As it stands in JSON; a short one may also be part of a number, a name or a word.
    const stored = (id: string) => (isGuessableId(id) ? JSON.stringify(id) : JSON.stringify(id).slice(1, -1));
    const replacement = (id: string) => (isGuessableId(id) ? JSON.stringify(account) : account);
    const whole = [userId, accountName].reduce(
      (text, id) => text.replaceAll(stored(id), replacement(id)),
      sections.join(",\n"),
    );
    return new TextEncoder().encode(`{\n${head},\n${whole}\n}\n`).buffer;
  }),
});
