import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalAction } from "../_generated/server";
import { derivePseudonym } from "../lib/crypto";
import { toIso } from "../lib/time";
import { isGuessableId } from "../platform/records";
import { deriveCallToken } from "../alerts/standingOrders";
import { deriveLoginCode } from "./chats";
import { deriveKey } from "./keys";
import { derivePageToken } from "./pageSessions";

/** What the outbox puts into cards of an account when it sends them: its data as a file, and secrets that no table holds. */

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
  handler: async (ctx, { subject }): Promise<ArrayBuffer | null> => {
    const link = await ctx.runQuery(internal.messenger.linking.findLinkedAccount, { messengerId: subject });
    if (link?.confirmed !== true) return null;
    const { userId, named } = link;
    const account = derivePseudonym(userId);
    const sections: string[] = [];
    let left = MOST_CHARS;
    for (const section of await ctx.runQuery(internal.accounts.data.listSections, {})) {
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
    const written = (id: string) =>
      isGuessableId(id) ? JSON.stringify(id) : JSON.stringify(id).slice(1, -1);
    const shown = (id: string) => (isGuessableId(id) ? JSON.stringify(account) : account);
    const whole = [userId, named].reduce(
      (text, id) => text.replaceAll(written(id), shown(id)),
      sections.join(",\n"),
    );
    return new TextEncoder().encode(`{\n${head},\n${whole}\n}\n`).buffer;
  },
});

/** What is derived from a seed, by the kind of secret. */
const DERIVED: Readonly<Record<string, (seed: string) => string>> = {
  key: deriveKey,
  page: derivePageToken,
  login: deriveLoginCode,
  call: deriveCallToken,
};

/** The secret of a card. @param args.subject Its kind and its seed. */
export const readSecret = internalAction({
  args: { subject: v.string() },
  returns: v.union(v.string(), v.null()),
  handler: (_ctx, { subject }) => {
    const [kind = "", seed = ""] = subject.split(" ");
    return Promise.resolve(DERIVED[kind]?.(seed) ?? null);
  },
});
