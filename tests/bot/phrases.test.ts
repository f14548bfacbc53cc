import { describe, expect, test as base, vi } from "vitest";
import { checkProposal } from "../../convex/bot/assistant";
import { parsePhrase } from "../../convex/bot/phrases";
import { isClaim } from "../../convex/chat/claims";
import type { App } from "../support/app";
import { priced } from "../alerts/support";
import { say, tap, test } from "./support";

/** What a trader says about the bot's own functions: it ends at the function, and nothing claims to have acted. */

const TABLE: Readonly<Record<string, string>> = {
  alerts:
    "cancel my btc alert|what alerts do i have|snooze 2 hours|show my alerts|delete all my alerts|my alerts|turn off the eth alert please|mute my alerts for 2 hours|can you remove my $SOL price alert?|Which alerts are set?|list alerts|mute it for an hour|pause all alerts|edit my alert|do i have any alerts|stop the alarm|change my alerts|turn on my btc alert|How many alerts do I have?|snooze|unmute my alerts|my standing orders|cancel my dca|stop my recurring order",
  wallet:
    "deposit|how do i deposit|I want to deposit|my wallet address|top up|add funds|how can i top up my wallet|what is my deposit address|fund my wallet|create a wallet|make me a wallet",
  limits:
    "my limits|what are my limits?|show my spending limit|what is my daily limit|raise my limit to 500|change my daily limit",
  portfolio: "my balance|what is my balance|show my portfolio|holdings|what do i hold",
  orders:
    "my orders|show my orders|cancel my order|do i have any open orders|what orders are open|cancel my limit order",
  recipients: "show my recipients|add a recipient|remove a recipient",
  gas: "i need gas|get some eth for fees",
  subscribe:
    "my subscriptions|subscribe to signals|unsubscribe|stop the daily signals|stop whale alerts|unsubscribe me from the weekly recap|send me daily signals",
  whales: "show me the latest whale alerts|whales",
  signals: "latest signals|what are today's signals|show me the signals",
  record: "your track record|what is the win rate",
  status: "research status|how is my research doing",
  stop: "stop my research",
  help: "what can you do?|commands|help",
  ai: "my api keys|revoke my key|create an api key|connect claude|my account id",
  login: "my login|add another login|change my login",
  newid: "my id was leaked|change my id",
  freeze: "freeze my account|freeze everything",
  unfreeze: "unfreeze my account",
  export: "export my data",
  delete: "delete my data|delete my account",
  unlink: "unlink this chat",
  me: "my account|my page|settings",
};

base("words about the bot's own functions lead to them; questions and other words do not", () => {
  const spoken = Object.entries(TABLE).flatMap(([command, words]) =>
    words.split("|").map((one) => [one, command]),
  );
  expect(spoken.length).toBeGreaterThanOrEqual(80);
  expect(spoken.map(([words = ""]) => [words, parsePhrase(words)?.name])).toEqual(spoken);
  for (const words of ["switch to paper trading", "order history", "my trades"])
    expect(parsePhrase(words)?.name).toMatch(/^(?:paper|help|history|orders)$/);
  const others =
    "how is bitcoin doing|what is a limit order|alert me when btc is above 100k|why did my alert fire|is my deposit safe with coinbase|what moved eth today|stop|cancel|balance of power in defi|what are whales buying|how do alerts on binance work|what is dca|research solana|what is research|what is an api key|should i change my limit order|what is gas|how high is gas|what is a wallet|the record high of bitcoin|what is paper trading|what's the news|news|show me the news";
  expect(others.split("|").filter((words) => parsePhrase(words) !== null)).toEqual([]);
});

base(
  "a sentence that claims a deed of the bot's is seen in ten languages, and news of the market is none",
  () => {
    const claims = `I've set your BTC alert.|I’ve just cancelled it for you|I have now sent 25 USDC to 0x99.|Done!|✅ Alert set|Your alert has been cancelled.|Your order to buy ETH was placed.|I'll cancel it for you now.|I'm setting the alert|Alert set for BTC at 110k.|Order placed.|Cancelled your BTC alert.|I went ahead and swapped 25 USDC to ETH|I bought you some ETH.|Your alerts are now off.|We've updated your limit to $500.|Swap executed successfully.|The alert is set.|Setting your alert now.|Transaction confirmed.|Setting up your alert.|Bought 0.01 ETH for you.|Sent it.
    |Ich habe deinen Alarm gelöscht.|Dein Alarm wurde gelöscht.|Erledigt!|He cancelado tu alerta.|Tu alerta ha sido cancelada.|Cancelei o seu alerta.|Ho impostato il tuo avviso.|J'ai annulé votre alerte.|J’ai bien vendu vos ETH.|Votre alerte a été annulée.|Я отменил ваше оповещение.|Ваш ордер был отменён|Готово!|我已经为您取消了提醒。|已为您卖出 ETH|アラートを設定しました。|ETHを売却しました|알림을 설정했습니다.|Alarmını iptal ettim.|Uyarı kuruldu.`;
    const all = claims.split("|").map((one) => one.trim());
    expect(all.filter((one) => !isClaim(one))).toEqual([]);
    const honest = `Bitcoin trades at {f1}, {f2} higher than a day ago.|I can't set alerts by words alone.|You can set an alert with /alert.|Which coin do you mean?|4,000 ETH were sent to Binance yesterday.|Whales sold 10,000 BTC this week.|The SEC approved the ETF.|I have no data on that.|An exchange paused withdrawals on Monday.|To cancel it, tap the button below.|Nothing is set until you tap.|The transfer was confirmed on chain [f3].|Ethereum ist heute gefallen.|Bitcoin a été acheté par des fonds.|比特币今天上涨。|ビットコインは上昇しました。|Биткоин вырос.|비트코인이 상승했습니다.|Miners sold reserves; funds bought them.|Your wallet holds {f9}.|Your wallet is on Base.|✅ Strong inflows into funds.|Buying pressure rose.|Selling now is a risk.|Most leveraged orders were closed on Monday.|Setting a stop below {f3} limits the loss.|Am Montag wurde viel Bitcoin gekauft.|以太坊升级已于周一完成。|交易所已停止提现。|マイクロストラテジーはビットコインを購入しました。|스트래티지가 비트코인을 매수했습니다.|Перевод 4 000 ETH был отправлен на биржу.|Sold 4,000 BTC on Monday.|I would set a stop.|The exchange cancelled its listing.`;
    expect(honest.split("|").filter(isClaim)).toEqual([]);
  },
);

