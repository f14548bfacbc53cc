import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { v } from "convex/values";
import { internal } from "../../convex/_generated/api";
import { internalMutation, type MutationCtx } from "../../convex/_generated/server";
import { publicAddress } from "../../convex/platform/http/input";
import { seal } from "../../convex/lib/seals";
import * as events from "../../convex/messenger/webhooks/events";
import { getSecretSeal } from "../../convex/messenger/webhooks/tables";
import { buy, HOUR, issued, marketAt, MINUTE, test, track, wait } from "../signals/support";
import { createApp, type App } from "../support/app";
import { expireLeases } from "../support/rows/leases";
import { addWebhook, receiver, silence, type Posted } from "./receivers";

const { emitToAll, emitToOwner } = events;

/** What programs are told of: signals to whoever asks, a report to the user whose shift it is; and how often. */

const postedTo = (posted: readonly Posted[], name: string) => posted.filter(({ url }) => url.includes(name));
const typesAt = (posted: readonly Posted[], name: string) =>
  postedTo(posted, name).map(({ body }) => /"type":"([^"]+)"/.exec(body)?.[1]);
const dataOf = ({ body }: Posted) => z.object({ data: z.looseObject({}) }).parse(JSON.parse(body)).data;
const idsOf = (posted: readonly Posted[]) => new Set(posted.map(({ headers }) => headers.get("webhook-id")));

const deliveries = async (app: App) =>
  (await app.rows("webhookPosts")).map(({ state, tries }) => [state, tries]);
const problem = async (app: App) => {
  const { body } = await app.get("/webhooks?userId=alice");
  const shape = z.object({ webhooks: z.array(z.looseObject({ problem: z.unknown() })) });
  return shape.parse(body).webhooks[0]?.problem;
};

/** Something that only Alice's programs are told, and a tick of the cron. */
async function toldAlice(app: App, data: Record<string, unknown> = { n: 1 }): Promise<void> {
  await app.t.run((ctx) => emitToOwner(ctx, "alice", "report.ready", data));
  await tick(app);
}

async function tick(app: App, later = 0): Promise<void> {
  if (later > 0) vi.setSystemTime(Date.now() + later);
  await app.t.mutation(internal.messenger.webhooks.events.startPosting, {});
  await app.settle(1);
}

/** The receiver of docs/clients.md, as its reader saves it. */
async function receiverOfThePage(secret: string) {
  const page = await readFile(new URL("../../docs/clients.md", import.meta.url), "utf8");
  const [, code = ""] = /^```js\n([^]*?)^```/m.exec(page) ?? [];
  const folder = fileURLToPath(new URL("../../node_modules/.cache/", import.meta.url));
  const file = `${folder}receiver-${process.pid}.mjs`;
  await mkdir(folder, { recursive: true });
  await writeFile(file, code);
  onTestFinished(() => rm(file));
  vi.stubEnv("WEBHOOK_SECRET", secret);
  vi.stubEnv("PORT", "0");
  const shape = z.object({
    receive: z.custom<(headers: Record<string, string>, body: string) => number>(),
    server: z.custom<Server>(),
  });
  const { receive, server } = shape.parse(await import(/* @vite-ignore */ pathToFileURL(file).href));
  await new Promise((resolve) => (server.listening ? resolve(null) : server.once("listening", resolve)));
  server.close();
  return ({ headers, body }: Posted) => receive(Object.fromEntries(headers), body);
}

