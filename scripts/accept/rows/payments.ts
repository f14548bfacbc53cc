import { createHmac } from "node:crypto";
import * as z from "zod";
import { getAddress, createChain, createFundedWallet, ONE_USDC, ETHER } from "../chain";
import { matches, require, same, type Row } from "../row";
import { deposits, paidReport, paymentTerms, sendOrder } from "../shapes";
import { MINUTE, type World } from "../world";
import { listOwnRows, signIn } from "./research";

/** Paid reports, deposits, credits and trade commands from mentions. */

const PAID = "/agent/research/paid";
const balanceShape = z.object({ balance: z.number() });
const gameShape = z.looseObject({ sessionId: z.string() });
const creditShape = z.looseObject({ type: z.string(), amount: z.number() });
const UNKNOWN = `0x${"fedcba9876543210".repeat(4)}`;

const terms = async ({ post }: World, body: Record<string, unknown> = {}) =>
  (await post(PAID, body)).as(paymentTerms, 402).paymentDetails;
const pay = async (world: World, units = ONE_USDC) =>
  createChain(world).sendUsdc(getAddress((await terms(world)).address), units);

/** A mention as the social network delivers it. */
async function mention(world: World, text: string) {
  const id = String(Date.now()) + String(Math.floor(Math.random() * 1e4));
  const payload = {
    data: {
      event_type: "post.mention.create",
      filter: { user_id: "100" },
      payload: {
        id,
        text: `@bot ${text}`,
        author_id: "200",
        created_at: new Date(await world.now()).toISOString(),
        entities: { mentions: [{ id: "100", username: "bot" }] },
      },
      includes: { users: [{ id: "200", username: "alice" }] },
    },
  };
  const signature = createHmac("sha256", world.socialSecret())
    .update(JSON.stringify(payload))
    .digest("base64");
  return world.post("/social/mention", payload, { "X-Twitter-Webhooks-Signature": `sha256=${signature}` });
}
const mentionShape = z.looseObject({ status: z.string(), text: z.string() });

