import type { readStatus } from "../ops/http";
import type { Page } from "./layout";
import { Moment } from "./parts";

/** What works now, for users. */

type StatusData = Awaited<ReturnType<typeof readStatus>>;
type Trouble = StatusData["troubles"][number];

const HAPPENED: Readonly<Record<Trouble, string>> = {
  late: "Work is late",
  answers: "Questions and research fail",
  wallets: "Swaps and sends fail",
  payments: "Payments fail",
  messages: "Messages are late or fail",
};

export function statusPage({ time, troubles }: StatusData): Page {
  const isWell = troubles.length === 0;
  const content = (
    <>
      <h1>Status</h1>
      <p class="lead">
        <span class={`tag ${isWell ? "up" : "down"}`}>
          {isWell ? "Everything works" : "Not everything works"}
        </span>{" "}
        at <Moment at={time} />
        {isWell && ": answers, research, messages, wallets and payments. "}
        {isWell && <a href="/start">Start using it</a>}
      </p>
      {!isWell && (
        <div class="card">
          <ul class="list">
            {troubles.map((one) => (
              <li class="head">
                <span>{HAPPENED[one]}</span>
                <span class="tag down">trouble</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
  return {
    title: "Status",
    description: "What works now.",
    path: "/status",
    content,
  };
}
