import { anyApi } from "convex/server";
import { v } from "convex/values";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { internalMutation } from "../../convex/_generated/server";
import { worker } from "../../convex/lib/work/desk";
import * as posts from "../../convex/messenger/webhooks/posts";
import { real } from "../../scripts/real";
import { createApp, test } from "../support/app";
import { expireLeases } from "../support/rows/leases";
import { addWebhook, deliveries, fired, receiver, URL_ } from "./receivers";
import { MINUTE, tick } from "./support";

/** Posts to webhooks are one piece of leased work, which resumes as all others do. */

const RUN = "messenger/webhooks/carrier:carry";

describe("the posting to webhooks", () => {
  test("that was lost with its server goes on at once, and what the lost attempt learns later changes nothing", async ({
    app,
  }) => {
    const late = (): Promise<Response> =>
      new Promise((resolve) => setTimeout(() => resolve(new Response(null, { status: 500 })), 5_000));
    const posted = receiver(({ url }) =>
      url === URL_ && posted.filter((one) => one.url === URL_).length === 1 ? late() : new Response(),
    );
    await addWebhook(app);
    await addWebhook(app, "https://other.example.com/");
    await fired(app);
    await app.t.mutation(internal.messenger.webhooks.posts.begin, {});
    const { work: listed } = await app.t.query(internal.ops.work.list, { now: Date.now() });
    expect(listed).toMatchObject([{ run: RUN, subject: "posts to webhooks", state: "running", attempt: 1 }]);
    const { body } = await app.get("/health");
    expect(body).toMatchObject({ checks: { work: { running: 1, failing: 0 } } });

    await expireLeases(app);
    await app.settle(1);
    const ended = [
      ["delivered", 2, "Delivered"],
      ["delivered", 1, "Delivered"],
    ];
    expect(await deliveries(app)).toEqual(ended);
    expect(await app.rows("work")).toEqual([]);
    await app.advance(6_000);
    expect(await deliveries(app)).toEqual(ended);
    expect((await app.rows("webhooks")).map(({ problem }) => problem)).toEqual([undefined, undefined]);
    expect(posted.map(({ url }) => url).toSorted()).toEqual([URL_, URL_, "https://other.example.com/"]);
    const ids = new Set(posted.map(({ headers }) => headers.get("webhook-id")));
    expect(ids.size).toBe(1);
  });

  test("posts once what is answered while other outcomes are being stored", async () => {
    let answer = () => {};
    const meanwhile = new Promise<void>((resolve) => (answer = resolve));
    const { store = expect.unreachable() } = anyApi["bot/jobs"] ?? {};
    const mark = internalMutation({
      args: { results: v.any() },
      handler: async (ctx, given) => {
        answer();
        await new Promise((go) => void real.setImmediate(go));
        await ctx.runMutation(store, given);
        return null;
      },
    });
    const app = createApp({
      replaced: {
        "messenger/webhooks/posts": () => Promise.resolve({ ...posts, mark }),
        "bot/jobs": () => Promise.resolve({ store: posts.mark }),
      },
    });
    const posted = receiver(async ({ url }) => {
      if (url !== URL_) await Promise.race([meanwhile, new Promise((pass) => setTimeout(pass, 5_000))]);
      return new Response();
    });
    await addWebhook(app);
    await addWebhook(app, "https://other.example.com/");
    await fired(app);
    await app.advance(MINUTE);
    expect(posted).toHaveLength(2);
    expect(await deliveries(app)).toEqual([
      ["delivered", 1, "Delivered"],
      ["delivered", 1, "Delivered"],
    ]);
  });

  test("that fails again and again is tried every minute", async () => {
    const runs: number[] = [];
    const carry = worker({}, () => {
      runs.push(Date.now());
      return Promise.reject(new Error("Nobody expected this"));
    });
    const app = createApp({ replaced: { "messenger/webhooks/carrier": () => Promise.resolve({ carry }) } });
    receiver(() => new Response());
    await addWebhook(app);
    await fired(app);
    await app.pass(6 * MINUTE);
    expect(runs.length).toBeGreaterThanOrEqual(6);
    for (const [i, at] of runs.slice(1).entries())
      expect(at - (runs[i] ?? NaN)).toBeLessThanOrEqual(MINUTE + 1_000);
  });

  test("takes up what an earlier version was posting, once the time that it had for this is over", async ({
    app,
  }) => {
    const posted = receiver(() => new Response());
    await addWebhook(app);
    await fired(app);
    const [row] = await app.rows("webhookPosts");
    if (row === undefined) throw new Error("Nothing was posted");
    const was = { state: "posting" as const, dueAt: Date.now() + 2 * MINUTE };
    await app.t.run(({ db }) => db.patch("webhookPosts", row._id, was));
    await tick(app);
    expect(posted).toHaveLength(1);
    await app.pass(3 * MINUTE);
    expect(posted).toHaveLength(2);
    expect(await deliveries(app)).toEqual([["delivered", 2, "Delivered"]]);
  });
});
