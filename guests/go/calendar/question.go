package export_tidegate_plugin_tools

import (
	"encoding/json"
	"strings"
	"time"
	_ "time/tzdata" // A component finds no zones around it.
	"unicode/utf8"

	tools "wit_component/tidegate_plugin_tools"
)

// The longest span that may be asked for.
const maxDays = 366

const maxPath = 1024

// question is what the tool is asked, checked.
type question struct {
	path string
	span span
	zone *time.Location
}

func readQuestion(arguments string) (*question, *tools.Problem) {
	var words struct {
		Path     string  `json:"path"`
		From     string  `json:"from"`
		To       string  `json:"to"`
		Timezone *string `json:"timezone"`
	}
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&words) != nil {
		return nil, &tools.Problem{Reason: "the arguments are not those of the tool"}
	}
	if reason := pathReason(words.Path); reason != "" {
		return nil, &tools.Problem{Pointer: "/path", Reason: reason}
	}
	from, err := time.Parse(time.RFC3339, words.From)
	if err != nil {
		return nil, &tools.Problem{Pointer: "/from", Reason: "it must be a time as in 2026-03-02T08:00:00Z"}
	}
	to, err := time.Parse(time.RFC3339, words.To)
	if err != nil {
		return nil, &tools.Problem{Pointer: "/to", Reason: "it must be a time as in 2026-03-02T08:00:00Z"}
	}
	if !to.After(from) {
		return nil, &tools.Problem{Pointer: "/to", Reason: "it must be later than `from`"}
	}
	if to.Sub(from) > maxDays*24*time.Hour {
		return nil, &tools.Problem{Pointer: "/to", Reason: "it must be at most 366 days later than `from`"}
	}
	zone := time.UTC
	if words.Timezone != nil {
		if zone = zoneOf(*words.Timezone); zone == nil {
			return nil, &tools.Problem{Pointer: "/timezone", Reason: "it must be a zone of the IANA table"}
		}
	}
	return &question{path: words.Path, span: span{from, to}, zone: zone}, nil
}

// zoneOf looks a zone up by name; nil where there is none. `Local` would be the machine's, and there
// is no machine.
func zoneOf(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	zone, isKnown := zones[name]
	if !isKnown && len(zones) < maxZones {
		// An error leaves none, which is remembered too.
		zone, _ = time.LoadLocation(name)
		zones[name] = zone
	}
	return zone
}

// zones are those that were looked up: a file names the same one again and again.
var zones = map[string]*time.Location{}

// The most zones of one file; there are some six hundred.
const maxZones = 1000

func pathReason(path string) string {
	switch {
	case path == "":
		return "a path is required"
	case utf8.RuneCountInString(path) > maxPath:
		return "the path is longer than 1,024 characters"
	case strings.HasPrefix(path, "/"):
		return "the path must be relative to the workspace"
	case strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }):
		return "the path has a backslash or a control character"
	}
	for _, name := range strings.Split(path, "/") {
		if name == "" || name == ".." {
			return "the path has an empty or `..` segment"
		}
	}
	return ""
}
