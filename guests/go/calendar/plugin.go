// Package export_tidegate_plugin_tools is the plugin's exports: the tool free_busy. The name is the
// one that the bindings import.
//
// The bindings keep what is handed over pinned until the instance is gone, which is after each call.
package export_tidegate_plugin_tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	context "wit_component/tidegate_plugin_context"
	tools "wit_component/tidegate_plugin_tools"
	types "wit_component/tidegate_plugin_types"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

const toolName = "free_busy"

const unknownTool = "this plugin has no tool of that name"

const description = "Tells when somebody is busy and free between two times, from an iCalendar file of the " +
	"workspace. Daily and weekly repetitions are followed; others are refused. The file may be at most " +
	"4,194,304 bytes long, and the times at most 366 days apart."

const inputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 1024,
      "description": "Path of the .ics file, relative to the workspace"},
    "from": {"type": "string", "minLength": 20, "maxLength": 35,
      "description": "Start of the span, as in 2026-03-02T08:00:00Z or with an offset"},
    "to": {"type": "string", "minLength": 20, "maxLength": 35,
      "description": "End of the span, in the same form"},
    "timezone": {"type": "string", "minLength": 1, "maxLength": 64, "default": "UTC",
      "description": "Where times of the file without a zone are meant, as in Europe/Berlin"}
  },
  "required": ["path", "from", "to"],
  "additionalProperties": false
}`

const outputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "from": {"type": "string"},
    "to": {"type": "string"},
    "busy": {"$ref": "#/$defs/spans"},
    "free": {"$ref": "#/$defs/spans"},
    "busyMinutes": {"type": "integer", "minimum": 0},
    "truncated": {"type": "boolean"}
  },
  "required": ["path", "from", "to", "busy", "free", "busyMinutes", "truncated"],
  "additionalProperties": false,
  "$defs": {
    "spans": {"type": "array", "maxItems": 1000, "items": {
      "type": "object",
      "properties": {"start": {"type": "string"}, "end": {"type": "string"}},
      "required": ["start", "end"],
      "additionalProperties": false
    }}
  }
}`

// The most spans of either kind in an answer.
const maxSpans = 1000

// Definitions names the one tool.
func Definitions() []types.ToolDefinition {
	return []types.ToolDefinition{{
		Name:         toolName,
		Description:  wit.Some(description),
		InputSchema:  inputSchema,
		OutputSchema: wit.Some(outputSchema),
		Effects:      []types.Effect{types.EffectRead},
	}}
}

// Validate checks what the schema can't say.
func Validate(name string, arguments string) wit.Result[wit.Unit, []tools.Problem] {
	if name != toolName {
		return wit.Err[wit.Unit]([]tools.Problem{{Reason: unknownTool}})
	}
	if _, problem := readQuestion(arguments); problem != nil {
		return wit.Err[wit.Unit]([]tools.Problem{*problem})
	}
	return wit.Ok[wit.Unit, []tools.Problem](wit.Unit{})
}

// Execute answers one question.
func Execute(call types.ToolCall) types.Outcome {
	if call.Name != toolName {
		return (&refusal{code: "UNKNOWN_TOOL", message: unknownTool}).outcome()
	}
	question, problem := readQuestion(call.Arguments)
	if problem != nil {
		return (&refusal{code: "INVALID_ARGUMENTS", message: problem.Reason}).outcome()
	}
	answer, err := question.ask()
	if err != nil {
		var known *refusal
		if errors.As(err, &known) {
			return known.outcome()
		}
		// Its words may quote the file: they are not for the caller.
		return readFailed.outcome()
	}
	return answer
}

func (q *question) ask() (types.Outcome, error) {
	busy := newSpans(q.span)
	if err := readCalendar(q.path, q.zone, busy, report); err != nil {
		return types.Outcome{}, err
	}
	return q.answer(busy.merged())
}

// report tells how far the file is read, and stops when nobody wants the answer.
func report(done, total int64) error {
	if context.Cancelled() {
		return cancelled
	}
	context.Progress(uint64(done), wit.Some(uint64(max(done, total))), "bytes read")
	return nil
}

type shownSpan struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

func (q *question) answer(busy []span) (types.Outcome, error) {
	free := gaps(q.span, busy)
	var minutes int64
	for _, one := range busy {
		minutes += int64(one.end.Sub(one.start) / time.Minute)
	}
	data := struct {
		Path        string      `json:"path"`
		From        string      `json:"from"`
		To          string      `json:"to"`
		Busy        []shownSpan `json:"busy"`
		Free        []shownSpan `json:"free"`
		BusyMinutes int64       `json:"busyMinutes"`
		Truncated   bool        `json:"truncated"`
	}{
		Path: q.path, From: q.shown(q.span.start), To: q.shown(q.span.end),
		Busy: q.shownSpans(busy), Free: q.shownSpans(free), BusyMinutes: minutes,
		Truncated: len(busy) > maxSpans || len(free) > maxSpans,
	}
	text, err := json.Marshal(data)
	if err != nil {
		return types.Outcome{}, err
	}
	var content strings.Builder
	for _, one := range data.Busy {
		fmt.Fprintf(&content, "busy %s to %s\n", one.Start, one.End)
	}
	if len(data.Busy) == 0 {
		content.WriteString("free all the time\n")
	}
	return types.Outcome{
		Status:            types.StatusSuccess,
		Content:           wit.Some(types.MakeContentText(content.String())),
		StructuredContent: wit.Some(string(text)),
		Error:             wit.None[types.Failure](),
		Metadata:          wit.None[string](),
	}, nil
}

func (q *question) shown(at time.Time) string {
	return at.In(q.zone).Format(time.RFC3339)
}

func (q *question) shownSpans(spans []span) []shownSpan {
	shown := make([]shownSpan, 0, min(len(spans), maxSpans))
	for _, one := range spans[:min(len(spans), maxSpans)] {
		shown = append(shown, shownSpan{Start: q.shown(one.start), End: q.shown(one.end)})
	}
	return shown
}