describe("a webhook", () => {
  test("is told of each signal once, as callers see it, to be verified by the receiver of the page", async ({
    app,
  }) => {
    const { secret } = await addWebhook(app, "https://bot.example.com/", "a-bot");
    const receive = await receiverOfThePage(secret);
    const said = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const posted = receiver((one) => new Response(null, { status: receive(one) }));
    await issued(app, buy);
    await app.pass(2 * MINUTE);
    expect(typesAt(posted, "bot")).toEqual(["signal.issued", "signal.issued"]);
    expect(said.mock.calls.flat().toSorted()).toEqual(
      ["BTC", "ETH"].map((token) => `${token}-2026-01-05: BUY at 100, stop 99`),
    );
    const latest = await app.get("/mcp/signals/latest?token=BTC");
    const own = posted.map(dataOf).find(({ token }) => token === "BTC");
    expect(own).toEqual(z.object({ BTC: z.looseObject({}) }).parse(latest.body["signals"]).BTC);
    marketAt(app, { BTC: 103, ETH: 100 });
    await wait(app, 30 * MINUTE);
    await track(app);
    await app.pass(2 * MINUTE);
    expect(typesAt(posted, "bot").slice(2)).toEqual(["signal.closed"]);
    expect(said).toHaveBeenLastCalledWith("BTC-2026-01-05: WIN, 1 %");
    const [first] = posted;
    if (first === undefined) throw new Error("Nothing was posted");
    vi.setSystemTime(first.at);
    expect([receive(first), receive({ ...first, body: first.body.replace("BUY", "SELL") })]).toEqual([
      204, 401,
    ]);
  });

  test("is told of its user's reports alone", async ({ app }) => {
    const posted = receiver();
    await addWebhook(app, "https://alice.example.com/", "alice-6f1c0a9e2b");
    await addWebhook(app, "https://bob.example.com/", "bob-77aa0c9e2b");
    const start = { userId: "alice-6f1c0a9e2b", token: "SOL" };
    const { jobId } = (await app.post("/mcp/research/start", start)).body;
    // The first report, from one collection.
    vi.setSystemTime(Date.now() + 2.5 * HOUR);
    await app.pass(0.2 * HOUR);
    expect([typesAt(posted, "alice"), typesAt(posted, "bob")]).toEqual([["report.ready"], []]);
    const [told] = posted.map(dataOf);
    const path = `/mcp/research/report?jobId=${String(jobId)}`;
    expect(told).toMatchObject({ jobId, type: "interim", token: "SOL", path });
    expect((await app.get(path)).body["result"]).toMatchObject({ marketOutlook: told?.["outlook"] });
  });
});

