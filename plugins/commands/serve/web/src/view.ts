// SPDX-License-Identifier: Apache-2.0
// A view of the page: one file in views/ each.
import type { Info } from "./data/types";

export interface View {
  root: HTMLElement;
  update(): void;    // the window, the host or a parameter changed
  redraw?(): void;   // the theme changed
  close(): void;
}
export type MakeView = (info: Info) => View;

export interface Page {
  name: string;
  title: string;
  about: string;
  make: MakeView;
}
