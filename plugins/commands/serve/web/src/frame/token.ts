// SPDX-License-Identifier: Apache-2.0
// The question for the token of a server that requires one.
import { h } from "../parts/dom";

export async function ask_for_token(): Promise<string> {
  const field = h("input", { type: "password", "aria-label": "Token", autocomplete: "off", required: true });
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "times", "aria-label": "Token" });
    const send = (event: Event) => {
      event.preventDefault();
      dialog.remove();
      resolve(field.value.trim());
    };
    dialog.append(h("form", { onsubmit: send }, h("h2", {}, "This server requires a token"), h("label", {}, "Token ", field),
      h("p", { class: "muted" }, "It is one line of the file of the option --tokens. This tab keeps it until it is closed."), h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Continue"))));
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}