describe("a post", () => {
  test("is signed to verify, also after the master key was changed, and sent once whatever the answer's body does", async ({
    app,
  }) => {
    const broken = () => new ReadableStream({ cancel: () => Promise.reject(new Error("reset")) });
    const posted = receiver(() => new Response(broken()));
    const { secret } = await addWebhook(app);
    const listed = await app.get("/webhooks?userId=alice");
    for (const text of [listed.text, JSON.stringify(await app.rows("webhooks"))])
      expect(text).not.toContain(secret.slice(6, 30));
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    expect(await app.t.action(internal.ops.rotation.rotate, {})).toMatchObject({ rotated: 1 });
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
    await toldAlice(app, { summary: "calm" });
    const [{ headers, body, redirect } = { headers: new Headers(), body: "", redirect: "follow" }] = posted;
    expect([redirect, headers.get("content-type")]).toEqual(["manual", "application/json"]);
    expect(new Webhook(secret).verify(body, Object.fromEntries(headers))).toMatchObject({
      type: "report.ready",
      data: { summary: "calm" },
    });
    for (let n = 0; n < 3; n++) await tick(app, 10 * MINUTE);
    expect(posted).toHaveLength(1);
    expect(await deliveries(app)).toEqual([["delivered", 1]]);
  });

  test("that fails is tried again for three days, with growing pauses and one id", async ({ app }) => {
    const answers = [503, 404, 302, 0, 500];
    const posted = receiver(() => {
      const status = answers[posted.length - 1] ?? 503;
      if (status === 0) throw new TypeError("connection lost");
      return status === 302
        ? Response.redirect("https://hooks.example.com/other", 302)
        : new Response(null, { status });
    });
    await addWebhook(app);
    await toldAlice(app);
    const problems = [await problem(app)];
    for (const minutes of [1, 5, 30, 120, 300, 600, 840, 1200, 1200]) {
      const before = posted.length;
      await tick(app, minutes * MINUTE - 30_000);
      expect(posted).toHaveLength(before);
      await tick(app, MINUTE);
      expect(posted).toHaveLength(before + 1);
      problems.push(await problem(app));
    }
    await tick(app, 48 * HOUR);
    expect(posted).toHaveLength(10);
    expect(idsOf(posted).size).toBe(1);
    expect(new Set(posted.map(({ url }) => url)).size).toBe(1);
    expect(new Set(posted.map(({ headers }) => headers.get("webhook-signature"))).size).toBe(10);
    expect(problems.slice(0, 5)).toEqual([
      "It answers with status 503",
      "It answers with status 404",
      "It redirects",
      "It cannot be reached",
      "It answers with status 500",
    ]);
    expect(await deliveries(app)).toEqual([["failed", 10]]);
  });

  test("to one that answers 410 is its last; nothing is posted to a removed one; a user has three", async ({
    app,
  }) => {
    const posted = receiver(({ url }) => new Response(null, { status: url.includes("gone") ? 410 : 200 }));
    await addWebhook(app, "https://gone.example.com/");
    const { webhookId } = await addWebhook(app, "https://live.example.com/");
    const add = async (url: string) => {
      const { status, body } = await app.post("/webhooks", { userId: "alice", url });
      return [status, body["error"]];
    };
    expect(await add("https://live.example.com/")).toEqual([
      409,
      "This address is one of your webhooks already: GET /webhooks lists them",
    ]);
    await addWebhook(app, "https://third.example.com/");
    expect(await add("https://a.example.com/")).toEqual([
      409,
      "A user has at most 3 webhooks: remove one first",
    ]);
    await toldAlice(app);
    expect(posted).toHaveLength(3);
    expect((await app.post("/webhooks/off", { userId: "bob", webhookId })).status).toBe(404);
    await app.t.run((ctx) => emitToOwner(ctx, "alice", "report.ready", {}));
    expect((await app.post("/webhooks/off", { userId: "alice", webhookId })).body).toEqual({ success: true });
    await tick(app, 5 * MINUTE);
    expect([postedTo(posted, "live").length, posted.length]).toEqual([1, 4]);
    expect((await deliveries(app)).map(([state]) => state)).not.toContain("due");
  });

  test("lost with its server is sent again under the same id, and what comes late changes nothing", async ({
    app,
  }) => {
    const late = (): Promise<Response> =>
      new Promise((resolve) => setTimeout(() => resolve(new Response(null, { status: 500 })), 5_000));
    const posted = receiver(() => (posted.length === 1 ? late() : new Response()));
    await addWebhook(app);
    await toldAlice(app);
    await expireLeases(app);
    await app.settle(1);
    await app.advance(6_000);
    expect(await deliveries(app)).toEqual([["delivered", 1]]);
    expect([await problem(app), posted.length, idsOf(posted).size]).toEqual([null, 2, 1]);
  });
});

