import { isVariable, variableNames, type Variable } from "../../convex/lib/env";
import { complaintsOf } from "../env/rules";
import { fault, good, off, warning, type Finding } from "./finding";
import type { Patient } from "./patient";

/** What does not work without a variable. */
const WITHOUT: { name: Variable; level: "fault" | "off"; means: string }[] = [
  {
    name: "LLM_GATEWAY_API_KEY",
    level: "fault",
    means: "market data, chat, research, signals and whale alerts answer 500",
  },
  { name: "SENTIMENT_API_KEY", level: "fault", means: "starting a research shift answers 500" },
  {
    name: "WALLET_ENCRYPTION_KEY",
    level: "fault",
    means: "wallets, swaps, sends and users' own bots answer 500",
  },
  { name: "SWAP_API_KEY", level: "fault", means: "swaps answer 500" },
  {
    name: "COINGECKO_API_KEY",
    level: "off",
    means: "CoinGecko's limits are shared with everybody behind the same address",
  },
  { name: "MESSENGER_BOT_TOKEN", level: "off", means: "only users with a bot of their own get cards" },
  {
    name: "MESSENGER_BOT_NAME",
    level: "off",
    means: "nobody can claim a wallet in the bot: connect returns no ownerUrl",
  },
  { name: "MESSENGER_CHAT_ID", level: "off", means: "cards that belong to no user are not sent" },
  { name: "MESSENGER_WEBHOOK_SECRET", level: "off", means: "the bot receives no messages" },
  {
    name: "MESSENGER_CONNECT_SECRET",
    level: "off",
    means: "anybody may call /messenger/connect; such links are not confirmed",
  },
  { name: "PLATFORM_WALLET_ADDRESS", level: "off", means: "paid reports and deposits answer 500" },
  { name: "SOCIAL_WEBHOOK_SECRET", level: "off", means: "social mentions answer 500" },
];

/**
 * Which variables are set, and whether their values are plausible. Asks nobody.
 * @param patient.setElsewhere Names that are set but whose values are unknown here.
 * @param patient.toldWrong Names whose values were already reported as wrong.
 */
export function checkConfiguration({
  settings,
  setElsewhere,
  toldWrong,
  place,
}: Pick<Patient, "settings" | "setElsewhere" | "toldWrong" | "place">): Finding[] {
  const findings: Finding[] = [];
  const known = variableNames().filter((name) => (settings[name]?.trim() ?? "") !== "");
  const elsewhere = variableNames().filter((name) => !known.includes(name) && setElsewhere.includes(name));
  const set = [...known, ...elsewhere];
  const complaints = complaintsOf(settings, place).filter(({ name }) => isVariable(name));
  for (const { name, level, says } of complaints.filter((one) => !toldWrong.includes(one.name))) {
    findings.push(
      level === "bad"
        ? fault(name, says, `Correct ${name} where it is set.`)
        : warning(name, says, "Check whether this is intended."),
    );
  }
  for (const name of known) {
    if (complaints.every((one) => one.name !== name) && !toldWrong.includes(name))
      findings.push(good(name, "is set"));
  }
  for (const name of elsewhere) findings.push(good(name, "is set"));
  for (const { name, level, means } of WITHOUT) {
    if (set.includes(name)) continue;
    if (level === "off") findings.push(off(name, `is not set: ${means}`));
    else
      findings.push(fault(name, `is not set: ${means}`, "Set it in .env.local, then run npm run env:push."));
  }
  if (set.includes("PLATFORM_WALLET_ADDRESS") && !set.includes("DEPOSIT_WEBHOOK_SECRET")) {
    findings.push(
      warning(
        "DEPOSIT_WEBHOOK_SECRET",
        "is not set: anybody may name transfers, which are looked up on the chain (only what the chain confirms is credited)",
        "Set it to the indexing provider's signing secret.",
      ),
    );
  }
  const previous = settings.WALLET_ENCRYPTION_KEY_PREVIOUS?.trim() ?? "";
  if (previous !== "") {
    findings.push(
      warning(
        "WALLET_ENCRYPTION_KEY_PREVIOUS",
        "is set: a rotation is under way",
        "When all rotate commands answer { rotated: 0 }, remove it.",
      ),
    );
  }
  return findings;
}
