// Package export_example_text_words is `words` in Go, for wit-bindgen's bindings.
package export_example_text_words

import (
	"strings"
	"unicode/utf8"

	words "wit_component/example_text_words"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// Count counts words and letters.
func Count(text string) words.Counted {
	counted := words.Counted{}
	for _, word := range strings.Fields(text) {
		counted.Words++
		counted.Letters += uint64(utf8.RuneCountInString(word))
	}
	return counted
}

// Longest finds the first of the longest words.
func Longest(text string) wit.Result[string, string] {
	longest := ""
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(word) > utf8.RuneCountInString(longest) {
			longest = word
		}
	}
	if longest == "" {
		return wit.Err[string]("no words")
	}
	return wit.Ok[string, string](longest)
}
