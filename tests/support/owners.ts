import { api, internal } from "../../convex/_generated/api";
import { saveAccount } from "../../convex/identity/model";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { ALICE, confirm, SECRET, updateOf } from "../bot/support";
import { chain, test as chainTest } from "./chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "./chain/walletApp";
import type { WorldOptions } from "./world";
import { browserOf } from "./browser";

/** A person with a phone: an account with an owner, a linked chat, and a wallet with money in it. */

/** Tests that get such an `app` on their file's chain when they ask for one. */
export const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ settings }, use) => use(createOwnersApp(settings)),
});

function createOwnersApp({ env }: WorldOptions): WalletApp {
  const app = createWalletApp(chain, { env: { MESSENGER_WEBHOOK_SECRET: SECRET, ...env } });
  // Callers are told immediately that they wait, unless a test says otherwise.
  deadlines.tap = 1;
  return app;
}

/** An order that sends 25 USD to a stranger, but for the fields that are named. */
export const send = (userId: string, fields: object = {}) => ({
  ...{ userId, token: "USDC", amount: "25000000", toAddress: freshAddress() },
  ...fields,
});

/** Micro-USD, as amounts of USDC are written. */
export const dollars = (usd: number) => String(usd * 1_000_000);

/** Enough for every limit. */
export const RICH = { ETH: 10n ** 18n, USDC: 9_000_000_000n };

/** A signed-in user whose account is linked and confirmed, with a funded wallet. */
export async function owner(
  app: WalletApp,
  amounts: Parameters<WalletApp["fundedWallet"]>[1] = { ETH: 10n ** 18n, USDC: 1_000_000_000n },
  messengerId = ALICE,
) {
  const browser = browserOf(app, `person-${messengerId}`);
  const { userId } = await browser.mutation(api.accounts.profile.signIn, {});
  const { code } = await browser.mutation(api.messenger.linking.createCode, {});
  await app.post("/messenger/connect", { linkToken: code, messengerId: String(messengerId) });
  await confirm(app, String(messengerId));
  const address = await app.fundedWallet(userId, amounts);
  return { browser, userId, address };
}

/** A recipient that has been on an owner's list for long. */
export const LISTED = `0x${"1".repeat(40)}`;

export async function listRecipient(app: WalletApp, userId: string): Promise<void> {
  const recipients = [{ address: LISTED, countsFrom: 0 }];
  await app.t.run((ctx) => saveAccount(ctx, userId, { recipients }));
}

/** The two hours are over after which what loosens counts: recipients, keys, a limit, another chat, the end of a freeze. */
export const twoHoursPass = (app: WalletApp) =>
  app.t.run(async ({ db }) => {
    for (const { _id } of await db.query("keys").collect()) await db.patch("keys", _id, { countsFrom: 0 });
    for (const { _id, limits, thawsAt, formerLink, recipients } of await db.query("accounts").collect())
      await db.patch("accounts", _id, {
        limits: limits?.map((one) => ({ ...one, countsFrom: 0 })),
        recipients: recipients?.map((one) => ({ ...one, countsFrom: 0 })),
        ...(thawsAt === undefined ? {} : { thawsAt: 0 }),
        ...(formerLink === undefined ? {} : { formerLink: { ...formerLink, until: 0 } }),
      });
  });

/** The 48 hours are over after which the claim of an id with a wallet takes effect. */
export async function claimsTakeEffect(app: WalletApp): Promise<void> {
  for (const { _id, userId, claim } of await app.rows("accounts")) {
    if (claim === undefined) continue;
    await app.t.run((ctx) => ctx.db.patch("accounts", _id, { claim: { ...claim, dueAt: 0 } }));
    await app.t.mutation(internal.accounts.claims.completeClaim, { userId });
  }
  await app.settle();
}

/** A key of an owner's, which counts. */
export async function keyOf(
  app: WalletApp,
  browser: Awaited<ReturnType<typeof owner>>["browser"],
  scopes: ("read" | "trade" | "withdraw")[],
  dailyUsd?: string,
) {
  const wish = { name: "my script", scopes, ...(dailyUsd === undefined ? {} : { dailyUsd }) };
  const { key, keyId } = await browser.mutation(api.accounts.keys.create, wish);
  await twoHoursPass(app);
  return { keyId, init: { headers: { Authorization: `Bearer ${key}` } }, key };
}

/** The orders of which something was signed. */
export const signed = async (app: WalletApp) =>
  (await app.rows("orders")).filter(({ tries }) => tries.length > 0);

/** The text of the newest card. */
export const newest = async (app: WalletApp, chat?: number) => (await cards(app, chat)).at(-1)?.text ?? "";

/** What the chat was sent, the newest last. */
export async function cards(app: WalletApp, chat = ALICE) {
  await app.settle();
  return app.standins
    .sent("messenger")
    .filter(
      ({ chatId, method }) => chatId === String(chat) && /^(?:sendMessage|editMessageText)$/.test(method),
    );
}

let lastUpdateId = 5_000_000;

/** Taps a button of the newest card that has it. @param from Who taps; the card's own account unless said. */
export async function tap(app: WalletApp, words: string, { from = ALICE, chat = ALICE } = {}) {
  const card = (await cards(app, chat)).findLast(({ keyboard }) =>
    keyboard?.flat().some(({ text }) => text === words),
  );
  const button = card?.keyboard?.flat().find(({ text }) => text === words);
  if (card === undefined || button === undefined) throw new Error(`There is no button ${words}`);
  await tapOn(app, { data: String(button.callback_data), messageId: card.messageId, from });
}

async function tapOn(
  app: Pick<WalletApp, "post" | "settle">,
  { data, messageId, from }: { data: string; messageId: unknown; from: number },
) {
  const id = ++lastUpdateId;
  await deliverTo(app, {
    update_id: id,
    callback_query: {
      id: `query-${id}`,
      from: { id: from, is_bot: false, first_name: "A" },
      message: { message_id: messageId, chat: { id: from, type: "private" }, text: "as it stands" },
      chat_instance: "1",
      data,
    },
  });
}

export async function say(app: WalletApp, text: string, from = ALICE, chat = from) {
  await deliverTo(app, updateOf(text, { from, chat }));
}

async function deliverTo(app: Pick<WalletApp, "post" | "settle">, update: unknown) {
  const headers = { "X-Telegram-Bot-Api-Secret-Token": SECRET };
  const { status } = await app.post("/messenger/webhook", update, { headers });
  if (status !== 200) throw new Error(`The webhook answered ${status}`);
  await app.settle();
}
