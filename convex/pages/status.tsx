import type { ActionCtx } from "../_generated/server";
import { readStatus } from "../ops/http";
import type { Trouble } from "../ops/troubles";
import { buildNoticePage, type Page } from "./layout";
import { Moment } from "./parts";

/** The state of the service, for users. */

const HAPPENED: Readonly<Record<Trouble, string>> = {
  late: "Work is late",
  answers: "Questions and research fail",
  wallets: "Swaps and sends fail",
  payments: "Payments fail",
  messages: "Messages are late or fail",
};

export async function buildStatusPage(ctx: ActionCtx): Promise<Page> {
  const { time, troubles, silent } = await readStatus(ctx);
  const isWell = troubles.length + silent.length === 0;
  const lead = (
    <>
      <span class={`tag ${isWell ? "up" : "down"}`}>
        {isWell ? "Everything works" : "Not everything works"}
      </span>{" "}
      at <Moment at={time} />
      {isWell && ": answers, research, messages, wallets and payments"}. <a href="/start">Start using it</a>
    </>
  );
  const list = isWell ? null : (
    <ul>
      {troubles.map((one) => (
        <li>{HAPPENED[one]}.</li>
      ))}
      {silent.map((name) => (
        <li>{name} does not answer: what it says is missing from market, research and answers.</li>
      ))}
    </ul>
  );
  return { ...buildNoticePage("Status", lead, list), description: "What works now.", path: "/status" };
}