export const payments: Row[] = [
  {
    id: "paid-terms",
    says: "Without the X-Payment header: status 402, body error, paymentDetails with network, asset (USDC), address, amount, description; it says that no source knows the token before anything is paid. Order of checks: payment first (without a proof it is 402 whatever the body is)",
    needs: ["standins"],
    check: async (world) => {
      const details = await terms(world, { userId: world.user, token: "BTC" });
      same("amount", details.amount, "1.00");
      matches("network", details.network, /base|8453/i);
      const unknown = await world.post(PAID, { userId: world.user, token: "ZZZZQQ" });
      same("status", unknown.status, 402);
      matches("The terms", unknown.text, /ZZZZQQ/);
      for (const body of ["{", "[]", '{"token":7}', ""])
        same(`status for ${body}`, (await world.send("POST", PAID, { body })).status, 402);
    },
  },
  {
    id: "paid-report",
    says: 'With the X-Payment header: status 200, body success, result (ResearchResult), token; payment is verified on-chain; the same proof gets its report again, and never another. A token that no source knows: with a proof it is 404 and the proof stays unspent; token omitted: a market-wide report, token: ""',
    needs: ["chain", "standins"],
    check: async (world) => {
      const proof = { "X-Payment": await pay(world) };
      const order = { userId: world.user };
      (await world.post(PAID, { ...order, token: "ZZZZQQ" }, proof)).error(404);
      same("token", (await world.post(PAID, order, proof)).as(paidReport).token, "");
      (await world.post(PAID, order, proof)).as(paidReport);
      const other = await world.post(PAID, { userId: world.user, token: "BTC" }, proof);
      require(other.status !== 200, "One payment bought two reports");
    },
  },
  {
    id: "paid-no-payment",
    says: "Price of a paid report: 1.00 USDC; a proof that shows no such payment buys nothing (402)",
    needs: ["chain", "standins"],
    check: async (world) => {
      const { sendUsdc, payer } = createChain(world);
      for (const proof of ["paid", await pay(world, ONE_USDC - 1n), await sendUsdc(payer.address, ONE_USDC)])
        (await world.post(PAID, { userId: world.user, token: "ETH" }, { "X-Payment": proof })).error(402);
    },
  },
  {
    id: "paid-unknown",
    says: "a proof that names a transaction that nobody made buys nothing (402)",
    needs: ["chain", "standins", "deadlines"],
    check: async ({ post, user }) =>
      void (await post(PAID, { userId: user, token: "BTC" }, { "X-Payment": UNKNOWN })).error(402),
  },
  {
    id: "deposit-unknown",
    says: "nothing in its body is believed, a forged one only causes a read",
    needs: ["chain"],
    check: async ({ post }) => {
      const deposited = (await post("/indexer/deposit", { txHash: UNKNOWN })).as(deposits);
      same("credited", deposited.credited.length, 0);
    },
  },
  {
    id: "deposit-credits",
    says: "verifies the transfer, matches the sender address to a user and credits that user's balance; 100 credits per USDC",
    needs: ["chain", "people"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "depositor");
      await createFundedWallet(world, userId, { usdc: 5n * ONE_USDC, ether: ETHER / 50n });
      const toAddress = (await terms(world)).address;
      const order = { userId, toAddress, token: "USDC", amount: "2500000" };
      const { txHash } = (await person.service.post("/mcp/defi/send", order)).as(sendOrder);
      const read = async () => (await world.post("/indexer/deposit", { txHash })).as(deposits);
      await read();
      await createChain(world).bury();
      let deposited = await read();
      for (let attempt = 0; attempt < 100 && deposited.credited.length === 0; attempt++) {
        await world.rest();
        deposited = await read();
      }
      same("credits", deposited.credited.map(({ credits }) => credits).join(), "250");
      same("amountUsdc", Number(deposited.credited[0]?.amountUsdc), 2.5);
      same("credited again", (await read()).credited.length, 1);
      same("balance", balanceShape.parse(await person.query("credits/app:balance")).balance, 250);
      const page = await listOwnRows(person, "credits", creditShape);
      same("ledger", page.map(({ type, amount }) => `${type} ${amount}`).join(), "deposit 250");
    },
  },
  {
    id: "deposit-secret",
    says: "DEPOSIT_WEBHOOK_SECRET is enforced when set",
    needs: ["settings"],
    check: async ({ post, configure }) => {
      await configure({ DEPOSIT_WEBHOOK_SECRET: "a-secret-of-the-indexer" });
      (await post("/indexer/deposit", { txHash: UNKNOWN })).error(401);
    },
  },
  {
    id: "credits",
    says: "Credits are earned by playing arcade games (creditsEarned = levelReached x 100), once a session, and spent by running agents; deduction with model, tokensUsed, agentId; one that would go below zero is refused",
    needs: ["people", "time"],
    check: async (world) => {
      const { person } = await signIn(world, "player");
      const ledger = () => listOwnRows(person, "credits", creditShape);
      const balance = async () => balanceShape.parse(await person.query("credits/app:balance")).balance;
      const run = () =>
        person.mutation("chat/runs:start", { question: "How is the market?", agentId: "news-default" });
      const isRefused = await run().then(
        () => false,
        () => true,
      );
      require(isRefused, "A run without credits was started");
      const { sessionId } = gameShape.parse(await person.mutation("credits/app:openGame"));
      await world.advance(5 * MINUTE);
      for (let end = 0; end < 2; end++)
        await person.mutation("credits/app:finishGame", { sessionId, levelReached: 4 });
      same("balance", await balance(), 400);
      const [earned, ...more] = await ledger();
      same("ledger", `${earned?.type} ${earned?.amount} ${String(earned?.source)}`, "deposit 400 arcade");
      same("further entries", more.length, 0);
      await run();
      await world.advance(MINUTE);
      const left = await balance();
      require(left < 400 && left > 0, `The balance is ${left}`);
      const page = await ledger();
      const deduction = page.find(({ type }) => type === "deduction");
      same("agentId", deduction?.agentId, "news-default");
      const settlement = page.find(({ type }) => type === "refund") ?? deduction;
      require(Number(settlement?.tokensUsed ?? 0) > 0, "tokensUsed is missing");
    },
  },
  {
    id: "social-secret",
    says: "GET /social/mention?crc_token= { response_token }; SOCIAL_WEBHOOK_SECRET (required by the social webhook)",
    needs: ["settings"],
    check: async ({ get, post, configure, socialSecret }) => {
      const hash = createHmac("sha256", socialSecret()).update("abc123").digest("base64");
      const shape = z.object({ response_token: z.string() });
      const answer = (await get("/social/mention", { crc_token: "abc123" })).as(shape);
      same("response_token", answer.response_token, `sha256=${hash}`);
      (await post("/social/mention", {})).error(401);
      await configure({ SOCIAL_WEBHOOK_SECRET: null });
      const error = (await post("/social/mention", {})).error(500);
      same("the error", error, "SOCIAL_WEBHOOK_SECRET is not configured");
    },
  },
  {
    id: "social-ignored",
    says: "ignored: no trade intent, or author not linked; each mention is stored once",
    needs: ["settings"],
    check: async (world) => {
      for (const text of ["lovely weather today", "buy $10 of ETH"]) {
        const mentioned = (await mention(world, text)).as(
          z.object({ success: z.literal(true), accepted: z.int() }),
        );
        same("accepted", mentioned.accepted, 1);
      }
    },
  },
  {
    id: "social-processed",
    says: "each is parsed, scored, stored and executed if above the threshold: pending → processed | failed | ignored",
    needs: ["settings", "people", "chain"],
    check: async (world) => {
      const { person, userId } = await signIn(world, "alice");
      const wallet = await createFundedWallet(world, userId, { usdc: 50n * ONE_USDC });
      const { code } = z
        .looseObject({ code: z.string() })
        .parse(await person.mutation("social/app:startProof", { handle: "@alice" }));
      const waitForMention = async (matching: string) => {
        for (let attempt = 0; attempt < 400; attempt++) {
          const page = await listOwnRows(person, "mentions", mentionShape);
          const found = page.find(({ text, status }) => text.includes(matching) && status !== "pending");
          if (found !== undefined) return found.status;
          await world.rest();
        }
        return "pending";
      };
      await mention(world, `this is me: ${code}`);
      for (let attempt = 0; attempt < 40; attempt++) await world.rest();
      await person.mutation("social/app:setTrading", { authorId: "200", enabled: true });
      await mention(world, "buy $10 of WETH");
      same("status", await waitForMention("buy $10"), "processed");
      require((await createChain(world).tokenOf("0x4200000000000000000000000000000000000006", wallet)) >
        0n, "Nothing was bought");
      await mention(world, "my friend said I should maybe buy $10 of WETH, if it rains");
      same("status of a doubtful one", await waitForMention("if it rains"), "ignored");
    },
  },
  {
    id: "owned-orders",
    says: "orders and delivery settings need the owner's token or a key: by userId alone they wait or are refused (403); 401 a wrong credential; 403 a right one that may not. The web application authenticates its users with JWT tokens from an identity provider, validated per request",
    needs: ["people", "chain"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "owner");
      const other = await signIn(world, "mallory");
      require(userId !== other.userId, "Two people have one account");
      same("userId again", (await signIn(world, "owner")).userId, userId);
      await createFundedWallet(world, userId, { usdc: 5n * ONE_USDC });
      const order = { userId, toAddress: createChain(world).payer.address, token: "USDC", amount: "1000000" };
      (await world.post("/mcp/defi/send", order)).error(403);
      (await other.person.service.post("/mcp/defi/send", order)).error(403);
      (await world.post("/mcp/defi/send", order, { Authorization: "Bearer sk_no_such_key" })).error(401);
      const settings = { userId, messengerChatId: "1" };
      (await world.post("/user/messenger", settings)).error(403);
      same("status", (await person.service.post("/user/messenger", settings)).status, 200);
    },
  },
  {
    id: "owned-reads",
    says: "By userId alone an owned id keeps market, research, shifts, reports, balance, portfolio, rehearsals; every answer about wallets to it carries owned: true",
    needs: ["people", "chain", "standins"],
    check: async (world) => {
      const { userId } = await signIn(world, "reader");
      for (const answer of [
        await world.get("/mcp/defi/portfolio", { userId }),
        await world.get("/mcp/wallet/balance", { userId }),
        await world.get("/mcp/research/status", { userId }),
        await world.post("/mcp/research/start", { userId, token: "BTC" }),
        await world.post("/mcp/research/stop", { userId }),
        await world.post("/mcp/chat", { question: "Hello", userId }),
      ])
        same("status", answer.status, 200);
      matches("connect", (await world.post("/mcp/defi/connect", { userId })).text, /"owned":true/);
    },
  },
];
