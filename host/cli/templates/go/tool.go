// The tool `{{name}}`: counts the words of a text.
package export_tidegate_plugin_tools

import (
	"encoding/json"
	"fmt"
	"strings"

	tools "wit_component/tidegate_plugin_tools"
	types "wit_component/tidegate_plugin_types"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

const schema = `{
	"type": "object",
	"properties": {
		"text": {"type": "string", "maxLength": 10000, "description": "The text whose words are counted"}
	},
	"required": ["text"],
	"additionalProperties": false
}`

// Definitions says what tools there are.
func Definitions() []types.ToolDefinition {
	return []types.ToolDefinition{{
		Name:         "{{name}}",
		Description:  wit.Some("Counts the words of a text: what stands between white space."),
		InputSchema:  schema,
		OutputSchema: wit.None[string](),
	}}
}

// Validate checks what the schema can't say.
func Validate(name string, arguments string) wit.Result[wit.Unit, []tools.Problem] {
	if len(wordsOf(arguments)) == 0 {
		return wit.Err[wit.Unit]([]tools.Problem{{Pointer: "/text", Reason: "the text is blank"}})
	}
	return wit.Ok[wit.Unit, []tools.Problem](wit.Unit{})
}

// Execute runs one call.
func Execute(call types.ToolCall) types.Outcome {
	said := fmt.Sprintf("%d words", len(wordsOf(call.Arguments)))
	return types.Outcome{
		Status:            types.StatusSuccess,
		Content:           wit.Some(types.MakeContentText(said)),
		StructuredContent: wit.None[string](),
		Error:             wit.None[types.Failure](),
		Metadata:          wit.None[string](),
	}
}

func wordsOf(arguments string) []string {
	var read struct{ Text string }
	if json.Unmarshal([]byte(arguments), &read) != nil {
		return nil
	}
	return strings.Fields(read.Text)
}
