import fc from "fast-check";
import { describe, expect } from "vitest";
import { createApp } from "../support/app";
import { ALICE, deliver, event, OWN_ID, SECRET, signed, test } from "./support";

const PATH = "/social/mention";
const world = (secret = SECRET) => createApp({ env: { SOCIAL_WEBHOOK_SECRET: secret } });
/** What tokens and deliveries are made of. */
const CHARACTERS = 'abzAZ019_+/=.-{}[]":, \n'.split("");
const said = { tweetId: "1234567890123456789", text: "@bot buy 10 usdc of eth" };

describe("the challenge", () => {
  test("is answered with its signature", async () => {
    const { status, body } = await world("the-network-s-consumer-secret-32c").get(
      `${PATH}?crc_token=challenge`,
    );
    const signature = "sha256=Ugo3+mhbF8diz1FepRq6U9T5oSyg7F12CwIayI2+OPs=";
    expect([status, body]).toEqual([200, { response_token: signature }]);
  });

  test("signs nothing that could be sent as a delivery", async ({ app }) => {
    const body = JSON.stringify(event(said));
    for (const token of [
      body,
      ` ${body}`,
      "{}",
      '{"data":1}',
      `challenge\n${body}`,
      "a b",
      "",
      "x".repeat(513),
    ]) {
      const answer = await app.get(`${PATH}?crc_token=${encodeURIComponent(token)}`);
      expect([token, answer.status]).toEqual([token, 400]);
      expect(answer.text).not.toContain("sha256=");
    }
    // Whatever is signed is refused as a body.
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, maxLength: 20, unit: fc.constantFrom(...CHARACTERS) }),
        async (token) => {
          const { status, body } = await app.get(`${PATH}?crc_token=${encodeURIComponent(token)}`);
          if (status !== 200) return;
          const headers = { "x-twitter-webhooks-signature": String(body.response_token) };
          expect((await app.call("POST", PATH, { body: token, headers })).status).toBe(400);
        },
      ),
      { numRuns: 100, examples: [["1"], ["null"], ["true"], ["1.5"]] },
    );
    expect(await app.rows("mentions")).toEqual([]);
  });

  test("without a token is 400; without a secret 500", async () => {
    expect((await world().get(PATH)).status).toBe(400);
    const { status, body } = await world("").get(`${PATH}?crc_token=challenge`);
    expect([status, body]).toEqual([500, { error: "SOCIAL_WEBHOOK_SECRET is not configured" }]);
  });
});

describe("a delivery", () => {
  test.for([
    ["none", null],
    ["an empty one", ""],
    ["another secret's", "other"],
    ["another body's", "body"],
    ["one without its prefix", "bare"],
    ["one cut short", "cut"],
    ["one longer", "longer"],
  ] as const)("with a forged signature (%s) is 401 and leaves nothing", async ([_name, forgery], { app }) => {
    const payload = event(said);
    const body = JSON.stringify(payload);
    const right = await signed(body);
    const forged: Record<string, string> = {
      "": "",
      other: await signed(body, "another-secret"),
      body: await signed(`${body} `),
      bare: right.slice("sha256=".length),
      cut: right.slice(0, -1),
      longer: `${right}=`,
    };
    const headers: Record<string, string> =
      forgery === null ? {} : { "x-twitter-webhooks-signature": forged[forgery] ?? "" };
    const { status, body: answer } = await app.post(PATH, payload, { headers });
    expect([status, answer]).toEqual([401, { error: "The webhook's signature is missing or wrong" }]);
    expect(await app.rows("mentions")).toEqual([]);
  });

  test("without a secret is 500 and leaves nothing, however it is signed", async () => {
    const app = world("");
    const { status, body } = await deliver(app, event(said));
    expect([status, body]).toEqual([500, { error: "SOCIAL_WEBHOOK_SECRET is not configured" }]);
    expect(await app.rows("mentions")).toEqual([]);
  });

  test("is stored as one mention", async ({ app }) => {
    const payload = event(said);
    const { status, body } = await deliver(app, payload);
    expect([status, body]).toEqual([200, { success: true, accepted: 1, ignored: 0 }]);
    expect(await app.rows("mentions")).toMatchObject([
      {
        tweetId: said.tweetId,
        authorId: ALICE.id,
        authorHandle: "alice",
        text: said.text,
        status: "pending",
      },
    ]);
    await app.settle();
    expect((await app.rows("mentions"))[0]).toMatchObject({
      status: "ignored",
      reason: "The author's account is not linked to any user",
    });
    expect(app.standins.sent("llm")).toEqual([]);
  });

  test("that comes ten times, also at once, is one mention", async ({ app }) => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(app, event(said))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.reduce((sum, { body }) => sum + Number(body.accepted), 0)).toBe(1);
    expect(answers.reduce((sum, { body }) => sum + Number(body.ignored), 0)).toBe(4);
    await app.settle();
    for (let i = 0; i < 5; i++) {
      expect((await deliver(app, event(said))).body).toEqual({ success: true, accepted: 0, ignored: 1 });
    }
    expect(await app.rows("mentions")).toHaveLength(1);
  });

  test("takes the whole of a long text, and decodes it once", async ({ app }) => {
    const whole = "@bot buy 10 usdc of eth &amp; say &lt;thanks&gt; &amp;lt;";
    await deliver(app, event({ tweetId: "2", text: "@bot cut…" }, { note_tweet: { text: whole } }));
    const texts = (await app.rows("mentions")).map(({ text }) => text);
    expect(texts).toEqual(["@bot buy 10 usdc of eth & say <thanks> &lt;"]);
  });

  const own = { id: OWN_ID, handle: "bot" };
  test.for([
    ["the account's own post", event({ ...said, author: own })],
    ["a retweet", event(said, { referenced_tweets: [{ type: "retweeted", id: "1" }] })],
    ["a retweet by its text", event({ ...said, text: "RT @alice: @bot buy 10 usdc of eth" })],
    ["no mention of the account", event(said, { entities: { mentions: [{ id: "9" }] } })],
    ["no entities at all", event(said, { entities: undefined })],
    ["an unusable post", event(said, { id: 5 })],
    ["another event", { data: { ...event(said).data, event_type: "follow.follow" } }],
  ])("of %s stores nothing", async ([_name, payload], { app }) => {
    const { status, body } = await deliver(app, payload);
    expect([status, body]).toEqual([200, { success: true, accepted: 0, ignored: 1 }]);
    expect(await app.rows("mentions")).toEqual([]);
  });

  test("of nothing known is 400", async ({ app }) => {
    for (const payload of [{}, { data: {} }, { hello: "there" }, { tweet_create_events: [{}] }]) {
      expect((await deliver(app, payload)).status).toBe(400);
    }
  });
});
