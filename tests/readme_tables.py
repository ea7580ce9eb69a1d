#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the tables of the documentation equal to the descriptors of the plugins. Each fact is in one place:

    plugins/*/*/README.md          parameters, needs and metrics of a component
    docs/reference/components.md   all components, and the parameters that many of them have
    docs/reference/metrics.md      prefixes of the metrics' names, with links to the components

readme_tables.py --check|--update ATALAYA [--plugins FOLDER] [PAGE...]

A block is the text between `<!-- generated: NAME -->` and `<!-- end -->`. NAME is `atalaya plugins COMPONENT`,
`components`, `parameters` or `metrics`. --check names each page that differs; --update rewrites them.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
COMPONENTS = TREE / "docs" / "reference" / "components.md"
BLOCK = re.compile(r"(<!-- generated: (?:atalaya plugins ([a-z0-9_/-]+)|(components|parameters|metrics)) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
MANY = 3  # components with an equal parameter, which is then on the page of components only; metrics that another table repeats
KINDS = ("source", "translator", "filter", "sink", "command")
PARAMETERS = ("name", "type", "default", "values", "summary")
METRICS = ("name", "unit", "kind", "source", "summary")


def escaped(text):
    return re.sub(r"([|*<])", r"\\\1", text)


def table(columns, rows):
    lines = ["| " + " | ".join(line) + " |\n" for line in (columns, *([escaped(row[column]) for column in columns] for row in rows))]
    return "".join([lines[0], "|" + "---|" * len(columns) + "\n", *lines[1:]])


def without_default(row):
    return tuple(row[key] for key in ("name", "type", "values", "summary"))


def first_word(row):
    return row["name"].partition(".")[0]


def without_first_word(row):
    return (row["name"].partition(".")[2], *(row[key] for key in METRICS[1:]))


def is_repeated(rows, others):
    """All of many `rows` are in `others`, with another first word that is the same in all."""
    words = [{first_word(row) for row in group} for group in (rows, others)]
    return (len(rows) >= MANY and all(len(one) == 1 for one in words) and words[0] != words[1]
            and {without_first_word(row) for row in rows} <= {without_first_word(row) for row in others})


def shortest_prefix(name, emitters):
    """`a.b.*` if all metrics that begin so have the same emitters, for as few words as possible; else the name."""
    words = name.split(".")
    for count in range(1, len(words)):
        prefix = ".".join(words[:count]) + "."
        family = [one for one in emitters if one.startswith(prefix)]
        if len(family) > 1 and all(emitters[one] == emitters[name] for one in family):
            return prefix + "*"
    return name


class Catalogue:
    """All components by (kind, name), and the page of each."""

    def __init__(self, command):
        def pages(*words):
            return json.loads(subprocess.run([*command, *words, "--format", "json"], check=True, stdout=subprocess.PIPE, text=True).stdout)
        names = dict.fromkeys(row["name"] for row in pages())
        self.components = {(page["kind"], page["name"]): page for name in names for page in pages(name)}
        self.readmes = {}
        for readme in sorted(TREE.glob("plugins/*/*/README.md")):
            for found in BLOCK.finditer(readme.read_text(encoding="utf-8")):
                for page in self.named(found[2] or ""):
                    self.readmes[page["kind"], page["name"]] = readme
        # (name, type, values, summary) of the parameters of many components: their defaults.
        self.common = collections.defaultdict(list)
        for page in self.components.values():
            for row in page.get("parameters", []):
                self.common[without_default(row)].append(row["default"])
        self.common = {key: defaults for key, defaults in self.common.items() if len(defaults) >= MANY}

    def named(self, name):
        """The components of a block: KIND/NAME, or NAME of any kind."""
        return [page for (kind, own), page in self.components.items() if name in (own, f"{kind}/{own}")]

    def missing(self):
        return [f"{kind} {name}" for kind, name in self.components if (kind, name) not in self.readmes]

    def link(self, kind, name, folder):
        return f"[`{name}`]({os.path.relpath(self.readmes[kind, name], folder)})"

    def component(self, name, folder):
        """The tables of one component, or of all with this name."""
        pages = self.named(name)
        texts = [self.tables(page, folder) for page in pages]
        if len(pages) > 1:
            texts = [f"## {page['kind']} `{page['name']}`\n\n{text}" for page, text in zip(pages, texts)]
        return "\n".join(texts)

    def tables(self, page, folder):
        """Without the summary, which is on the page of components."""
        parts = []
        above, repeated = self.with_same_parameters(page)
        own = [row for row in page.get("parameters", []) if without_default(row) not in self.common and row not in repeated]
        shared = [row for row in page.get("parameters", []) if without_default(row) in self.common]
        if own or shared:
            parts.append("### Parameters\n")
        if own:
            parts.append(table(PARAMETERS, own))
        if repeated:
            names = self.names_of_common(repeated)
            parts.append(f"{'Also' if own else 'The'} parameters of the {above['kind']} `{above['name']}` above: {names}.\n")
        if shared:
            target = os.path.relpath(COMPONENTS, folder) + "#common-parameters"
            parts.append(f"{'Also the' if own else 'The'} [common parameters]({target}) {self.names_of_common(shared)}.\n")
        if page.get("needs"):
            parts += ["### Needs\n", table(tuple(page["needs"][0]), page["needs"])]
        if page.get("metrics"):
            parts += ["### Metrics\n", *self.metric_tables(page["metrics"])]
        return "\n".join(parts)

    def with_same_parameters(self, page):
        """The first component on the page of this one, and many equal parameters that only these two have."""
        readme = self.readmes.get((page["kind"], page["name"]))
        first = next((key for key, one in self.readmes.items() if one == readme), None)
        above = self.components.get(first, page)
        repeated = [row for row in page.get("parameters", []) if row in above.get("parameters", []) and without_default(row) not in self.common]
        return above, repeated if above is not page and len(repeated) >= MANY else []

    def names_of_common(self, rows):
        """A record stands for its members; a default that differs between components is shown."""
        records, names = [], []
        for row in rows:
            differs = len(set(self.common.get(without_default(row), []))) > 1
            if differs or not row["name"].startswith(tuple(record + "." for record in records)) and not row["name"].endswith("[]"):
                names.append(f"`{row['name']}`" + (f" (default: {row['default']})" if differs and row["default"] else ""))
            if row["type"] == "record":
                records.append(row["name"])
        return ", ".join(names)

    @staticmethod
    def metric_tables(metrics):
        """One for each set of tags. Metrics that differ from those of an earlier table only in the first word are not repeated."""
        groups = collections.defaultdict(list)
        for row in metrics:
            groups[row["tags"]].append(row)
        parts, earlier = [], []
        for tags, rows in groups.items():
            parts.append(f"Tags: {tags or 'none'}\n")
            same = next((one for one in earlier if is_repeated(one, rows)), None)
            if same:
                parts.append(f"All metrics `{first_word(same[0])}.*` above, as `{first_word(rows[0])}.*`.\n")
                known = {without_first_word(row) for row in same}
                rows = [row for row in rows if without_first_word(row) not in known]
            else:
                earlier.append(rows)
            parts += [table(METRICS, rows)] if rows else []
        return parts

    def all_components(self, folder):
        text = ""
        for kind in KINDS:
            text += f"## {kind.capitalize()}s\n\n"
            for (of, name), page in self.components.items():
                if of == kind:
                    text += f"- {self.link(kind, name, folder)}: {escaped(page['summary'])}\n"
            text += "\n"
        return text

    def all_common(self):
        rows = []
        for key, defaults in self.common.items():
            row = dict(zip(("name", "type", "values", "summary"), key))
            rows.append(dict(row, default=defaults[0] if len(set(defaults)) == 1 else "see the component"))
        return table(PARAMETERS, rows)

    def all_metrics(self, folder):
        """A line for each component: the prefixes of its metrics' names that only the same components use."""
        emitters = collections.defaultdict(set)
        for key, page in self.components.items():
            for row in page.get("metrics", []):
                emitters[row["name"]].add(key)
        prefixes = collections.defaultdict(set)
        for name in emitters:
            prefix = shortest_prefix(name, emitters)
            for key in emitters[name]:
                prefixes[key].add(prefix)
        return "".join(f"- {self.link(*key, folder)}: {', '.join(f'`{one}`' for one in sorted(prefixes[key]))}\n" for key in sorted(prefixes))

    def block(self, match, folder):
        if match[2]:
            return self.component(match[2], folder)
        return {"components": lambda: self.all_components(folder), "parameters": self.all_common,
                "metrics": lambda: self.all_metrics(folder)}[match[3]]()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--update", action="store_true")
    parser.add_argument("atalaya", type=pathlib.Path)
    parser.add_argument("--plugins", help="folder of the plugins")
    parser.add_argument("page", nargs="*", type=pathlib.Path, help="default: plugins/*/*/README.md and docs/**/*.md of the tree")
    arguments = parser.parse_args()

    catalogue = Catalogue([arguments.atalaya, "plugins"] + (["--plugins", arguments.plugins] if arguments.plugins else []))
    if catalogue.missing():
        print(f"no README has the tables of {', '.join(catalogue.missing())}", file=sys.stderr)
        return 1
    pages = arguments.page or sorted([*TREE.glob("plugins/*/*/README.md"), *TREE.glob("docs/**/*.md")])
    blocks, wrong = 0, []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks += len(BLOCK.findall(text))
        wanted = BLOCK.sub(lambda match, folder=page.resolve().parent: match[1] + catalogue.block(match, folder) + match[5], text)
        if wanted == text:
            continue
        if arguments.update:
            page.write_text(wanted, encoding="utf-8")
            print(f"{page}: updated")
        else:
            wrong.append(page)
    for page in wrong:
        print(f"{page}: differs from the plugins; run tests/readme_tables.py --update {arguments.atalaya}", file=sys.stderr)
    if blocks == 0:
        print("no generated block found in any page", file=sys.stderr)
    return 1 if wrong or blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
