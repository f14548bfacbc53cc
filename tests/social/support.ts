import { createHmac } from "node:crypto";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { test as appTest, type App } from "../support/app";
import { browserOf } from "../support/browser";
import type { Answer, CallInit, createWorld } from "../support/world";

/** The social network as the tests play it: posts, signed deliveries, people who prove accounts. */

export const SECRET = "social-secret-for-tests";
export const OWN_ID = "100";
export const ALICE = { id: "200", handle: "alice" };
export const FRIEND = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** Tests whose `app` knows the network's secret. */
export const test = appTest.extend({ settings: { env: { SOCIAL_WEBHOOK_SECRET: SECRET } } });

type World = ReturnType<typeof createWorld>;

/** What is on anybody's list of recipients counts from now on: in the service two hours later. */
export async function countAtOnce({ t }: Pick<World, "t">): Promise<void> {
  await t.run(async (ctx) => {
    for (const { _id, recipients = [] } of await ctx.db.query("accounts").collect())
      await ctx.db.patch("accounts", _id, {
        recipients: recipients.map(({ address }) => ({ address, countsFrom: 0 })),
      });
  });
}
export type Network = {
  t: World["t"];
  post: (path: string, body?: unknown, init?: CallInit) => Promise<Answer>;
  settle: () => Promise<unknown>;
};

export type Said = { tweetId: string; text: string; author?: { id: string; handle: string } };

/** A delivery's signature as the network makes it. */
export const signed = (body: string, secret = SECRET): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("base64")}`;

/** An activity event: `data.payload`. */
export function event({ tweetId, text, author = ALICE }: Said, extra: object = {}) {
  return {
    data: {
      event_uuid: tweetId,
      event_type: "post.mention.create",
      filter: { user_id: OWN_ID },
      tag: "t",
      payload: {
        id: tweetId,
        text,
        author_id: author.id,
        created_at: new Date().toISOString(),
        conversation_id: "1",
        entities: { mentions: [{ start: 0, end: 4, username: "bot", id: OWN_ID }] },
        ...extra,
      },
      includes: { users: [{ id: author.id, username: author.handle, name: "Somebody" }] },
    },
  };
}

export async function deliver(app: Network, payload: unknown): Promise<Answer> {
  const headers = { "x-twitter-webhooks-signature": signed(JSON.stringify(payload)) };
  return app.post("/social/mention", payload, { headers });
}

let posts = 5_000;

/** The author mentions the service; returns the post's id. */
export async function mention(app: Network, text: string, author = ALICE): Promise<string> {
  const tweetId = String(++posts);
  const { body } = await deliver(app, event({ tweetId, text: `@bot ${text}`, author }));
  z.object({ accepted: z.literal(1) }).parse(body);
  return tweetId;
}

/** Alice, signed in, with a custody wallet, who has proved her account and (unless told otherwise) switched trading on. */
export async function linkedUser(app: Network, { enabled = true, wallet = true } = {}) {
  const browser = browserOf(app, "alice");
  const { userId } = await browser.mutation(api.accounts.profile.signIn, {});
  if (wallet) await app.post("/mcp/defi/connect", { userId });
  const { code } = await browser.mutation(api.social.app.startProof, { handle: "@alice" });
  await mention(app, `my code is ${code}`);
  await app.settle();
  if (enabled) await browser.mutation(api.social.app.setTrading, { authorId: ALICE.id, enabled });
  await app.post("/user/messenger", { userId, messengerChatId: "77" }, { as: "alice" });
  return { userId, browser };
}

/** Lets work go on, on a simulated clock, until every mention has ended and its card is out. */
export async function decided(app: App): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await app.settle(4);
    if ((await app.rows("mentions")).every(({ status }) => status !== "pending")) return app.settle(4);
  }
  throw new Error("A mention is still pending");
}
