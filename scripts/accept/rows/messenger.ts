import * as z from "zod";
import { require, same, type Row } from "../row";
import { connected, linkedWallet, settings, unlinked } from "../shapes";
import { MINUTE, type World } from "../world";
import { signIn } from "./research";

/** The user's own bot, and linking a messenger account. */

const OWN_BOT = "123456:AAaaBBbbCCccDDddEEeeFFffGGggHHhhIIi";
const codeShape = z.object({ code: z.string().min(1) });
let accounts = 0;
const createAccount = () => ({ messengerId: `99${Date.now()}${++accounts}`, messengerUsername: "alice_t" });
/** A code from the web application. */
async function createLinkCode(world: World, subject: string) {
  const { person, userId } = await signIn(world, subject);
  const { code } = codeShape.parse(await person.mutation("messenger/linking:createCode"));
  return { person, userId, linkToken: code };
}

export const messenger: Row[] = [
  {
    id: "messenger-settings",
    says: 'POST /user/messenger: either optional field may be sent alone and updates independently; Response: success; bot tokens: 20 to 128 printable characters; "" clears a field',
    check: async ({ post, fresh }) => {
      const userId = fresh();
      for (const fields of [
        { messengerChatId: "424242" },
        { messengerBotToken: OWN_BOT },
        { messengerBotToken: null, messengerChatId: null },
        { messengerBotToken: "", messengerChatId: "" },
      ])
        (await post("/user/messenger", { userId, ...fields })).as(settings);
      for (const messengerBotToken of ["short", "x".repeat(129), "a\u0007bcdefghijklmnopqrstuvw"])
        (await post("/user/messenger", { userId, messengerBotToken })).error(400);
      (await post("/user/messenger", { userId, messengerChatId: "not a chat" })).error(400);
    },
  },
  {
    id: "messenger-independent",
    says: "When set, the user's own bot is used for their reports instead of the default bot; each field updates independently; telegramChatId/telegramBotToken are accepted as input aliases everywhere",
    needs: ["standins", "time"],
    check: async (world) => {
      const userId = world.fresh();
      await world.post("/user/messenger", { userId, telegramBotToken: OWN_BOT, messengerChatId: "7001" });
      (await world.post("/user/messenger", { userId, telegramChatId: "7002" })).as(settings);
      await world.post("/mcp/research/start", { userId });
      await world.advance(MINUTE);
      const cards = (await world.cards()).filter(({ text }) => /shift started/i.test(text));
      same("the bot", cards.find(({ chatId }) => chatId === "7002")?.botToken, OWN_BOT);
      require(!cards.some(({ chatId }) => chatId === "7001"), "The old chat got the card");
    },
  },
  {
    id: "messenger-key",
    says: "/user/messenger needs the key only when a token is sent",
    needs: ["settings"],
    check: async ({ post, user, configure }) => {
      await configure({ WALLET_ENCRYPTION_KEY: null });
      (await post("/user/messenger", { userId: user, messengerChatId: "1" })).as(settings);
      const error = (await post("/user/messenger", { userId: user, messengerBotToken: OWN_BOT })).error(500);
      same("the error", error, "WALLET_ENCRYPTION_KEY is not configured");
    },
  },
  {
    id: "connect-unknown",
    says: "then the code (404), each attempt counted; GET /messenger/wallet: linked false",
    check: async ({ post, get }) => {
      const one = createAccount();
      (await post("/messenger/connect", { linkToken: "ZZZZZZZZ", ...one })).error(404);
      (await get("/messenger/wallet", { messengerId: one.messengerId })).as(unlinked);
    },
  },
  {
    id: "connect-links",
    says: "POST /messenger/connect: success, walletAddress; GET /messenger/wallet: linked, walletAddress, userId; beyond the contract, confirmed: a link by connect alone is not; a code links once",
    needs: ["people"],
    check: async (world) => {
      const { userId, linkToken } = await createLinkCode(world, "link-one");
      const one = createAccount();
      const answer = await world.post("/messenger/connect", { linkToken, ...one });
      const { walletAddress } = answer.as(z.object({ success: z.literal(true), walletAddress: z.string() }));
      const walletAnswer = await world.get("/messenger/wallet", { messengerId: one.messengerId });
      require(walletAnswer.text.includes('"confirmed":false'), walletAnswer.text);
      const wallet = walletAnswer.as(linkedWallet);
      same("userId", wallet.userId, userId);
      same("walletAddress", wallet.walletAddress, walletAddress);
      same(
        "address of connect",
        (await world.post("/mcp/defi/connect", { userId })).as(connected).address,
        walletAddress,
      );
      const raced = await createLinkCode(world, "link-five");
      const tried = await Promise.all(
        [createAccount(), createAccount()].map((other) =>
          world.post("/messenger/connect", { linkToken: raced.linkToken, ...other }),
        ),
      );
      same("links", tried.filter(({ status }) => status === 200).length, 1);
    },
  },
  {
    id: "connect-linked",
    says: "judges the messenger account first: when it is already linked, 409 (whatever the code)",
    needs: ["people"],
    check: async (world) => {
      const { linkToken } = await createLinkCode(world, "link-two");
      const one = createAccount();
      await world.post("/messenger/connect", { linkToken, ...one });
      const other = await createLinkCode(world, "link-three");
      for (const code of [other.linkToken, "ZZZZZZZZ"])
        (await world.post("/messenger/connect", { linkToken: code, ...one })).error(409);
    },
  },
  {
    id: "connect-secret",
    says: "MESSENGER_CONNECT_SECRET: every connect and look-up has to send it (Authorization: Bearer, 401 otherwise)",
    needs: ["settings", "people"],
    check: async (world) => {
      const { linkToken } = await createLinkCode(world, "link-seven");
      const one = createAccount();
      await world.configure({ MESSENGER_CONNECT_SECRET: "a-secret-of-the-bot-host" });
      (await world.post("/messenger/connect", { linkToken, ...one })).error(401);
      (await world.get("/messenger/wallet", { messengerId: one.messengerId })).error(401);
      const headers = { Authorization: "Bearer a-secret-of-the-bot-host" };
      same("status", (await world.post("/messenger/connect", { linkToken, ...one }, headers)).status, 200);
      const answer = await world.send("GET", `/messenger/wallet?messengerId=${one.messengerId}`, { headers });
      require(answer.text.includes('"confirmed":true'), answer.text);
    },
  },
];
