// SPDX-License-Identifier: Apache-2.0
// The pictures of the page in docs/pictures: tests/docs/pictures.py runs it on a store of slow_job.py that begins at BEGIN (ms), and
// writes to FOLDER.
import { join } from "node:path";
import { start, Visit } from "./browser.mjs";

const kBegin = Number(process.env.BEGIN), kRange = `range=${kBegin + 240_000}-${kBegin + 900_000}`;
const kJava = `from=${kBegin + 480_000}&to=${kBegin + 540_000}`;  // the last step of the first run
const kPictures = [
  ["page-overview.png", `#overview?${kRange}`, { viewport: { width: 1280, height: 960 } }],
  ["page-explore.png", `#explore?${kRange}&${kJava}`, { viewport: { width: 1280, height: 900 } }],
  ["page-narrow.png", `#processes?${kRange}`, { viewport: { width: 400, height: 800 }, colorScheme: "dark" }],
];

const target = await start();
try {
  for (const [name, fragment, options] of kPictures) {
    const visit = await Visit.open(target, fragment, options);
    await visit.page.screenshot({ path: join(process.env.FOLDER, name) });
    await visit.done();
  }
} finally {
  await target.close();
}