base(
  "of a model's proposals only those are shown that the person's own words say, and no send, recipient or login",
  () => {
    const shown = (proposed: string, words: string) => checkProposal(proposed, words)?.command ?? null;
    const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    const swap = "tausche bitte 25 USDC in ETH";
    const table: readonly (readonly [proposed: string, words: string, command: string | null])[] = [
      ["alerts", "lösche meinen alarm", "alerts"],
      ["wallet", "入金したい", "wallet"],
      ["orders", "mis órdenes", "orders"],
      ["limits", "мои лимиты", "limits"],
      ["freeze", "konto einfrieren", "pause"],
      ["follow SOL", "beobachte solana", "follow SOL"],
      ["alert BTC above 110000", "alarm bei BTC 110000", "alert BTC above 110000"],
      ["alert BTC above 120000", "alarm bei BTC 110000", null],
      ["alert ETH above 110000", "alarm bei BTC 110000", null],
      ["swap 25 USDC to ETH", swap, "swap 25 USDC to ETH"],
      ["swap 250 USDC to ETH", swap, null],
      ["swap 25 ETH to USDC", swap, null],
      ["swap 25 USDC to BTC", swap, null],
      ["swap $25 of USDC to ETH", swap, null],
      ["swap 25% USDC to ETH", swap, null],
      ["swap all USDC to ETH", swap, null],
      ["swap 25 USDC to ETH", "用25USDC买ETH", "swap 25 USDC to ETH"],
      ["limits 5000", "raise my limit to 5000", null],
      [`send 25 USDC to ${address}`, `schick 25 USDC an ${address}`, null],
      [`recipients add ${address}`, `füge ${address} hinzu`, null],
      [`swap 25 USDC to ${address}`, `25 USDC ${address}`, null],
      ...["login", "login ABCDEFGH", "connect ABCDEFGH", "unlink", "unfreeze", "delete yes", "newid yes"].map(
        (one) => [one, one, null] as const,
      ),
      ...["approve k1", "own abc", "ai withdraw", "gas 5", "wallet new", "nothing", "alert", "swap"].map(
        (one) => [one, one, null] as const,
      ),
    ];
    expect(table.map(([proposed, words]) => [proposed, words, shown(proposed, words)])).toEqual(table);
  },
);

const buttons = (app: App) =>
  app
    .cards()
    .at(-1)
    ?.keyboard?.flat()
    .map(({ text }) => text) ?? [];

describe("in other languages", () => {
  test("the model's proposal is a button that does it, whatever else it says; a question of the bot is kept ten minutes", async ({
    app,
  }) => {
    const answer = (content: string) => {
      app.standins.clear("llm");
      app.standins.fail("llm", { mode: "reply", schema: "chat", content });
    };
    const heard = () => JSON.stringify(app.standins.sent("llm").at(-1)?.body);
    await priced(app, Date.now(), 100_000);
    answer("Ich habe deinen Alarm gelöscht. Deine Alarme stehen hinter dem Knopf.\nDO /alerts");
    expect(await say(app, "lösche bitte meinen btc alarm")).toEqual([
      "Deine Alarme stehen hinter dem Knopf.",
    ]);
    expect(heard()).toContain("/alerts: Your alerts");
    expect(buttons(app)).toEqual(["▶ Alerts"]);
    expect((await tap(app, "▶ Alerts"))[0]?.text).toContain("You have no active alert");
    answer("He enviado 25 USDC.\nDO /send 25 USDC to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
    const [refused = ""] = await say(
      app,
      "envía 25 USDC a 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 por favor",
    );
    expect(refused).toMatch(/^Nothing was done[^]*begins with your tap/);
    expect(buttons(app)).toHaveLength(6);
    answer("Bei welchem Preis?");
    await say(app, "sag mir bescheid wegen bitcoin irgendwann");
    vi.setSystemTime(Date.now() + 9 * 60_000);
    answer("Gut.\nDO /alert BTC above 110000");
    await say(app, "bei 110000 dollar dann wenn es steigt");
    expect(heard()).toContain("Bei welchem Preis?");
    expect(buttons(app)).toEqual(["▶ Alert BTC above 110000"]);
    answer("Womit?");
    await say(app, "kaufe etwas eth für mich");
    vi.setSystemTime(Date.now() + 11 * 60_000);
    await say(app, "mit 25 dollar natürlich");
    expect(heard()).not.toContain("etwas eth");
    // In a group nothing is proposed.
    answer("DO /alerts");
    await say(app, "@simulated_123456_bot meine alarme", { chat: -100_777 });
    expect(heard()).not.toContain("/alerts: Your alerts");
  });

  test("without a model the answer is the functions' buttons", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 503 });
    for (const words of ["lösche bitte meinen btc alarm", "мои лимиты на сегодня", "muéstrame mis órdenes"]) {
      const [text] = await say(app, words);
      expect([words, text, buttons(app).length]).toEqual([
        words,
        expect.stringContaining("No language model answers just now"),
        6,
      ]);
    }
  });
});
