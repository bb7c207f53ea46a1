// Renders a chart's templates as Helm does, with sprig's functions. Reads {"Templates": {name: text}, "Values": {...}, "Chart": {...}}
// on stdin, and prints what each template makes.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var input struct {
		Templates     map[string]string
		Values, Chart map[string]interface{}
	}
	check(json.NewDecoder(os.Stdin).Decode(&input))
	all := template.New("").Option("missingkey=zero").Funcs(sprig.TxtFuncMap())
	for name, text := range input.Templates {
		_, err := all.New(name).Parse(text)
		check(err)
	}
	made := map[string]string{}
	for name := range input.Templates {
		var text strings.Builder
		check(all.ExecuteTemplate(&text, name, map[string]interface{}{"Values": input.Values, "Chart": input.Chart}))
		made[name] = text.String()
	}
	check(json.NewEncoder(os.Stdout).Encode(made))
}
