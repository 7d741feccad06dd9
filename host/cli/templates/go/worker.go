// The worker `{{name}}`: counts the words of its prompt, and stages what it has to say as the part
// `count.txt`.
package export_tidegate_plugin_worker

import (
	"fmt"
	"strings"

	parts "wit_component/tidegate_plugin_parts"
	types "wit_component/tidegate_plugin_types"
	worker "wit_component/tidegate_plugin_worker"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// Run does one step.
func Run(invocation worker.Invocation) wit.Result[string, types.Failure] {
	words := len(strings.Fields(invocation.Prompt))
	if words == 0 {
		message := "the prompt has no words"
		failure := types.Failure{Code: "BLANK", Message: message, Retryable: wit.None[bool]()}
		return wit.Err[string](failure)
	}
	staged := parts.Stage("count.txt", []byte(fmt.Sprintf("%d words\n", words)))
	if staged.IsErr() {
		return wit.Err[string](staged.Err())
	}
	return wit.Ok[string, types.Failure](fmt.Sprintf(`{"words":%d}`, words))
}
