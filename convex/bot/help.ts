import type { Button, Paragraph } from "../messenger/format";
import { menu, type CommandName } from "./commands";
import type { CommandOutcome } from "./outcomes";

/** What the bot says about itself: six buttons, and behind each the commands of one kind. */

/** By the word of the button. Every command of the menu stands in one of them. */
const SECTIONS: readonly { word: string; title: string; names: readonly CommandName[] }[] = [
  { word: "prices", title: "🔔 Prices and alerts", names: ["price", "alert", "alerts"] },
  { word: "signals", title: "📈 Signals and whales", names: ["signals", "record", "whales", "subscribe"] },
  {
    word: "research",
    title: "🔬 Research",
    names: ["research", "report", "follow", "stop", "status", "ask"],
  },
  {
    word: "wallet",
    title: "💳 Wallet and orders",
    names: [
      "wallet",
      "portfolio",
      "history",
      "orders",
      "paper",
      "swap",
      "send",
      "gas",
      "recipients",
      "limits",
    ],
  },
  {
    word: "safety",
    title: "🔐 Safety and logins",
    names: ["freeze", "unfreeze", "login", "newid", "connect", "unlink"],
  },
  { word: "account", title: "🤖 Account and AI", names: ["me", "ai", "export", "delete", "start", "help"] },
];

export const HELP_BUTTONS: readonly (readonly Button[])[] = [0, 2, 4].map((at) =>
  SECTIONS.slice(at, at + 2).map(({ word, title }) => ({ text: title, command: `help ${word}` })),
);

/** The help: what the bot is, or the commands of a section. @param word The section's; any other word shows the first. */
export function buildHelp(word = "", introduction?: string): CommandOutcome {
  const section = SECTIONS.find((one) => one.word === word);
  const names = section?.names ?? [];
  const lines = menu
    .filter(({ name }) => names.includes(name))
    .flatMap(({ name, argument, summary }): Paragraph => [
      "\n",
      { command: name },
      `${argument === "" ? "" : ` ${argument}`}: ${summary}`,
    ]);
  const about: Paragraph[] = [
    ["I follow crypto markets, alert you, research, and keep a wallet. I move nothing without your tap."],
    ["Say what you want in your own words, or choose:"],
  ];
  return {
    answer: [
      ...(introduction === undefined ? [] : [[{ bold: introduction }]]),
      ...(section === undefined ? about : [[{ bold: section.title }, ...lines]]),
    ],
    buttons: HELP_BUTTONS,
  };
}
