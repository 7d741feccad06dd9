// The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`.
package export_tidegate_plugin_sink

import (
	"fmt"
	"strings"

	types "wit_component/tidegate_plugin_types"

	wit "go.bytecodealliance.org/pkg/wit/types"
)

// Deliver takes one delivery.
func Deliver(delivery types.Delivery) types.Receipt {
	content := delivery.Message.Content
	if content.Tag() != types.ContentText {
		return rejected(delivery, "the message is not one text")
	}
	text := content.Text()
	if strings.TrimSpace(text) == "" {
		return rejected(delivery, "there is nothing to print")
	}
	if _, err := fmt.Println(text); err != nil {
		// Lines of it may have been printed.
		return not(delivery, types.ReceiptStatusUnknown, types.Failure{
			Code: "OUTCOME_UNKNOWN", Message: "standard output did not take the whole message",
			Retryable: wit.None[bool](),
		})
	}
	return types.Receipt{
		DeliveryId: delivery.DeliveryId,
		Status:     types.ReceiptStatusAccepted,
		Artifacts:  wit.None[[]types.Artifact](),
		Error:      wit.None[types.Failure](),
		Metadata:   wit.None[string](),
	}
}

func rejected(delivery types.Delivery, message string) types.Receipt {
	failure := types.Failure{Code: "NOT_PRINTED", Message: message, Retryable: wit.None[bool]()}
	return not(delivery, types.ReceiptStatusRejected, failure)
}

func not(delivery types.Delivery, status types.ReceiptStatus, failure types.Failure) types.Receipt {
	return types.Receipt{
		DeliveryId: delivery.DeliveryId,
		Status:     status,
		Artifacts:  wit.None[[]types.Artifact](),
		Error:      wit.Some(failure),
		Metadata:   wit.None[string](),
	}
}
