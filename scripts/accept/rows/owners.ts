import * as z from "zod";
import { createChain, createFundedWallet, nobody, ONE_USDC } from "../chain";
import { matches, require, same, type Row } from "../row";
import { HOUR } from "../world";
import { signIn } from "./research";

/** The permission to move an account's money: claims, keys, the freeze, the owner's tap. */

const claimShape = z.object({ userId: z.string(), pendingUntil: z.number().nullable() });
const keyShape = z.object({ key: z.string().startsWith("mk_"), countsFrom: z.number() });
const awaiting = z.looseObject({ status: z.literal("awaiting_approval"), approvalId: z.string().min(1) });

const order = (userId: string, usdc = 1) => ({
  userId,
  toAddress: nobody(),
  token: "USDC",
  amount: `${usdc}000000`,
});

const standing = z.looseObject({
  standingId: z.string().optional(),
  status: z.string(),
  words: z.string(),
  next: z.string().nullable(),
  callUrl: z.string().optional(),
});
const standingList = z.object({ standing: z.array(standing) });
const accepted = z.object({ accepted: z.boolean() });

export const owners: Row[] = [
  {
    id: "claim-at-once",
    says: "Owned (claimed in the web application): at once, also with a new wallet",
    needs: ["people"],
    check: async (world) => {
      const person = await world.as("claimer");
      const userId = `${world.fresh()}-which-nobody-guesses`;
      await world.post("/mcp/defi/connect", { userId });
      const claim = claimShape.parse(await person.action("accounts/actions:claimUserId", { userId }));
      same("pendingUntil", claim.pendingUntil, null);
      (await world.post("/user/messenger", { userId, messengerChatId: "1" })).error(403);
    },
  },
  {
    id: "claim-48-hours",
    says: "A short id that has a wallet, or one whose wallet is older than an hour, is fully owned 48 hours after its claim: until then answers carry claimPending; anybody with the id may end the claim (a link beside claimPending): the id stays free and cannot be claimed for a week",
    needs: ["people"],
    check: async (world) => {
      const userId = world.fresh().slice(-20);
      await world.post("/mcp/defi/connect", { userId });
      const person = await world.as("patient");
      const claim = claimShape.parse(await person.action("accounts/actions:claimUserId", { userId }));
      const hours = ((claim.pendingUntil ?? 0) - (await world.now())) / HOUR;
      require(hours > 47.9 && hours < 48.1, `It waits ${hours} hours`);
      const { text } = await world.get("/mcp/research/status", { userId });
      matches("The answer", text, /"claimPending":"20\d\d-/);
      matches("The answer", text, /"claimEndUrl":"https?:/);
      same("status", (await world.post("/claim/end", { id: userId })).status, 200);
      const after = await world.get("/mcp/research/status", { userId });
      require(!/claimPending/.test(after.text), "The claim still waits");
      const again = await person.action("accounts/actions:claimUserId", { userId }).then(
        () => "was taken",
        (error: unknown) => String(error),
      );
      matches("A second claim", again, /claimed again from/);
    },
  },
  {
    id: "standing",
    says: "beyond the contract: POST /mcp/defi/standing sets a swap at a price, by the clock or on a call, for owned ids: 200 with words, next and, of a call, callUrl once; dryRun stores nothing; GET lists, off stops; a wrong zone, time or past until is 400, a free id 403, a dead address 404",
    needs: ["people"],
    check: async (world) => {
      const { service, action } = await world.as("planner");
      const userId = `${world.fresh()}-which-nobody-guesses`;
      await world.post("/mcp/defi/connect", { userId });
      await action("accounts/actions:claimUserId", { userId });
      const path = "/mcp/defi/standing";
      const swap = { userId, fromToken: "USDC", toToken: "ETH", size: "25" };
      const when = { every: "week", on: "mon", at: "09:00", timeZone: "Europe/Berlin" };
      const set = (terms: object) => service.post(path, { ...swap, when, ...terms });
      const list = async () => (await service.get(path, { userId })).as(standingList).standing;
      same("dryRun", (await set({ dryRun: true })).as(standing).status, "rehearsed");
      same("count", (await list()).length, 0);
      const weekly = (await set({ times: 12 })).as(standing);
      matches("words", weekly.words, /25 USDC → ETH.*12 times: 300 USDC in all/);
      matches("next", weekly.next ?? "", /T0[78]:00:00/);
      same("standingId", (await set({ times: 12 })).as(standing).standingId, weekly.standingId);
      for (const terms of [
        { when: { ...when, timeZone: "Mars/Base" } },
        { when: { ...when, at: "24:00" } },
        { until: "2020-01-01" },
        { unknown: 1 },
      ])
        (await set(terms)).error(400);
      (await world.post(path, { ...swap, userId: world.fresh(), when })).error(403);
      const called = (await set({ when: { call: true } })).as(standing);
      const address = new URL(called.callUrl ?? "");
      const call = () => world.send("POST", address.pathname + address.search, { body: "ETHUSD crossing" });
      same("accepted", (await call()).as(accepted, 202).accepted, true);
      same("accepted within a minute", (await call()).as(accepted, 202).accepted, false);
      for (const { standingId } of await list()) await service.post(`${path}/off`, { userId, standingId });
      require((await list()).every(({ status }) => status === "ended"), "One is active still");
      (await call()).error(404);
    },
  },
  {
    id: "key-scopes",
    says: "Keys: scopes read, trade, withdraw, shown once; too small a scope is 403",
    needs: ["people", "chain"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "programmer");
      await createFundedWallet(world, userId, { usdc: 2n * ONE_USDC });
      const createKey = (scopes: string[]) =>
        person
          .mutation("accounts/keys:create", { name: scopes.join(" "), scopes })
          .then((key) => keyShape.parse(key));
      const reading = { Authorization: `Bearer ${(await createKey(["read"])).key}` };
      matches(
        "The error",
        (await world.post("/mcp/defi/send", order(userId), reading)).error(403),
        /withdraw/,
      );
      const fresh = await createKey(["withdraw"]);
      const waits = (fresh.countsFrom - (await world.now())) / HOUR;
      require(waits > 1.9 && waits <= 2.1, `A key that moves money counts after ${waits} hours`);
      const withdrawing = { Authorization: `Bearer ${fresh.key}` };
      (await world.post("/mcp/defi/send", order(userId), withdrawing)).error(403);
    },
  },
  {
    id: "freeze",
    says: "a freeze stops every signature at once",
    needs: ["people", "chain"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "careful");
      const wallet = await createFundedWallet(world, userId, { usdc: 5n * ONE_USDC });
      same("status", (await person.service.post("/mcp/defi/send", order(userId))).status, 200);
      await person.mutation("accounts/profile:freeze");
      const refused = (await person.service.post("/mcp/defi/send", order(userId))).error(503);
      matches("The error", refused, /frozen/);
      same("The balance", await createChain(world).usdcOf(wallet), 4n * ONE_USDC);
    },
  },
  {
    id: "owner-page",
    says: "/me: opened by a link that only the owner's token makes; the id alone and others get 401 or 403",
    needs: ["people"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "looker");
      const other = await world.as("another looker");
      for (const service of [world, other.service])
        (await service.post("/me/link", { userId })).error(401, 403);
      const made = await person.service.post("/me/link", { userId });
      const { pathname, search } = new URL(made.as(z.object({ url: z.url(), expiresAt: z.string() })).url);
      same("status", (await world.send("GET", pathname + search)).status, 200);
      matches("The page without a session", (await world.get("/me")).text, /Your page is closed/);
    },
  },
  {
    id: "order-asked",
    says: "a tap in the owner's confirmed chat (the order waits 20 s, then 202 awaiting_approval)",
    needs: ["people", "chain", "standins", "settings"],
    check: async (world) => {
      const secret = "a-secret-of-the-operators-bots";
      await world.configure({ MESSENGER_CONNECT_SECRET: secret });
      const { userId, person } = await signIn(world, "tapper");
      const { code } = z
        .object({ code: z.string() })
        .parse(await person.mutation("messenger/linking:createCode"));
      const account = { linkToken: code, messengerId: String(Date.now()) };
      const sent = { Authorization: `Bearer ${secret}` };
      same("status", (await world.post("/messenger/connect", account, sent)).status, 200);
      await world.configure({ MESSENGER_CONNECT_SECRET: null });
      const wallet = await createFundedWallet(world, userId, { usdc: 5n * ONE_USDC });
      (await world.post("/mcp/defi/send", order(userId))).as(awaiting, 202);
      same("The balance", await createChain(world).usdcOf(wallet), 5n * ONE_USDC);
      await world.rest();
      const questions = (await world.cards()).filter(({ chatId }) => chatId === account.messengerId);
      matches("The card", questions.map(({ text }) => text).join("\n"), /1(?:\.0+)? USDC/);
    },
  },
];
