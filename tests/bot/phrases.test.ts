import { expect, test } from "vitest";
import { parsePhrase } from "../../convex/bot/phrases";

test("words about the bot's own functions lead to them; questions and other words do not", () => {
  const table: Readonly<Record<string, string>> = {
    alerts:
      "cancel my btc alert|what alerts do i have|snooze 2 hours|show my alerts|delete all my alerts|my alerts|turn off the eth alert please|mute my alerts for 2 hours|can you remove my $SOL price alert?|Which alerts are set?|list alerts|mute it for an hour|pause all alerts|edit my alert|do i have any alerts|stop the alarm|change my alerts|turn on my btc alert|How many alerts do I have?|snooze",
    wallet:
      "deposit|how do i deposit|I want to deposit|my wallet address|top up|add funds|how can i top up my wallet|what is my deposit address|fund my wallet",
    limits: "my limits|what are my limits?|show my spending limit|what is my daily limit",
    portfolio: "my balance|what is my balance|show my portfolio|holdings",
    recipients: "show my recipients",
    subscribe: "my subscriptions",
    whales: "show me the latest whale alerts|whales",
    help: "what can you do?|commands",
  };
  const spoken = Object.entries(table).flatMap(([command, words]) =>
    words.split("|").map((one) => [one, command]),
  );
  expect(spoken.length).toBeGreaterThanOrEqual(40);
  expect(spoken.map(([words = ""]) => [words, parsePhrase(words)?.name])).toEqual(spoken);
  const others =
    "how is bitcoin doing|what is a limit order|alert me when btc is above 100k|why did my alert fire|is my deposit safe with coinbase|what moved eth today|stop|cancel|balance of power in defi|what are whales buying|how do alerts on binance work";
  expect(others.split("|").filter((words) => parsePhrase(words) !== null)).toEqual([]);
});