describe("many webhooks", () => {
  test("of strangers cost two writes each for an event, and all are posted to, a batch after the other", async () => {
    let writes = 0;
    const counting = (path: "queueForEveryWebhook" | "storePostResults") =>
      internalMutation({
        args: v.any(),
        handler: async (ctx: MutationCtx, given: unknown): Promise<null> => {
          const db = new Proxy(ctx.db, {
            get: (target, name): unknown => {
              if (name === "insert" || name === "patch") writes++;
              return Reflect.get(target, name, target);
            },
          });
          return z
            .custom<(ctx: MutationCtx, given: unknown) => Promise<null>>()
            .parse(Reflect.get(events[path], "_handler"))({ ...ctx, db }, given);
        },
      });
    const counted = {
      ...events,
      queueForEveryWebhook: counting("queueForEveryWebhook"),
      storePostResults: counting("storePostResults"),
    };
    const app = createApp({ replaced: { "messenger/webhooks/events": () => Promise.resolve(counted) } });
    const posted = receiver();
    await app.t.run(async ({ db }) => {
      for (let n = 0; n < 250; n++) {
        const row = { userId: `stranger-${n}`, url: `https://s${n % 50}.example.com/${n}` };
        const sealedSigning = await seal(`whsec_${btoa("k".repeat(32))}`, getSecretSeal(row));
        await db.insert("webhooks", { ...row, sealedSigning });
      }
    });
    await app.t.run((ctx) => emitToAll(ctx, "signal.issued", { token: "BTC" }));
    await app.settle(2);
    for (let n = 0; n < 3; n++) await tick(app);
    expect([posted.length, new Set(posted.map(({ url }) => url)).size, writes]).toEqual([250, 250, 500]);
  });

  test("that are silent for ten seconds hold up nobody who answers; a host gets ten at once", async ({
    app,
  }) => {
    const posted = receiver(({ url, signal }) => (url.includes("silent") ? silence(signal) : new Response()));
    for (let n = 0; n < 12; n++)
      await addWebhook(app, `https://silent.example.com/${n}`, "u".repeat(8 + Math.floor(n / 3)));
    await addWebhook(app, "https://honest.example.com/");
    const event = async () => {
      await app.t.run((ctx) => emitToAll(ctx, "signal.issued", {}));
      await app.settle(1);
      await tick(app);
    };
    const counts = () => ["silent", "honest"].map((name) => postedTo(posted, name).length);
    await event();
    expect(counts()).toEqual([10, 1]);
    // All have failed once, and one has answered: from now on neither waits for the others.
    await app.advance(25_000);
    expect(counts()).toEqual([12, 1]);
    posted.length = 0;
    await event();
    await toldAlice(app);
    expect(counts()).toEqual([10, 2]);
  });
});

test("a webhook's address is at a public name over https, however else it is written, and not this deployment itself", async ({
  app,
}) => {
  const refused = `
      http://hooks.example.com/ ftp://hooks.example.com/ hooks.example.com https:// javascript:alert(1)
      https://localhost/ https://a.localhost/ https://printer.local/ https://intranet/ https://db.internal/
      https://nas.home.arpa/ https://router.lan./ https://hooks.default.svc/
      https://api.kube.svc.cluster.local./ https://1.0.0.127.in-addr.arpa/ https://wallet.alt/
      https://a.onion/ https://hooks.example.com./ https://a.test/ https://a.invalid/ https://hooks.example/ https://EXAMPLE./
      https://127.0.0.1/ https://127.1/ https://2130706433/ https://0x7f.0.0.1/ https://0177.0.0.1/
      https://8.8.8.8/ https://10.1.2.3/ https://169.254.169.254/latest/meta-data https://[::1]/
      https://[2606:4700::1111]:8443/ https://[::ffff:127.0.0.1]/
      https://user:pass@hooks.example.com/ https://hooks.example.com:22/ https://hooks.example.com:8080/
      https://hooks.example.com/#part`
    .trim()
    .split(/\s+/);
  for (const url of refused) expect([url, publicAddress.safeParse(url).success]).toEqual([url, false]);
  const taken = ["https://Hooks.Example.co.uk/x?a=b", "https://hooks.example.com:8443/"];
  expect(taken.map((url) => publicAddress.parse(url))).toEqual([
    "https://hooks.example.co.uk/x?a=b",
    "https://hooks.example.com:8443/",
  ]);
  vi.stubEnv("CONVEX_SITE_URL", "https://api.market.dev");
  vi.stubEnv("CONVEX_CLOUD_URL", "https://happy-animal-123.convex.cloud");
  for (const host of ["api.market.dev", "API.market.dev", "happy-animal-123.convex.site:443"]) {
    const { status, body } = await app.post("/webhooks", { userId: "alice", url: `https://${host}/a` });
    expect([status, body["error"]]).toEqual([400, "url must not be this service's own address"]);
  }
});
