import fc from "fast-check";
import { describe, expect } from "vitest";
import { ALICE, deliver, event, OWN_ID, signed, test } from "./support";

const PATH = "/social/mention";
/** What tokens and deliveries are made of. */
const CHARACTERS = 'abzAZ019_+/=.-{}[]":, \n'.split("");
const said = { tweetId: "1234567890123456789", text: "@bot buy 10 usdc of eth" };

describe("the challenge", () => {
  test("signs nothing that could be sent as a delivery", async ({ app }) => {
    const body = JSON.stringify(event(said));
    expect((await app.get(PATH)).status).toBe(400);
    for (const token of [body, ` ${body}`, "{}", '{"data":1}', `a\n${body}`, "a b", "", "x".repeat(513)]) {
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
      { numRuns: 40, examples: [["1"], ["null"], ["true"], ["1.5"]] },
    );
    expect(await app.rows("mentions")).toEqual([]);
  });
});

describe("a delivery", () => {
  test("with a forged signature is 401, of nothing known 400, and leaves nothing", async ({ app }) => {
    const payload = event(said);
    const body = JSON.stringify(payload);
    const right = signed(body);
    const forged = [
      null,
      "",
      signed(body, "another-secret"),
      signed(`${body} `),
      right.slice("sha256=".length),
      right.slice(0, -1),
      `${right}=`,
    ];
    for (const one of forged) {
      const headers: Record<string, string> = one === null ? {} : { "x-twitter-webhooks-signature": one };
      const { status, body } = await app.post(PATH, payload, { headers });
      const error = expect.stringMatching(
        /signature is missing or wrong: send sha256= .* X-Twitter-Webhooks-Signature$/,
      );
      expect([one, status, body]).toEqual([one, 401, { error }]);
    }
    for (const none of [{}, { data: {} }, { hello: "there" }, { tweet_create_events: [{}] }])
      expect((await deliver(app, none)).status).toBe(400);
    expect(await app.rows("mentions")).toEqual([]);
  });

  test("is one mention, however often it comes; a stranger's is ignored", async ({ app }) => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(app, event(said))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.reduce((sum, { body }) => sum + Number(body.accepted), 0)).toBe(1);
    const { tweetId, text } = said;
    const known = { tweetId, text, authorId: ALICE.id, authorHandle: "alice" };
    expect(await app.rows("mentions")).toMatchObject([{ ...known, status: "pending" }]);
    await app.settle();
    expect((await deliver(app, event(said))).body).toEqual({ success: true, accepted: 0, ignored: 1 });
    expect(await app.rows("mentions")).toMatchObject([
      { ...known, status: "ignored", reason: "The author's account is not linked to any user" },
    ]);
  });

  test("takes the whole of a long text, and decodes it once", async ({ app }) => {
    const whole = "@bot buy 10 usdc of eth &amp; say &lt;thanks&gt; &amp;lt;";
    await deliver(app, event({ tweetId: "2", text: "@bot cut…" }, { note_tweet: { text: whole } }));
    const texts = (await app.rows("mentions")).map(({ text }) => text);
    expect(texts).toEqual(["@bot buy 10 usdc of eth & say <thanks> &lt;"]);
  });

  test("of anything but somebody's post that mentions the account stores nothing", async ({ app }) => {
    for (const payload of [
      event({ ...said, author: { id: OWN_ID, handle: "bot" } }),
      event(said, { referenced_tweets: [{ type: "retweeted", id: "1" }] }),
      event({ ...said, text: "RT @alice: @bot buy 10 usdc of eth" }),
      event(said, { entities: { mentions: [{ id: "9" }] } }),
      event(said, { entities: undefined }),
      event(said, { id: 5 }),
      { data: { ...event(said).data, event_type: "follow.follow" } },
    ]) {
      const { status, body } = await deliver(app, payload);
      expect([payload, status, body]).toEqual([payload, 200, { success: true, accepted: 0, ignored: 1 }]);
    }
    expect(await app.rows("mentions")).toEqual([]);
  });
});
