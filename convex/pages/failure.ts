import type { Reply } from "../lib/http/endpoint";
import type { Failing } from "../lib/http/router";
import { spokenFailure } from "../lib/text/failures";
import { pageReply } from "./layout";
import { html } from "./markup";

/** The page of an error. */

const TITLES: Readonly<Record<number, string>> = {
  400: "That cannot be read",
  404: "Nothing is here",
  405: "There is nothing to show here",
  429: "That was too often",
};

export function failureReply({ status, message }: Failing, now: number): Reply<string> {
  const title = TITLES[status] ?? "That did not work";
  const isUnknown = /^There is no endpoint at /.test(message);
  const words = isUnknown ? "There is no page at this address." : spokenFailure(status, message);
  const content = html`<h1>${title}</h1>
    <p class="lead">${words}</p>
    <p>
      Go to <a href="/">today</a>, <a href="/record">the record</a> or <a href="/research">research</a>.
    </p>`;
  return pageReply({ title, description: words, path: "", data: [], content }, now);
}
