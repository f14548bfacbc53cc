import { siteUrl } from "../../lib/env";
import { many } from "../../lib/text/strings";
import { html, type Html, type Part } from "../markup";
import { facts } from "../parts";
import type { RecordData } from "../shapes";
import { moment } from "../words";
import type { Shown } from "./sections";

/** How anybody can check a record against its chain of events. */

/** @param heldBy For people's chain: the event of the record that contains its head. */
export function verifySection({ head, anchor, stats, unanchored }: Shown, heldBy?: number | null): Html {
  if (head === null) return html`<p>The chain of events begins with the first signal.</p>`;
  return html`<div class="card">
    <p>
      Every signal is an event when it is issued and others when it is closed and compared. Each event carries
      the hash of the one before it, and the messenger's cards publish the last: nothing can be changed, moved
      or left out without changing it.
    </p>
    <dl>
      ${facts([
        ["Events", head.sequence],
        ["Last hash", html`<code>${head.hash}</code>`],
        ...(heldBy === undefined
          ? []
          : [["Held by the service's record", heldBy === null ? "not yet" : `event ${heldBy}`] as const]),
        anchorFact(anchor),
        ["Not anchored before their outcome", `${unanchored} of ${many(stats.n, "closed signal")}`],
      ])}
    </dl>
    <p>From a copy of the source, this reads all events and works the record out again:</p>
    <p>
      <code
        >npm run verify-signals -- ${siteUrl()}${anchor === null ? "" : ` --anchor ${anchor.address}`}</code
      >
    </p>
  </div>`;
}

/** The content of a block existed when the block was made. */
function anchorFact(anchor: RecordData["anchor"]): [string, Part] {
  if (anchor === null) return ["Anchor on Base", "none yet"];
  const { address, sequence, signedAt, status, txHashes } = anchor;
  const event = sequence === null ? "nothing" : `event ${sequence}`;
  const hash = html`<code>${txHashes.at(-1) ?? "not signed"}</code>`;
  const by = html`<br />by <code>${address}</code>`;
  return ["Last anchor on Base", html`${event}, ${moment(signedAt)}, ${status}<br />${hash}${by}`];
}
