// SPDX-License-Identifier: Apache-2.0

// Renders a Helm chart with Go's templates and sprig, the engine and the functions of helm, where helm itself is not packaged.
// Unlike helm it fails on a value that does not exist. NOTES.txt goes to standard error.
//
//	go run render.go CHART RELEASE NAMESPACE [VALUES.yaml]
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

type values = map[string]interface{}

type files struct{ folder string }

// Get is what templates call as .Files.Get.
func (f files) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	return string(text), err
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func load(path string) values {
	text, err := os.ReadFile(path)
	check(err)
	loaded := values{}
	check(yaml.Unmarshal(text, &loaded))
	return loaded
}

func merge(base, over values) {
	for key, value := range over {
		inner, isMap := value.(values)
		if before, wasMap := base[key].(values); isMap && wasMap {
			merge(before, inner)
		} else {
			base[key] = value
		}
	}
}

func main() {
	folder := os.Args[1]
	about := load(filepath.Join(folder, "Chart.yaml"))
	settings := load(filepath.Join(folder, "values.yaml"))
	if len(os.Args) > 4 {
		merge(settings, load(os.Args[4]))
	}
	// Helm names the fields of Chart.yaml with a capital.
	chart := values{}
	for key, value := range about {
		chart[strings.ToUpper(key[:1])+key[1:]] = value
	}
	data := values{
		"Values": settings, "Chart": chart, "Files": files{folder},
		"Release": values{"Name": os.Args[2], "Namespace": os.Args[3], "Service": "Helm"},
	}
	all := template.New("chart").Option("missingkey=error").Funcs(sprig.TxtFuncMap())
	all.Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var out strings.Builder
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fromYaml": func(text string) (values, error) {
			value := values{}
			err := yaml.Unmarshal([]byte(text), &value)
			return value, err
		},
	})
	paths, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	check(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		check(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		out := os.Stdout
		if strings.HasSuffix(name, ".txt") {
			out = os.Stderr
		}
		fmt.Fprintf(out, "---\n# Source: %s\n", name)
		check(all.ExecuteTemplate(out, name, data))
		fmt.Fprintln(out)
	}
}
